// Finds the folds of an answer: the lines `<details>` and `<summary>TITLE</summary>` before a blank line, and
// `</details>`, each at the start of its line and outside code. Any other HTML is text, and so are the lines of a fold that
// is not whole. The same rule as in Python (svc/untrusted/markdown.py). Pure.

export interface Fold {
  readonly title: string;
  readonly inside: string;
  /** The lines of the fold. */
  readonly raw: string;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n]*)/;
const TITLE = /^<summary>([\p{L}\p{N}_ ,.:;()/+-]{1,200})<\/summary>$/u;

/** The text between folds, and the folds, in order; their raw texts joined are the input. */
export function splitFolds(markdown: string): (string | Fold)[] {
  if (!markdown.includes("<details>\n")) return [markdown];
  const pieces: (string | Fold)[] = [];
  const lines = markdown.split(/(?<=\n)/);
  const at = (place: number) => lines[place]?.trimEnd() ?? "";
  const text = (from: number, to?: number) => lines.slice(from, to).join("");
  let [start, opened] = [0, -1];
  let fence = "";
  let title = "";
  lines.forEach((line, place) => {
    fence = fenceAfter(fence, line);
    if (fence) return;
    if (at(place) === "<details>") {
      const found = TITLE.exec(at(place + 1))?.[1]?.trim();
      if (!found || at(place + 2)) return;
      [opened, title] = [place, found];
    } else if (opened >= 0 && at(place) === "</details>" && !at(place + 1)) {
      pieces.push(text(start, opened), { title, raw: text(opened, place + 1), inside: text(opened + 2, place) });
      [start, opened] = [place + 1, -1];
    }
  });
  return [...pieces, text(start)].filter(Boolean);
}

/** The fence that is open after the line, or "". */
function fenceAfter(open: string, line: string): string {
  const [, fence = "", info = ""] = FENCE.exec(line) ?? [];
  if (!fence) return open;
  if (open) return fence.startsWith(open) && !info.trim() ? "" : open;
  return fence.startsWith("`") && info.includes("`") ? "" : fence;
}
