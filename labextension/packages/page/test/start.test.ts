import { expect, test } from "vitest";
import { readStart } from "../src/start.js";

function pageWith(block: string): Document {
  return new DOMParser().parseFromString(`<script type="application/json" id="start">${block}</script>`, "text/html");
}

test("the key is read and removed from the document", () => {
  const page = pageWith('\n  {"api_key":"svc_1","ticket":"t"}\n');
  expect(readStart(page)).toEqual({ apiKey: "svc_1", ticket: "t", notice: "" });
  expect(page.documentElement.outerHTML).not.toContain("svc_1");
});

test("a page opened without a code has neither key nor notice", () => {
  expect(readStart(pageWith("{}"))).toEqual({ apiKey: "", ticket: "", notice: "" });
  expect(readStart(new DOMParser().parseFromString("", "text/html"))).toEqual({ apiKey: "", ticket: "", notice: "" });
});

test("values that are not strings are ignored", () => {
  expect(readStart(pageWith('{"api_key":7,"notice":null}'))).toEqual({ apiKey: "", ticket: "", notice: "" });
});
