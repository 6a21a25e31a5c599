// The Markdown cases shared with Python, rendered as nodes: nothing runs, loads or navigates, and the text stays readable.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { decorate } from "../src/chips.js";
import { tableAsCsv } from "../src/export.js";
import { MarkdownView } from "../src/markdown-view.js";
import { ENGLISH } from "../src/strings.js";

const FILE = join(import.meta.dirname, "../../../../tests/wire/markdown_cases.json");
const { cases } = JSON.parse(readFileSync(FILE, "utf8")) as {
  cases: { name: string; markdown: string; shows: string[] }[];
};
const ELEMENTS = new Set(
  "DIV P H3 H4 H5 H6 UL OL LI BLOCKQUOTE TABLE THEAD TBODY TR TH TD HR EM STRONG DEL CODE PRE BR SPAN BUTTON".split(
    " ",
  ),
);
const ATTRIBUTES = new Set("class start align type dir aria-haspopup aria-label role tabindex data-copy".split(" "));
const LINKED = /\b(?:https?|ftp):\/\/|\bwww\.|[\w.]+@[\w-]+\.\w/i;

function shown(markdown: string, chunk = 0): HTMLElement {
  const container = document.createElement("div");
  const view = new MarkdownView(container, (node) => {
    decorate(node, ENGLISH);
  });
  if (chunk) for (let end = chunk; end < markdown.length; end += chunk) view.update(markdown.slice(0, end), false);
  view.update(markdown, true);
  return container;
}

function proseOf(element: HTMLElement): string {
  const copy = element.cloneNode(true) as HTMLElement;
  for (const code of copy.querySelectorAll("code, button")) code.replaceWith(" ");
  return copy.textContent;
}

test.each(cases)("nothing runs, loads or navigates: $name", ({ markdown }) => {
  const element = shown(markdown);
  for (const node of element.querySelectorAll("*")) {
    expect(ELEMENTS).toContain(node.tagName);
    for (const { name } of node.attributes) expect(ATTRIBUTES).toContain(name);
  }
  expect(proseOf(element)).not.toMatch(LINKED);
});

test.each(cases)("the text stays readable: $name", ({ markdown, shows }) => {
  const text = shown(markdown).textContent;
  for (const part of shows) expect(text).toContain(part);
});

test.each(cases)("the result does not depend on how the text was split: $name", ({ markdown }) => {
  const chunk = Math.max(7, Math.ceil(markdown.length / 12));
  expect(shown(markdown, chunk).innerHTML).toBe(shown(markdown).innerHTML);
});

test.each([
  ["quotes", ">".repeat(100_000)],
  ["brackets", "[".repeat(50_000)],
  ["stars", "*a **b ".repeat(10_000)],
  ["backticks", "`".repeat(50_000)],
  ["table cells", `|a|\n|-|\n|${"x|".repeat(20_000)}`],
  ["parentheses", `[a](${"(".repeat(50_000)}`],
  ["lists", Array.from({ length: 500 }, (_, depth) => `${" ".repeat(depth * 2)}- x`).join("\n")],
])("a very long %s is rendered within a second", (_, markdown) => {
  const start = performance.now();
  shown(markdown);
  expect(performance.now() - start).toBeLessThan(1_000);
});

test("code is highlighted in the supported languages without changing its text", () => {
  const code = '# who\nfor f in *.log; do grep -c "Failed" $f; done';
  const element = shown(`\`\`\`bash\n${code}\n\`\`\``);

  expect(element.querySelector("pre")?.textContent).toBe(code);
  expect([...element.querySelectorAll(".hl-keyword")].map((node) => node.textContent)).toContain("for");
  expect(element.querySelector(".hl-comment")?.textContent).toBe("# who");
});

test("a table is copied as CSV without formulas", () => {
  const table = shown('| a | b |\n|---|---|\n| =cmd() | x, "y" |\n| -5 | @z |').querySelector("table");
  expect(table && tableAsCsv(table)).toBe('a,b\r\n\'=cmd(),"x, ""y"""\r\n-5,\'@z');
});
