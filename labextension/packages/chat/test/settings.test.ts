import { expect, test } from "vitest";
import { attributeName, readSettings } from "../src/settings.js";

const read = (attributes: Record<string, string>) =>
  readSettings((name) => attributes[name] ?? null, "https://svc.test");

test("missing attributes have defaults", () => {
  expect(read({})).toEqual({
    apiKey: "",
    incognito: false,
    sessionId: "",
    sessionName: "New Session",
    sessionDescription: "",
    sessionPrompt: "",
    theme: "light",
    isFullscreen: false,
    launcher: false,
    model: "",
    examples: [],
    baseUrl: "https://svc.test",
    wsUrl: "",
  });
});

test.each([
  ["true", true],
  ["", true],
  ["false", false],
  ["False", false],
  ["0", false],
])('incognito="%s" is %s', (value, expected) => {
  expect(read({ incognito: value }).incognito).toBe(expected);
});

test("both spellings are accepted", () => {
  expect(read({ sessionid: "s1", "session-name": "n", isfullscreen: "true" })).toMatchObject({
    sessionId: "s1",
    sessionName: "n",
    isFullscreen: true,
  });
  expect(attributeName("sessionid")).toBe("session-id");
  expect(attributeName("onclick")).toBeUndefined();
});

test.each(["", "no json", "{}", '[{"title": 1}]', "null"])("examples %j are ignored", (examples) => {
  expect(read({ examples }).examples).toEqual([]);
});

test("complete examples are kept", () => {
  const whole = { title: "t", prompt: "p" };
  expect(read({ examples: JSON.stringify([whole, { title: "t" }]) }).examples).toEqual([whole]);
});
