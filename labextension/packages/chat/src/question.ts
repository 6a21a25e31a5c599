// Splits a question into what the user wrote and the material quoted in it, which is shown without its fences. Pure.

export interface QuestionPart {
  readonly isMaterial: boolean;
  readonly text: string;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;

/** The parts in order, without empty ones. As in CommonMark, a fence that is never closed ends with the question. */
export function partsOf(question: string): QuestionPart[] {
  const parts: QuestionPart[] = [];
  let lines: string[] = [];
  let open = "";
  const close = () => {
    const text = lines.join("\n");
    if (text.trim()) parts.push({ isMaterial: open !== "", text: open ? text : text.trim() });
    lines = [];
  };
  for (const line of question.split("\n")) {
    const [, fence = "", info = ""] = FENCE.exec(line) ?? [];
    const isEnd = fence.startsWith(open) && !info.trim();
    if (!fence || (open && !isEnd)) {
      lines.push(line);
      continue;
    }
    close();
    open = open ? "" : fence;
  }
  close();
  return parts;
}
