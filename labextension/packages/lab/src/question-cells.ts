// Recognises cells that ask questions, by their source. Pure.

/** Whether the whole cell is a question rather than Python. */
export function isQuestion(source: string): boolean {
  return /^\s*%%svc(?=\s|$)/.test(source);
}

/** Whether the cell uses the analyst, so that the chat should connect to its kernel. */
export function usesAnalyst(source: string): boolean {
  return /^[ \t]*(%%?svc\b|%(load|reload)_ext[ \t]+svc_jupyter\b|(from|import)[ \t]+svc_jupyter\b)/m.test(source);
}
