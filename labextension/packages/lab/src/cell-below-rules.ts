// `%%svc … --cell`: which display is an answer for a cell below, and which cell takes it. Pure.
// The words are those of the kernel side's `cell_below.py`.

export const ANSWER_MIME = "application/vnd.svc.answer+json";

/** An answer that wants to be a Markdown cell. */
export interface CellAnswer {
  readonly source: string;
  readonly turn: string;
}

/** The answer in what a kernel displays, or null where it is none, or one that stays an output. */
export function answerIn(content: { readonly data?: unknown; readonly metadata?: unknown }): CellAnswer | null {
  const about = recordIn(recordIn(content.metadata)[ANSWER_MIME]);
  const source = textIn(recordIn(content.data)["text/markdown"]);
  if (about.place !== "cell_below" || source === "") return null;
  return { source, turn: textIn(about.turn) };
}

/** The index of the cell that holds the asking cell's answer, or -1. */
export function indexOfAnswer(answerOf: readonly unknown[], askingCell: string): number {
  return answerOf.findIndex((svc) => recordIn(svc).answer_of === askingCell);
}

/** Whether the source may ask for a cell below; what it then does, the kernel says. */
export function mayRequestCell(source: string): boolean {
  return /(^|\s)--cell(\s|$)/m.test(source);
}

function recordIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** A text, or one that was saved as lines. */
function textIn(value: unknown): string {
  if (Array.isArray(value)) return value.filter((line) => typeof line === "string").join("");
  return typeof value === "string" ? value : "";
}
