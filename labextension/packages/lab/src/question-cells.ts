// Which cells are questions, by their source. Pure.

/** A whole cell for the analyst: its text is a question, no Python. */
export function isQuestion(source: string): boolean {
  return /^\s*%%svc(?=\s|$)/.test(source);
}

/** Whether running the cell has to do with the analyst, so that its kernel is worth following. */
export function usesAnalyst(source: string): boolean {
  return /^[ \t]*(%%?svc\b|%(load|reload)_ext[ \t]+svc_jupyter\b|(from|import)[ \t]+svc_jupyter\b)/m.test(source);
}
