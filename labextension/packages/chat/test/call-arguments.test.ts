import { expect, test } from "vitest";
import { toolCallOf } from "../src/call-arguments.js";

const request = (given: string) => `{"tool": "lookup", "arguments": {"host": ${given}}, "description": "harmless"}`;

test.each([
  ["1", "1"],
  ["1.0", "1.0"],
  ["true", "true"],
  ["12345678901234567890.10", "12345678901234567890.10"],
  ["-0.0", "-0.0"],
  [' [1, {"b" :null} ] ', '[1, {"b": null}]'],
  ["{}", "{}"],
  ["[]", "[]"],
  [`"\\u202e\\u200b"`, String.raw`"\u202e\u200b"`],
  [`"\u202e\ufe0f\u3164\u00a0\u{e0041}e\u0301"`, String.raw`"\u202e\ufe0f\u3164\u00a0\udb40\udc41e\u0301"`],
  [`"\\ud800"`, String.raw`"\ud800"`],
  [`"a\\n\\"\\\\"`, String.raw`"a\n\"\\"`],
  [`"${"x".repeat(50_000)}b"`, `"${"x".repeat(50_000)}b"`],
])("the argument %# is shown as it was sent", (given, shown) => {
  expect(toolCallOf(request(given))).toEqual({ tool: "lookup", lines: [`host = ${shown}`] });
});

test("all arguments are shown, and names as values are", () => {
  const given = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`n${i}`, i]));
  const call = toolCallOf(JSON.stringify({ arguments: { ...given, "\u200b": 1 }, tool: "a" }));
  expect(call?.lines).toHaveLength(501);
  expect(call?.lines.at(-1)).toBe(String.raw`"\u200b" = 1`);
});

test.each([
  request("NaN"),
  request("01"),
  request("1."),
  request("1,}"),
  request("[1,]"),
  request('"a" "b"'),
  request('"\u0001"'),
  request("[".repeat(100_000) + "]".repeat(100_000)),
  request('1, "host": 2'),
  request('{"a": 1, "\\u0061": 2}'),
  '{"tool": "a", "tool": "b", "arguments": {}}',
  '{"tool": "a", "arguments": {"x": 1}, "arguments": {"x": 2}}',
  '{"tool": "a", "arguments": []}',
  '{"tool": 1, "arguments": {}}',
  '{"tool": "a", "arguments": {}} {}',
  '"a"',
  "",
  "{",
])("an ambiguous or unreadable request is ignored: %#", (content) => {
  expect(toolCallOf(content)).toBeNull();
});
