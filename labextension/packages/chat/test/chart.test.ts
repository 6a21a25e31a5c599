// @vitest-environment jsdom
import { expect, test, vi } from "vitest";
import { chart } from "../src/chart.js";

const TEXTS = { copy: "Copy", askAbout: "Ask about this" };
const MARKS =
  `<g data-value="10.0.0.1" data-ask="What did 10.0.0.1 do?"><title>10.0.0.1: 7</title><rect class="low" x="1%"/></g>` +
  `<g data-value="mara"><title>mara</title><circle class="event" r="5"/></g>` +
  `<g data-value="10.0.0.1"><title>10.0.0.1: 9</title><rect class="low" x="2%"/></g>`;

function svg(content: string, attributes = `class="svc-chart" width="100%" height="80"`): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" ${attributes}><style>a{}</style><title>T</title>${content}</svg>`;
}

function drawn(content = MARKS) {
  const actions = { copy: vi.fn(), write: vi.fn() };
  const box = chart(svg(content), TEXTS, actions);
  if (!box) throw new Error("no chart");
  document.body.replaceChildren(box);
  const marks = [...box.querySelectorAll<SVGGElement>("g[role=button]")];
  const press = (key: string) =>
    document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  return { box, marks, press, actions, tip: box.querySelector<HTMLElement>(".svc-tip") };
}

const HOSTILE: Record<string, string> = {
  script: "<script>alert(1)</script>",
  handler: `<rect onclick="alert(1)"/>`,
  link: `<a href="https://evil.example"><text>x</text></a>`,
  image: `<image href="https://evil.example/x.png"/>`,
  use: `<use href="#x"/>`,
  "foreign object": "<foreignObject><p>x</p></foreignObject>",
  animation: `<rect><set attributeName="onclick" to="alert(1)"/></rect>`,
  "style attribute": `<rect style="fill:url(https://evil.example)"/>`,
  "address in a value": `<rect class="low" x="url(https://evil.example)"/>`,
  "class of the page": `<rect class="composer"/>`,
  "id of the page": `<rect id="x"/>`,
  filter: `<rect filter="url(#x)"/>`,
  "xlink address": `<rect xmlns:l="http://www.w3.org/1999/xlink" l:href="javascript:alert(1)"/>`,
  "huge shape": `<rect width="99999999999"/>`,
  "script in a mark": `<g><title>x</title><script>alert(1)</script></g>`,
  "HTML element": `<rect xmlns="http://www.w3.org/1999/xhtml"><p/></rect>`,
  "deep groups": "<g><g><g><g><g/></g></g></g></g>",
  "a style within": "<g><style>*{display:none}</style></g>",
};

test.each(Object.entries(HOSTILE))("%s is no chart", (_name, content) => {
  expect(chart(svg(content), TEXTS, { copy: vi.fn(), write: vi.fn() })).toBeNull();
});

test.each([
  ["another SVG", svg("", `width="10" height="10"`)],
  ["no XML", "<svg"],
  ["nothing", ""],
  ["HTML", "<p>x</p>"],
  ["entities", `<!DOCTYPE svg [<!ENTITY a "b">]>${svg("<text>&a;</text>")}`],
  ["no height", svg("", `class="svc-chart" width="100%"`)],
  ["an endless height", svg("", `class="svc-chart" width="100%" height="1e9"`)],
  ["too many elements", svg("<rect/>".repeat(9_000))],
])("%s is no chart", (_name, source) => {
  expect(chart(source, TEXTS, { copy: vi.fn(), write: vi.fn() })).toBeNull();
});

test("hidden characters in labels and values are visible", () => {
  const { marks, box } = drawn(`<g data-value="a\u202eb"><title>x\u200by</title><text>c\u202ed</text></g>`);
  expect(marks[0]?.getAttribute("aria-label")).toBe("x⟦U+200B⟧y");
  expect(marks[0]?.dataset["value"]).toBe("a⟦U+202E⟧b");
  expect(box.querySelector("text")?.textContent).toBe("c⟦U+202E⟧d");
});

test("a mark shows its tooltip on hover and on focus", () => {
  const { marks, tip } = drawn();
  expect(tip?.hidden).toBe(true);
  marks[1]?.dispatchEvent(new Event("pointerover", { bubbles: true }));
  expect([tip?.hidden, tip?.textContent]).toEqual([false, "mara"]);
  marks[0]?.parentNode?.dispatchEvent(new Event("pointerleave"));
  expect(tip?.hidden).toBe(true);
  marks[2]?.dispatchEvent(new Event("focusin", { bubbles: true }));
  expect(tip?.textContent).toBe("10.0.0.1: 9");
});

test("one Tab stop, and the arrow keys go from mark to mark", () => {
  const { marks, press } = drawn();
  const stops = () => marks.map((mark) => mark.getAttribute("tabindex"));
  expect(stops()).toEqual(["0", "-1", "-1"]);
  marks[0]?.focus();
  press("ArrowRight");
  expect(document.activeElement).toBe(marks[1]);
  press("End");
  press("ArrowDown");
  expect([document.activeElement, stops()]).toEqual([marks[2], ["-1", "-1", "0"]]);
  press("Home");
  press("ArrowLeft");
  expect(document.activeElement).toBe(marks[0]);
});

test("selecting a value marks all of it, offers to copy it and to ask about it", () => {
  const { box, marks, press, actions } = drawn();
  marks[0]?.focus();
  press("Enter");
  expect(marks.map((mark) => mark.getAttribute("aria-pressed"))).toEqual(["true", "false", "true"]);
  const [copy, ask] = box.querySelectorAll("button");
  copy?.click();
  ask?.click();
  expect(actions.copy).toHaveBeenCalledWith("10.0.0.1");
  expect(actions.write).toHaveBeenCalledWith("What did 10.0.0.1 do?");
  press("Escape");
  expect(marks.map((mark) => mark.getAttribute("aria-pressed"))).toEqual(["false", "false", "false"]);
  expect(box.querySelectorAll("button").length).toBe(0);
});

test("a click selects, a second one takes the selection back", () => {
  const { box, marks } = drawn();
  const click = () => marks[1]?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  click();
  expect(box.querySelector("bdi")?.textContent).toBe("mara");
  expect(box.querySelectorAll("button").length).toBe(1); // no question
  click();
  expect(box.querySelector("bdi")).toBeNull();
});

test("Escape without a selection is left to the page", () => {
  const { marks, press } = drawn();
  marks[0]?.focus();
  expect(press("Escape")).toBe(true);
});
