// The build leaves out what is not used of marked and DOMPurify: the built renderer does what the libraries do.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import * as source from "../src/markdown.js";

const FILE = join(import.meta.dirname, "../../../../tests/wire/markdown_cases.json");
const { cases } = JSON.parse(readFileSync(FILE, "utf8")) as { cases: { name: string; markdown: string }[] };
const BUILD = `
  import { build } from "esbuild";
  import { bundling, withoutBreaks } from "./bundling.mjs";
  const { outputFiles } = await build({ entryPoints: ["src/markdown.ts"], format: "esm", ...bundling });
  console.log(outputFiles.map(({ text }) => withoutBreaks(text)).join(""));`;
const PIECES = (
  "a_b_c| *x* |**bold**|***z***|~~gone~~|~one~|`code`|``a`b``|```\n|~~~js\n|\n|\n\n|  \n|\\\n|- |* |1. |2) |> |# |### |" +
  "    |\t|---\n|===\n|- [ ] |- [x] |[a](http://e.com 't')|[b][c]|[c]: http://e.com 'q'\n|[d](<x y>)|![i](u)|[c]|[|](|)|<b>|</b>|" +
  "<script>|<!-- c -->|<pre>\n|<a href=x>|<?p?>|<![CDATA[x]]>|<http://e.com>|<m@e.com>|www.e.com|http://e.com/?a=b&c|m@e.com|" +
  "&amp;|&#65;|&notit;|\\*|\\[|\\<|x\\|y |!|_|*|é|“q”|你好|word |text\n"
)
  .split("|")
  .concat("| a | b |\n|:-|-:|\n| 1 | 2 \\| 3 |\n", "a | b\n- | -\n", "|");

let built: typeof source;

beforeAll(async () => {
  const options = { cwd: join(import.meta.dirname, ".."), encoding: "utf8" } as const;
  const script = execFileSync(process.execPath, ["--input-type=module", "--eval", BUILD], options);
  built = (await import(`data:text/javascript,${encodeURIComponent(script)}`)) as typeof source;
}, 60_000);

function shown({ blocks, render }: typeof source, markdown: string): string {
  const nodes = blocks(markdown).map((block) => render(block, true));
  const page = document.createElement("div");
  page.append(...nodes);
  return page.innerHTML;
}

/** The same texts in every run. */
function* mixed(count: number): Generator<string> {
  let state = 1;
  const below = (limit: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % limit;
  };
  for (let i = 0; i < count; i += 1) {
    yield Array.from({ length: 1 + below(14) }, () => PIECES[below(PIECES.length)] ?? "").join("");
  }
}

test.each(cases)("$name", ({ markdown }) => {
  expect(shown(built, markdown)).toBe(shown(source, markdown));
});

test("mixed Markdown", () => {
  for (const markdown of mixed(250)) {
    expect(built.blocks(markdown), markdown).toEqual(source.blocks(markdown));
    expect(shown(built, markdown), markdown).toBe(shown(source, markdown));
  }
}, 60_000);
