// What is asked about a cell: a question, and what it is about. Pure. What is short stands in the question; what is long
// goes along as a file, which the service reads whole. The material is quoted so that no line of it ends the quotation.

/** What a notebook's cell holds, as text. `number` is what stands in its prompt, null where it has not run. */
export interface CellText {
  readonly number: number | null;
  readonly source: string;
  readonly output: string;
  readonly error: string;
}

export interface Prompt {
  readonly text: string;
  /** What goes along as a file, or null. */
  readonly file: { readonly name: string; readonly content: string } | null;
}

export type Subject = "cell" | "output" | "error" | "selection";

/** The texts, in the reader's language; `{}` is the name of the file. */
export type PromptTexts = Readonly<Record<Subject | "attached", string>>;

const LIMIT_CHARACTERS = 4_000; // of quoted material in a question; more is easier to read as a file

/** The question about this part of the cell; null where there is nothing to ask about. */
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

const ESCAPES = new RegExp(String.raw`\u001b\[[0-?]*[ -/]*[@-~]`, "g"); // what colours a terminal's text

const RULES = /^-{20,}\n/gm; // over a traceback

interface Output {
  readonly output_type: string;
  readonly [name: string]: unknown;
}

/** The text of a cell's outputs, and of its error. Pictures and other data are left out. */
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
