// How far an answer answers its question: docs/wire.md, "Answer status". An answer without a note is answered, or its
// status is unknown.
import type { Turn } from "./conversation.js";
import type { Strings } from "./strings.js";
import { oneLine } from "./untrusted.js";

export interface StatusNote {
  readonly label: string;
  /** The question is not answered: the answer is not a negative result. */
  readonly isWarning: boolean;
}

/** What to say about an answer with this status; null: nothing. A partial answer is no negative result, whatever it says. */
export function statusNote(
  { status, isPartial }: Pick<Turn, "status" | "isPartial">,
  strings: Strings,
): StatusNote | null {
  if (isPartial) return { label: strings.partialAnswer, isWarning: true };
  if (status === "not_examined") return { label: strings.notExamined, isWarning: true };
  if (status === "not_answered") return { label: strings.notAnswered, isWarning: true };
  if (status === "partly_answered") return { label: strings.partlyAnswered, isWarning: false };
  return null;
}

/** The answer's Markdown for use elsewhere. It begins with a mark if the question is not answered, or
 * was cancelled. */
export function markedAnswer(turn: Turn, strings: Strings): string {
  const { answer } = turn;
  const note = statusNote(turn, strings);
  if (!note?.isWarning) return answer;
  const isSaid = answer
    .replace(/^[\s#>*_]+/, "")
    .toLowerCase()
    .startsWith(note.label.toLowerCase());
  return `⚠ ${isSaid ? "" : `**${note.label}.**\n\n`}${answer}`;
}

/** The answer's first paragraph as one line without emphasis, for a screen reader; with the mark. */
export function verdictOf(turn: Turn, strings: Strings): string {
  const mark = markedAnswer(turn, strings).slice(0, -turn.answer.length);
  return oneLine(mark + (turn.answer.split("\n\n")[0] ?? ""), 200).replaceAll("*", "");
}
