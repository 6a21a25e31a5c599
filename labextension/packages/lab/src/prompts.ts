// Composes questions about a cell. Pure. Short material is quoted in the question, so that no line of it can end the
// quotation; long material is attached as a file, which the service reads completely.

/** A notebook cell as text. `number` is its execution count, or null if it has not run. */
export interface CellText {
  readonly number: number | null;
  readonly source: string;
  readonly output: string;
  readonly error: string;
}

/** A question for the chat. */
export interface Prompt {
  readonly text: string;
  /** The material as a file to attach, or null. */
  readonly file: { readonly name: string; readonly content: string } | null;
}

export type Subject = "cell" | "output" | "error" | "selection";

/** The questions in the user's language; `{}` is the name of the file. */
export type PromptTexts = Readonly<Record<Subject | "attached", string>>;

const LIMIT_CHARACTERS = 4_000; // longest quoted material; longer material is attached as a file

/** The question about this part of the cell; null if that part is empty. */
export function compose(subject: Subject, cell: CellText, selection: string, texts: PromptTexts): Prompt | null {
  const material = materialOf(subject, cell, selection).trim();
  if (!material) return null;
  const question = texts[subject];
  if (material.length <= LIMIT_CHARACTERS) return { text: `${question}\n\n${quote(material)}\n`, file: null };
  const name = fileName(subject, cell.number);
  return { text: `${question} ${texts.attached.replace("{}", name)}`, file: { name, content: `${material}\n` } };
}

function materialOf(subject: Subject, cell: CellText, selection: string): string {
  switch (subject) {
    case "cell":
      return cell.source;
    case "output":
      return cell.output;
    case "error":
      return cell.error && `${cell.source.trim()}\n\n${cell.error}`;
    case "selection":
      return selection;
  }
}

function fileName(subject: Subject, number: number | null): string {
  return `${subject}${number === null ? "" : `-${number}`}.txt`;
}

/** A fence longer than any run of backticks in the text. */
function quote(text: string): string {
  const runs = text.match(/`+/g) ?? [];
  const fence = "`".repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
  return `${fence}\n${text}\n${fence}`;
}

const ESCAPES = new RegExp(String.raw`\u001b\[[0-?]*[ -/]*[@-~]`, "g"); // ANSI escape sequences

const RULES = /^-{20,}\n/gm; // the line above a traceback

interface Output {
  readonly output_type: string;
  readonly [name: string]: unknown;
}

/** The text of a cell's outputs and of its error, without images and other data. */
export function textOfOutputs(outputs: readonly Output[]): { output: string; error: string } {
  const texts: string[] = [];
  const errors: string[] = [];
  for (const output of outputs) {
    if (output.output_type === "error") errors.push(joined(output.traceback, "\n") || joined(output.ename));
    else if (output.output_type === "stream") texts.push(joined(output.text));
    else texts.push(textOfData(output.data));
  }
  const plain = (parts: string[]) => parts.join("\n").replace(ESCAPES, "").replace(RULES, "").trim();
  return { output: plain(texts), error: plain(errors) };
}

function textOfData(data: unknown): string {
  const bundle = (data ?? {}) as Record<string, unknown>;
  return joined(bundle["text/markdown"] ?? bundle["text/plain"]);
}

function joined(value: unknown, separator = ""): string {
  if (Array.isArray(value)) return value.filter((part) => typeof part === "string").join(separator);
  return typeof value === "string" ? value : "";
}
