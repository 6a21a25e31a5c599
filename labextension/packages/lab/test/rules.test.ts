import { expect, test } from "vitest";
import { ANSWER_MIME, answerIn, mayRequestCell, indexOfAnswer } from "../src/cell-below-rules.js";
import { fromNotebook, withoutDrive } from "../src/paths.js";
import { usesAnalyst, isQuestion } from "../src/question-cells.js";
import { isPageWritten, reportCode, reportPage } from "../src/report-rules.js";
import { readSettings } from "../src/settings.js";
import { chooseVersion } from "../src/shared.js";

const BELOW = {
  data: { "text/markdown": "**9.8**" },
  metadata: { [ANSWER_MIME]: { place: "cell_below", turn: "t1" } },
};

test("an answer for the cell below is recognised by its metadata", () => {
  expect(answerIn(BELOW)).toEqual({ source: "**9.8**", turn: "t1" });
});

test.each([
  ["an answer that stays", { ...BELOW, metadata: { [ANSWER_MIME]: { turn: "t1" } } }],
  ["another display", { ...BELOW, metadata: {} }],
  ["no Markdown", { ...BELOW, data: { "text/plain": "9.8" } }],
  ["nothing", {}],
  ["malformed content", { data: null, metadata: "x" }],
])("%s is not an answer for the cell below", (_, content) => {
  expect(answerIn(content)).toBeNull();
});

test("the previous answer is in the cell whose metadata names the asking cell", () => {
  const metadata = [undefined, "text", { answer_of: "other" }, { answer_of: "asking" }];
  expect(indexOfAnswer(metadata, "asking")).toBe(3);
  expect(indexOfAnswer(metadata, "new")).toBe(-1);
});

test.each([
  ["%%svc --cell\nwhat?", true],
  ["%svc --attach a.log --cell what?", true],
  ["%%svc\nwhat does --cellular mean?", false],
  ["print(1)", false],
])("%j may request a cell: %s", (source, expected) => {
  expect(mayRequestCell(source)).toBe(expected);
});

test.each([
  ["%%svc\nimport this", true],
  ["\n  %%svc --new\nwhat?", true],
  ["%%svcs\nwhat?", false],
  ["x = 1\n%%svc", false],
  ["%svc what?", false],
])("%j is a question: %s", (source, expected) => {
  expect(isQuestion(source)).toBe(expected);
});

test.each([
  ["%load_ext svc_jupyter", true],
  ["x = 1\n%svc what?", true],
  ["from svc_jupyter import session", true],
  ["print('%svc')", false],
  ["import svc_jupyter_other", false],
])("%j uses the analyst: %s", (source, expected) => {
  expect(usesAnalyst(source)).toBe(expected);
});

test.each([
  ["a.txt", "nb.ipynb", "a.txt"],
  ["sub/a.txt", "sub/nb.ipynb", "a.txt"],
  ["sub/deep/a.txt", "sub/nb.ipynb", "deep/a.txt"],
  ["RTC:sub/a.txt", "RTC:sub/nb.ipynb", "a.txt"],
  ["a.txt", "sub/nb.ipynb", null],
  ["subway/a.txt", "sub/nb.ipynb", null],
  ["s3:a.txt", "nb.ipynb", null],
])("%s dragged onto the chat of %s has the kernel path %s", (file, notebook, expected) => {
  expect(fromNotebook(file, notebook)).toBe(expected);
});

test("a colon in a folder's name does not mark a drive", () => {
  expect(withoutDrive("a/b:c.txt")).toBe("a/b:c.txt");
});

test("an empty form leaves everything to the kernel, and has no key", () => {
  expect(readSettings({})).toEqual({
    defaults: { model: "", language: "", log_session: true, base_url: "" },
    theme: "auto",
    notifySeconds: 30,
  });
});

test("a form is read, and invalid values are ignored", () => {
  const form = { model: " stable ", language: 7, theme: "pink", log_session: false, notify_seconds: 0 };
  expect(readSettings(form)).toEqual({
    defaults: { model: "stable", language: "", log_session: false, base_url: "" },
    theme: "auto",
    notifySeconds: 0,
  });
});

test("a notebook's name is one argument of the report command, whatever it contains", () => {
  const name = `a"; import os #\\.ipynb`;
  expect(reportCode(name)).toContain(`names["run_report"]("a\\"; import os #\\\\.ipynb")`);
  expect(reportPage("sub/a.ipynb")).toBe("sub/a.html");
});

test.each([
  [0, true],
  [1, true],
  [2, false],
  [6, true],
  [138, false],
  [-1, false],
])("exit code %i leaves a page: %s", (code, expected) => {
  expect(isPageWritten(code)).toBe(expected);
});

test.each([
  [{}, undefined],
  [{ "4.2.7": {}, "4.10.0": {}, "4.9.1": {} }, "4.10.0"],
  [{ "4.6.4": { loaded: 1 }, "4.7.0": {} }, "4.6.4"],
  [{ "4.6.0-rc.1": {}, "4.6.0": {} }, "4.6.0"],
])("of the shared versions %j, %s is used", (versions, expected) => {
  expect(chooseVersion(versions)).toBe(expected);
});
