// Writes an answer as Markdown for use elsewhere: in a file, a ticket, a wiki. It is written from the sanitized nodes that
// the page shows, so it has no image, link or raw HTML. What a renderer could take for markup is an entity, never a
// backslash, which an autolink would swallow; what could be linked is code. The same rules as in Python
// (svc/untrusted/markdown.py), with the same test cases: tests/wire/markdown_cases.json.
import { defang } from "./defang.js";
import { ADDRESS_CLASS, blocks, render } from "./markdown.js";
import { printable } from "./untrusted.js";

const MARKUP = /[&<*_[\]|~{}"]/g;
const LINE_START = /^(?:([#>+=:!-])|(\d{1,9})([.)])(?=\s|$))/;
const CODE_ONLY = /[\\$`]|\/\//; // their meaning differs from renderer to renderer
const MARKUP_IN_CODE = /<[A-Za-z/!?]|\][ \t]?[([]|^[ \t]*\[[^\]\n]*\]:/m;
const OPENING = /^[([{"'<“«]+/;
const CLOSING = /[)\]}"'>”»,;:!?.]+$/;

let isInFold = false;

/** Markdown that is safe in any renderer. */
export function safeMarkdown(markdown: string): string {
  const nodes = blocks(printable(markdown)).map((token) => render(token, false));
  return nodes.flatMap((fragment) => blocksOf(fragment.childNodes)).join("\n\n");
}

/** A text as code that is safe in any renderer. */
export function safeCode(text: string): string {
  const lines = printable(text).split("\n");
  const whole = lines.join("\n");
  if (MARKUP_IN_CODE.test(whole) || (isInFold && whole.includes("<"))) return lines.map(codeSpan).join("  \n");
  const fence = "`".repeat(Math.max(2, ...lines.flatMap((line) => runs(line))) + 1);
  return [`${fence}text`, ...lines, fence].join("\n");
}

function blocksOf(nodes: Iterable<Node>): string[] {
  const written: string[] = [];
  for (const node of nodes) {
    const block = node instanceof Element ? blockOf(node) : startOf(textOf(node.textContent ?? "").trim());
    if (block) written.push(block);
  }
  return written;
}

function blockOf(element: Element): string {
  switch (element.localName) {
    case "ul":
    case "ol":
      return listOf(element);
    case "blockquote":
      return indented(blocksOf(element.childNodes).join("\n\n"), "> ");
    case "pre":
      return safeCode(element.textContent.replace(/\n+$/, ""));
    case "table":
      return tableOf(element as HTMLTableElement);
    case "hr":
      return "___";
    case "details":
      return foldOf(element);
    case "h3":
      return `## ${inlineOf(element, " ").trim()}`;
    case "p":
      return linesOf(element);
    default: // marks and code that are direct children of a list item
      return startOf(inline(element, "  \n").trim());
  }
}

/** Some renderers take all of a fold for raw HTML, so that no `<` is left in it, not even in code. */
function foldOf(fold: Element): string {
  const [summary, ...nodes] = fold.childNodes;
  const title = summary?.textContent ?? "";
  isInFold = true;
  const inside = blocksOf(nodes).join("\n\n");
  isInFold = false;
  if (title.split(" ").some((word) => defang(word) !== null || CODE_ONLY.test(word)))
    return `${startOf(textOf(title))}\n\n${inside}`;
  return `<details>\n<summary>${title}</summary>\n\n${inside}\n\n</details>`;
}

function listOf(list: Element): string {
  const start = Number(list.getAttribute("start") ?? 1);
  const items = [...list.children].map((item, index) => {
    const bullet = list.localName === "ol" ? `${Math.min(start + index, 999_999_999)}.` : "-";
    const content = itemBlocks(item).join("\n\n");
    return content ? `${bullet} ${indented(content, " ".repeat(bullet.length + 1)).trimStart()}` : "";
  });
  return items.filter(Boolean).join("\n");
}

/** The blocks of a list item: text between blocks is a paragraph of its own. */
function itemBlocks(item: Element): string[] {
  const isBlock = (node: Node) =>
    node instanceof Element && /^(?:p|ul|ol|blockquote|pre|table|hr|h3)$/.test(node.localName);
  const written: string[] = [];
  let paragraph = document.createElement("p");
  const close = () => {
    if (paragraph.hasChildNodes()) written.push(linesOf(paragraph));
    paragraph = document.createElement("p");
  };
  for (const node of item.childNodes) {
    if (!isBlock(node)) {
      paragraph.append(node.cloneNode(true));
      continue;
    }
    close();
    written.push(...blocksOf([node]));
  }
  close();
  return written.filter(Boolean);
}

function tableOf(table: HTMLTableElement): string {
  const rows = [...table.rows].map((row) => [...row.cells].map((cell) => inlineOf(cell, " ").trim()));
  const written = rows.map((row) => `| ${row.join(" | ")} |`);
  const rule = `|${" --- |".repeat(rows[0]?.length ?? 0)}`;
  return [written[0] ?? "", rule, ...written.slice(1)].join("\n");
}

function linesOf(element: Element): string {
  const lines = inlineOf(element, "  \n").split("\n");
  return lines
    .map((line) => startOf(line.trimStart()))
    .filter((line) => line.trim())
    .join("\n")
    .trimEnd();
}

function inlineOf(element: Element, lineBreak: string): string {
  const merged = element.cloneNode(true) as Element;
  merged.normalize(); // a word is seen whole
  return [...merged.childNodes].reduce((written, node) => {
    const piece = inline(node, lineBreak);
    return written + (written.endsWith("`") && piece.startsWith("`") ? " " : "") + piece; // two spans, not one
  }, "");
}

/** Emphasis inside words and around spaces is read differently by renderers: only its text is written. */
function inline(node: Node, lineBreak: string): string {
  if (!(node instanceof Element)) return textOf(node.textContent ?? "", lineBreak.endsWith("\n") ? "\n" : " ");
  if (node.localName === "br") return lineBreak;
  if (node.classList.contains(ADDRESS_CLASS)) return codeOf(defang(node.textContent) ?? node.textContent);
  if (node.localName === "code") return codeOf(node.textContent);
  const inside = inlineOf(node, " ");
  return node.localName === "strong" && /^[\p{L}\p{N}`][^*]*[\p{L}\p{N}.`]$/u.test(inside) ? `**${inside}**` : inside;
}

function textOf(text: string, newline = " "): string {
  return text
    .split(/(\s+)/)
    .map((word) => (/^\s+$/.test(word) ? (word.includes("\n") ? newline : " ") : wordOf(word)))
    .join("")
    .replace(/`(?=`[^`])(?<=`)/g, "` ");
}

function wordOf(word: string): string {
  const before = OPENING.exec(word)?.[0] ?? "";
  const after = CLOSING.exec(word.slice(before.length))?.[0] ?? "";
  const core = word.slice(before.length, word.length - after.length);
  if (!core) return escape(word);
  const whole = defang(word);
  const safe = defang(core) ?? (CODE_ONLY.test(core) ? core : null);
  if (whole !== null && safe === null) return codeOf(whole); // "www." ends with a dot
  return safe === null ? escape(word) : escape(before) + codeOf(safe) + escape(after);
}

function codeOf(text: string): string {
  return text
    .split("|")
    .map((piece) => (piece ? codeSpan(piece) : ""))
    .join("&#124;"); // a pipe would end a cell
}

function codeSpan(line: string): string {
  if (isInFold && line.includes("<"))
    return line
      .split("<")
      .map((piece) => piece && codeSpan(piece))
      .join("&lt;");
  const text = line.replaceAll("\n", " ") || " ";
  const taken = new Set(runs(text));
  let length = 1;
  while (taken.has(length)) length += 1;
  const fence = "`".repeat(length);
  const isPadded = /^`|`$|^ .* $/.test(text) && text.trim() !== "";
  return isPadded ? `${fence} ${text} ${fence}` : fence + text + fence;
}

function runs(text: string): number[] {
  return [...text.matchAll(/`+/g)].map(([run]) => run.length);
}

function escape(text: string): string {
  return text.replace(MARKUP, entity);
}

function entity(character: string): string {
  return character === "<" ? "&lt;" : character === "&" ? "&amp;" : `&#${character.charCodeAt(0)};`;
}

/** The line without what would begin a block. */
function startOf(line: string): string {
  return line.replace(LINE_START, (_, mark: string | undefined, digits: string, end: string) =>
    mark ? entity(mark) : digits + entity(end),
  );
}

function indented(text: string, mark: string): string {
  return text
    .split("\n")
    .map((line) => (line ? mark + line : mark.trimEnd()))
    .join("\n");
}
