// A chart in the chat: in both themes, in a sidebar of 320 pixels, by mouse and keyboard.
import { afterEach, expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import { ask, clear, frames, show } from "./page.js";
import type { Page } from "./page.js";
import { message } from "../test/messages.js";

const CHART =
  `<svg xmlns="http://www.w3.org/2000/svg" class="svc-chart" width="100%" height="60"><title>T</title>` +
  `<rect class="card" width="100%" height="100%"/><text class="name" y="18">Sources</text>` +
  `<text class="w" y="40">wide label</text><text class="n" y="40">narrow</text>` +
  `<g data-value="10.0.0.1" data-ask="What did 10.0.0.1 do?"><title>10.0.0.1: 7 failures</title>` +
  `<rect class="high" x="1%" y="44" width="50%" height="8"/></g>` +
  `<g data-value="10.0.0.2"><title>10.0.0.2: 3 failures</title>` +
  `<rect class="low" x="60%" y="44" width="20%" height="8"/></g></svg>`;

afterEach(clear);

async function shown(attributes: Record<string, string>, width: number): Promise<Page> {
  const page = await show(attributes);
  page.element.style.width = `${String(width)}px`;
  await ask(page, "who?");
  page.transport.say(message(1, "query", { content: "who?" }));
  page.transport.say(message(2, "source", { title: "T", mime_type: "image/svg+xml", content: btoa(CHART) }));
  page.transport.say(message(3, "result", { content: "x", state: "end" }));
  await expect.poll(() => page.all(".svc-picture").length).toBe(1);
  return page;
}

const colour = (page: Page, selector: string) => getComputedStyle(page.find(selector)).fill;

test.each([
  ["light", "rgb(29, 39, 51)", "rgb(194, 65, 12)"],
  ["dark", "rgb(228, 231, 235)", "rgb(255, 169, 77)"],
])("a chart has the colours of the %s theme and no background", async (theme, ink, high) => {
  const page = await shown({ theme }, 700);
  expect([colour(page, ".svc-chart .name"), colour(page, ".svc-chart .high")]).toEqual([ink, high]);
  expect(colour(page, ".svc-chart .card")).toBe("none");
});

test.each([
  [700, "wide label"],
  [320, "narrow"],
])("at %i pixels the labels are those that fit", async (width, label) => {
  const page = await shown({}, width);
  const visible = page.all(".svc-chart text").filter((one) => getComputedStyle(one).display !== "none");
  expect(visible.map((one) => one.textContent)).toEqual(["Sources", label]);
  const box = page.find(".svc-chart").getBoundingClientRect();
  expect([Math.round(box.height), box.width <= width]).toEqual([60, true]);
});

test("the keyboard shows a tooltip inside the chart, selects, and asks", async () => {
  const page = await shown({}, 320);
  page.find(".svc-chart g[tabindex='0']").focus();
  await frames();
  const tip = page.find(".svc-tip");
  expect(tip.textContent).toBe("10.0.0.1: 7 failures");
  const [inner, outer] = [tip.getBoundingClientRect(), page.find(".svc-picture").getBoundingClientRect()];
  expect(inner.left >= outer.left - 1 && inner.right <= outer.right + 1).toBe(true);
  await userEvent.keyboard("{Enter}");
  page.all(".svc-chosen button")[1]?.click();
  await frames();
  expect(page.find<HTMLTextAreaElement>(".composer textarea").value).toBe("What did 10.0.0.1 do?");
});
