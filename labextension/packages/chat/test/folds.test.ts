import { expect, test } from "vitest";
import { blocks, render } from "../src/markdown.js";
import { safeMarkdown } from "../src/safe-markdown.js";

const fold = (title: string, inside: string) => `<details>\n<summary>${title}</summary>\n\n${inside}\n\n</details>`;

function shown(markdown: string): HTMLElement {
  const page = document.createElement("div");
  page.append(...blocks(markdown).map((block) => render(block, true)));
  return page;
}

const titles = (markdown: string) => [...shown(markdown).querySelectorAll("summary")].map((one) => one.textContent);

test.each([
  ["one fold", `a\n\n${fold("64 accounts", "| a |\n|---|\n| 1 |")}\n\nb`, ["64 accounts"]],
  ["two folds", `${fold("one", "x")}\n\n${fold("two", "y")}`, ["one", "two"]],
  ["letters of other languages", fold("3 comptes touchés, 日本", "x"), ["3 comptes touchés, 日本"]],
  ["in code", `\`\`\`\n${fold("x", "y")}\n\`\`\``, []],
  ["not closed", "<details>\n<summary>x</summary>\n\ny", []],
  ["not opened", "y\n\n</details>", []],
  ["without a title", "<details>\n\ny\n\n</details>", []],
  ["with an attribute", `<details ontoggle=alert(1)>\n<summary>x</summary>\n\ny\n\n</details>`, []],
  ["markup in the title", fold("<img src=x onerror=alert(1)>", "y"), []],
  // held: written before the code was run
  ["in a quotation", "> <details>\n> <summary>x</summary>\n>\n> y\n>\n> </details>", []],
  ["no blank line after the title", "<details>\n<summary>x</summary>\ny\n\n</details>", []],
  ["a fold that is not closed before one that is", `<details>\n<summary>a</summary>\n\n${fold("b", "y")}`, ["b"]],
  ["the end in code only", "<details>\n<summary>x</summary>\n\n```\n</details>\n```\n", []],
  ["code inside that shows a fold", fold("x", `~~~\n${fold("y", "z")}\n~~~`), ["x"]],
  ["an address in the title", fold("evil.example is known", "y"), ["evil.example is known"]],
  ["indented", "  <details>\n  <summary>x</summary>\n\n  y\n\n  </details>", []],
  ["capitals", "<DETAILS>\n<SUMMARY>x</SUMMARY>\n\ny\n\n</DETAILS>", []],
  ["a title of spaces", fold("   ", "y"), []],
  ["open", "<details open>\n<summary>x</summary>\n\ny\n\n</details>", []],
])("%s", (_, markdown, expected) => {
  expect(titles(markdown)).toEqual(expected);
  expect(shown(markdown).querySelectorAll("img, script, [onerror], [ontoggle], [open]")).toHaveLength(0);
  expect(
    blocks(markdown)
      .map(({ raw }) => raw)
      .join(""),
  ).toBe(markdown);
  const safe = safeMarkdown(markdown);
  expect(safeMarkdown(safe)).toBe(safe);
  const tags = safe.match(/<[^>]*>?/g) ?? [];
  expect(tags.filter((tag) => !/^<\/?(?:details|summary)>$/.test(tag) && !safe.includes("`"))).toEqual([]);
});

test("a fold stays a fold elsewhere, and no tag is in it, not even in code", () => {
  const inside = "see `<img src=x>` and\n\n```\n<script>\n```\n\nhttp://evil.example/";
  expect(safeMarkdown(fold("2 lines", inside))).toBe(
    "<details>\n<summary>2 lines</summary>\n\nsee &lt;`img src=x>` and\n\n&lt;`script>`\n\n`hxxp://evil[.]example/`\n\n</details>",
  );
});

test("a fold whose title is an address becomes text", () => {
  expect(safeMarkdown(fold("evil.example", "y"))).toBe("`evil[.]example`\n\ny");
});
