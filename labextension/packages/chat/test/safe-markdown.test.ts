// What is exported or copied as Markdown is inert in renderers that let raw HTML through and link addresses, and still
// says what it said.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { marked } from "marked";
import rehypeStringify from "rehype-stringify";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import { unified } from "unified";
import { expect, test } from "vitest";
import { safeCode, safeMarkdown } from "../src/safe-markdown.js";

const FILE = join(import.meta.dirname, "../../../../tests/wire/markdown_cases.json");
const { cases } = JSON.parse(readFileSync(FILE, "utf8")) as {
  cases: { name: string; markdown: string; shows: string[] }[];
};
const IMAGE = "<img src=x onerror=hit()>";
const HOSTILE = [
  "GET www&period;zz&lt;img src=x onerror=hit()&gt;",
  `_www.zz${IMAGE} WWW.x\\${IMAGE} www.${IMAGE}`,
  `www.z\\[x\\](javascript:hit()) http&colon;//z&lt;svg onload=hit()> a&commat;b.cc&lt;b>`,
  `- x\n\n\`\`\`html\nx\n\n${IMAGE}\n\`\`\`\n\n| "/onclick=hit() | ${IMAGE} |\n|---|---|\n| \`a|${IMAGE}\` | www.z\\${IMAGE} |`,
  `[x](javascript:hit()) ![x](http://e.com) <http://e.com> [y][z]\n\n[z]: javascript:hit()`,
  `\`a\`${IMAGE}\`b\` **www.z\\${IMAGE}** *http://z* ~~a@b.cc~~ $x$ \\(y\\)`,
  `> 1. x\n>\n>    ~~~\n>    ${IMAGE}\n>    ~~~\n\n<!-- ${IMAGE} --> <button data-commandlinker-command=x>`,
  `# www.z\\${IMAGE}\nwww.q\\${IMAGE}\n===\n+ [ ] ${IMAGE}\n\n    ${IMAGE}\n\n[^1]: ${IMAGE}`,
];
const remark = unified()
  .use(remarkParse)
  .use(remarkGfm)
  .use(remarkRehype, { allowDangerousHtml: true })
  .use(rehypeStringify, { allowDangerousHtml: true });
const RENDERERS: Record<string, (markdown: string) => string> = {
  marked: (markdown) => marked.parse(markdown, { async: false }),
  remark: (markdown) => String(remark.processSync(markdown)),
};
const INERT = /^(?:P|H[1-6]|UL|OL|LI|BLOCKQUOTE|TABLE|THEAD|TBODY|TR|TH|TD|HR|EM|STRONG|DEL|CODE|PRE|BR)$/;

function page(html: string): HTMLElement {
  return new DOMParser().parseFromString(html, "text/html").body;
}

function live(html: string): string[] {
  const body = page(html);
  const found = [...body.querySelectorAll("*")].filter(
    (one) => !INERT.test(one.tagName) || one.getAttributeNames().some((name) => !/^(?:class|start|align)$/.test(name)),
  );
  return [...found.map((one) => one.outerHTML), ...(html.includes("<!--") ? ["comment"] : [])];
}

test.each(Object.keys(RENDERERS))(
  "nothing hostile is live in %s",
  (name) => {
    const render = RENDERERS[name] ?? String;
    for (const markdown of [...HOSTILE, ...cases.map((one) => one.markdown)]) {
      expect([markdown, live(render(safeMarkdown(markdown)))]).toEqual([markdown, []]);
      expect([markdown, live(render(safeCode(markdown)))]).toEqual([markdown, []]);
    }
  },
  60_000,
);

test.each(cases)("a reader still reads: $name", ({ markdown, shows }) => {
  const text = page(RENDERERS.marked?.(safeMarkdown(markdown)) ?? "").textContent;
  for (const part of shows) expect(text).toContain(part);
});

test("an ordinary answer stays as it is", () => {
  const answer =
    "## Verdict\n\n**High.** 3 of 5 failed, see `x`.\n\n- one\n- two\n\n  1. three\n\n> quoted\n\n| a | b |\n| --- | --- |\n| 1 | `x` |\n\n```text\ncode\n```";
  expect(safeMarkdown(answer)).toBe(answer);
});
