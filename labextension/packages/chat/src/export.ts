// Exports: a table as CSV, a session as Markdown or JSON.
import type { Conversation, Turn } from "./conversation.js";
import { safeCode, safeMarkdown } from "./safe-markdown.js";
import { markedAnswer } from "./status.js";
import type { Strings } from "./strings.js";
import { oneLine } from "./untrusted.js";

const COPIED_MS = 1_500; // how long a copy button confirms

/** CSV as in RFC 4180. Cells that a spreadsheet would run as a formula get a leading apostrophe (OWASP, CSV injection). */
export function tableAsCsv(table: HTMLTableElement): string {
  return [...table.rows].map((row) => [...row.cells].map((cell) => csvCell(cell.textContent)).join(",")).join("\r\n");
}

function csvCell(text: string): string {
  const safe = /^[=@+\t\r-]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Copies the table or the code next to the button, which confirms it for a moment. */
export async function copyFrame(
  button: HTMLElement,
  copy: (text: string) => Promise<boolean>,
  strings: Strings,
): Promise<void> {
  const table = button.parentElement?.querySelector("table");
  const text = table ? tableAsCsv(table) : (button.parentElement?.querySelector("pre")?.textContent ?? "");
  const label = button.textContent;
  button.textContent = (await copy(text)) ? strings.copied : strings.copyFailed;
  setTimeout(() => {
    button.textContent = label;
  }, COPIED_MS);
}

/** The session as Markdown that is safe in any renderer, for reading or for a ticket. An answer begins with a mark if
 * the question is not answered. */
export function asMarkdown(name: string, conversation: Conversation, strings: Strings): string {
  const turns = conversation.turns.map((turn) => turnAsMarkdown(turn, strings));
  return `# ${safeMarkdown(oneLine(name)) || "Session"}\n\n${turns.join("\n\n___\n\n")}\n`;
}

function turnAsMarkdown(turn: Turn, strings: Strings): string {
  const end = turn.failure ? safeMarkdown(`**${turn.state}**: ${turn.failure.text}`) : "";
  return [safeCode(turn.question), safeMarkdown(markedAnswer(turn, strings)), end].filter(Boolean).join("\n\n");
}

export function asJson(session: { id: string; name: string }, conversation: Conversation): string {
  const turns = conversation.turns.map(
    ({ id, question, state, status, isPartial, startedAt, endedAt, steps, pictures, failure, answer }) => ({
      id,
      question,
      state,
      started_at: startedAt,
      ended_at: endedAt,
      answer_status: status || null,
      ...(isPartial && { is_partial: true }),
      answer,
      failure,
      steps: steps.map(({ kind, actor, text, at }) => ({ kind, actor, text, at })),
      pictures: pictures.map(({ title, mimeType, base64 }) => ({ title, mime_type: mimeType, base64 })),
    }),
  );
  return JSON.stringify({ session_id: session.id, name: session.name, turns }, null, 2);
}

/** Downloads the session as a file with its name. */
export function save(
  kind: "md" | "json",
  session: { id: string; name: string },
  conversation: Conversation,
  strings: Strings,
): void {
  const { name } = session;
  const file = `${name.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80)}.${kind}`;
  if (kind === "md") download(file, "text/markdown", asMarkdown(name, conversation, strings));
  else download(file, "application/json", asJson(session, conversation));
}

function download(name: string, mimeType: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: mimeType }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => {
    URL.revokeObjectURL(address);
  }, 60_000); // a slow disk may still be reading it
}

/** Whether the browser let the text into the clipboard. */
export async function writtenToClipboard(text: string): Promise<boolean> {
  return await navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  );
}
