// `%%svc … --cell`: decides which output is an answer for the cell below, and which cell takes it. Pure.
// The metadata is written by svc_jupyter/magics/cell_below.py.

export const ANSWER_MIME = "application/vnd.svc.answer+json";

/** An answer to be shown as a Markdown cell. */
export interface CellAnswer {
  readonly source: string;
  readonly turn: string;
}

/** The answer in a display message; null if there is none or it stays an output. */
export function answerIn(content: { readonly data?: unknown; readonly metadata?: unknown }): CellAnswer | null {
  const about = recordIn(recordIn(content.metadata)[ANSWER_MIME]);
  const source = textIn(recordIn(content.data)["text/markdown"]);
  if (about.place !== "cell_below" || source === "") return null;
  return { source, turn: textIn(about.turn) };
}

/** The index of the cell with the asking cell's previous answer, or -1. */
export function indexOfAnswer(answerOf: readonly unknown[], askingCell: string): number {
  return answerOf.findIndex((svc) => recordIn(svc).answer_of === askingCell);
}

/** Whether the source may ask for a cell below; the kernel decides. */
export function mayRequestCell(source: string): boolean {
  return /(^|\s)--cell(\s|$)/m.test(source);
}

function recordIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** A string, or the joined lines of a string that was saved as a list. */
function textIn(value: unknown): string {
  if (Array.isArray(value)) return value.filter((line) => typeof line === "string").join("");
  return typeof value === "string" ? value : "";
}
