import { expect, test } from "vitest";
import { partsOf } from "../src/question.js";

const F = "```";
const M = (text: string) => ({ isMaterial: true, text });
const T = (text: string) => ({ isMaterial: false, text });

test.each([
  ["no material", "who?", [T("who?")]],
  [
    "as the notebook quotes it",
    `What is this?\n\n${F}\nline 1\nline 2\n${F}\n`,
    [T("What is this?"), M("line 1\nline 2")],
  ],
  ["words on both sides", `a\n${F}log\nx\n${F}\nb`, [T("a"), M("x"), T("b")]],
  ["a fence in the material", "a\n````\n```\nx\n```\n````", [T("a"), M("```\nx\n```")]],
  ["never closed", `a\n${F}\nx`, [T("a"), M("x")]],
  ["indentation is kept", `${F}\n  x\n${F}`, [M("  x")]],
  // held: written before the code was run
  ["tildes, and backticks inside", "a\n~~~\n```\n~~~\nb", [T("a"), M("```"), T("b")]],
  ["two blocks", `${F}\nx\n${F}\nand\n${F}\ny\n${F}`, [M("x"), T("and"), M("y")]],
  ["inline code is no fence", "what is ```x``` and `y`?", [T("what is ```x``` and `y`?")]],
  ["an empty block", `a\n${F}\n${F}\nb`, [T("a"), T("b")]],
  ["a shorter fence closes nothing", "````\nx\n```\ny\n````", [M("x\n```\ny")]],
  ["an opening fence cannot close", `${F}\nx\n${F}js\ny\n${F}`, [M(`x\n${F}js\ny`)]],
  ["only whitespace", " \n \n", []],
  ["markup stays text", `<b>\n${F}\n<script>\n${F}`, [T("<b>"), M("<script>")]],
])("%s", (_, question, parts) => {
  expect(partsOf(question)).toEqual(parts);
});

test("the time grows with the length only", () => {
  const time = (count: number) => {
    const question = "```\n~~~\n".repeat(count);
    const start = performance.now();
    for (let i = 0; i < 5; i += 1) partsOf(question);
    return performance.now() - start;
  };
  time(2_000);
  expect(time(40_000) / Math.max(time(4_000), 1)).toBeLessThan(60);
});
