import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { defang, refang, webAddress } from "../src/defang.js";

const FILE = join(import.meta.dirname, "../../../../tests/wire/defang_cases.json");
const { written, same } = JSON.parse(readFileSync(FILE, "utf8")) as { written: [string, string][]; same: string[] };
const INDICATORS = written.filter(([word, safe]) => word !== safe && !word.includes("\\"));

test.each(written)("%s is shown as %s", (word, safe) => {
  expect(defang(word)).toBe(safe);
});

test.each(INDICATORS)("%s is restored from its defanged form", (word, safe) => {
  expect(refang(safe).toLowerCase()).toBe(word.toLowerCase());
});

test.each(INDICATORS)("defanging %s twice changes nothing", (_, safe) => {
  expect(defang(safe)).toBe(safe);
});

test.each(same)("%s stays unchanged", (word) => {
  expect(defang(word) ?? word).toBe(word);
});

test("an IPv6 address is an indicator, unchanged", () => {
  expect(defang("2001:db8::1")).toBe("2001:db8::1");
  expect(defang("12:30:45")).toBeNull();
});

test.each([
  ["hxxp://evil[.]com/a", "http://evil.com/a"],
  ["javascript:alert(1)", null],
  ["data:text/html,x", null],
  ["file:///etc/passwd", null],
  ["evil[.]com", null],
])("for %s, a browser may open %s", (text, address) => {
  expect(webAddress(text)).toBe(address);
});
