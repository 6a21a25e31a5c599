import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { printable } from "../src/untrusted.js";

const FILE = join(import.meta.dirname, "../../../../tests/wire/character_cases.json");
const { shown, hidden } = JSON.parse(readFileSync(FILE, "utf8")) as {
  shown: [string, string][];
  hidden: [number, number][];
};

test.each(shown)("%j is shown as %j", (text, visible) => {
  expect(printable(text)).toBe(visible);
  expect(printable(visible)).toBe(visible);
});

test.each(hidden)("U+%i to U+%i are marked", (first, last) => {
  for (let code = first; code <= last; code++) {
    const mark = "⟦U+" + code.toString(16).toUpperCase().padStart(4, "0") + "⟧";
    expect(printable(`a${String.fromCodePoint(code)}b`)).toBe(`a${mark}b`);
  }
});
