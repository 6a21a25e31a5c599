// The element in any box and form: sizes, the launcher, moves in the document, properties, the model's choice.
import axe from "axe-core";
import { afterEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { message, turn } from "../test/messages.js";
import { WireError } from "../test/scripted-transport.js";
import { ask, clear, frames, show } from "./page.js";
import type { Page } from "./page.js";

afterEach(() => {
  clear();
  document.documentElement.removeAttribute("dir");
  document.documentElement.style.fontSize = "";
});

const MODELS = [
  { id: "svc-1.1", description: "The proven tools." },
  { id: "svc-1.2-experimental", description: "<b>New</b> tools." },
];
const TABLE =
  "**Two accounts** were guessed.\n\n| Account | Failures | Address |\n|---|--:|---|\n| `root` | 8 | 203.0.113.9 |";

const area = (shown: Page) => shown.find<HTMLTextAreaElement>(".composer textarea");

/** In a box of this style. */
async function boxed(style: string, attributes: Record<string, string> = {}): Promise<Page> {
  const main = document.createElement("main");
  main.style.cssText = style;
  document.body.append(main);
  return show(attributes);
}

/** Whatever sticks out of the element to the side, and does not scroll. */
function stickingOut(shown: Page, within: Element = shown.element): string[] {
  const box = within.getBoundingClientRect();
  return shown
    .all("button, textarea, header, h2, p, select, .field")
    .filter((node) => node.checkVisibility() && !node.closest(".hidden, .scroller"))
    .filter((node) => {
      const { left, right } = node.getBoundingClientRect();
      return left < box.left - 1 || right > box.right + 1;
    })
    .map((node) => node.outerHTML.slice(0, 80));
}

const BOXES = [300, 360, 480, 700, 1000, 1600].flatMap((width) => [180, 320, 900].map((height) => [width, height]));

test.each(BOXES)("fits a box of %i × %i px, also from right to left", async (width, height) => {
  await page.viewport(1_700, 1_000);
  const size = `inline-size: ${width}px; block-size: ${height}px`;
  for (const dir of ["ltr", "rtl"]) {
    document.documentElement.dir = dir;
    const shown = await boxed(size, { examples: '[{"title":"Triage","prompt":"Who was brute-forced?"}]' });
    expect(stickingOut(shown)).toEqual([]);
    await ask(shown, "Who was brute-forced?");
    shown.transport.say(...turn(0, "Who was brute-forced?", TABLE));
    await frames();
    const { width: w, height: h } = shown.element.getBoundingClientRect();
    expect([w, h]).toEqual([width, height]);
    expect(stickingOut(shown)).toEqual([]);
    const field = shown.find(".field").getBoundingClientRect();
    expect(field.bottom).toBeLessThanOrEqual(shown.element.getBoundingClientRect().bottom);
    if (height === 320) await page.screenshot({ path: `shots/box-${width}-${dir}.png` });
    clear();
  }
});

test.each([
  ["no size", ""],
  ["a row of boxes", "display: flex; block-size: auto"],
  ["a column of boxes", "display: flex; flex-direction: column; block-size: auto"],
  ["a grid", "display: grid; block-size: auto"],
])("has a usable size in %s", async (_, style) => {
  await page.viewport(1_400, 900);
  const shown = await boxed(`block-size: auto; ${style}`);
  const { width, height } = shown.element.getBoundingClientRect();
  expect(width).toBeGreaterThanOrEqual(400);
  expect(height).toBeGreaterThanOrEqual(400);
  expect(shown.find(".scroll").clientHeight).toBeGreaterThan(300);
});

test("text grows with the browser's font size, and still fits", async () => {
  await page.viewport(1_400, 900);
  document.documentElement.style.fontSize = "200%";
  const shown = await boxed("inline-size: 400px; block-size: 700px");
  await ask(shown, "Who?");
  shown.transport.say(...turn(0, "Who?", TABLE));
  await frames();
  expect(getComputedStyle(shown.find(".answer")).fontSize).toBe("28px");
  expect(stickingOut(shown)).toEqual([]);
  await page.screenshot({ path: "shots/zoomed.png" });
});

test("`hidden` hides it", async () => {
  const shown = await show({ hidden: "" });
  expect(shown.element.checkVisibility()).toBe(false);
});

test.each(["append", "moveBefore", "later"])("keeps its session when it is moved: %s", async (way) => {
  const shown = await show({ "is-fullscreen": "true" });
  await ask(shown, "who?");
  shown.transport.say(message(1, "query", { content: "who?" }));
  await frames();
  area(shown).value = "and th";
  const other = document.createElement("section");
  document.querySelector("main")?.append(other);
  if (way === "moveBefore")
    (other as unknown as { moveBefore(a: Node, b: null): void }).moveBefore(shown.element, null);
  else if (way === "append") other.append(shown.element);
  else {
    shown.element.remove();
    await new Promise((resolve) => setTimeout(resolve, 300));
    shown.element.setAttribute("theme", "dark");
    other.append(shown.element);
  }
  shown.transport.say(message(2, "result", { content: "Two." }), message(3, "info", { state: "end" }));
  await frames();
  expect(shown.find(".answer").textContent).toContain("Two.");
  expect(area(shown).value).toBe("and th");
  expect(shown.element.sessionId).toBe("made1");
  expect(shown.element.matches(":popover-open")).toBe(true);
  expect(shown.find(".chat").dataset["theme"]).toBe(way === "later" ? "dark" : "light");
  await new Promise((resolve) => setTimeout(resolve, 2_300));
  expect([shown.transport.isClosed, shown.transport.requests.length]).toEqual([false, 1]);
});

test("closes its session when it is removed for good; put back later, it starts again", async () => {
  const shown = await show();
  await ask(shown, "who?");
  shown.element.remove();
  await expect.poll(() => shown.transport.isClosed, { timeout: 4_000 }).toBe(true);
  document.querySelector("main")?.append(shown.element);
  await frames();
  expect(shown.all("article")).toEqual([]);
});

test("another session or transport set while it is out of the document is opened when it is back", async () => {
  const shown = await show();
  await ask(shown, "who?");
  shown.element.remove();
  shown.element.sessionId = "s7";
  document.querySelector("main")?.append(shown.element);
  await frames();
  expect(shown.element.sessionId).toBe("s7");
});

test("the prompt fills the field of a session that replaces an unknown one, once, and no known one", async () => {
  const attributes = { "session-id": "gone", "session-prompt": "who?" };
  const shown = await show(attributes, (transport) => {
    transport.refusals.open = new WireError("session_not_found");
  });
  expect(area(shown).value).toBe("who?");
  await ask(shown, "something else");
  expect(area(shown).value).toBe("");

  const known = await show({ ...attributes, "session-id": "known" });
  expect(area(known).value).toBe("");
  known.find("[aria-label='New session']").click();
  await frames();
  expect(area(known).value).toBe("who?");
});

test("each attribute is a property, with the meaning of the attribute; the key stays out of the document", async () => {
  const shown = await show();
  const { element } = shown;
  Object.assign(element, {
    theme: "dark",
    incognito: "false",
    examples: [{ title: "<b>t", prompt: "p" }],
    sessionName: "n",
    sessionDescription: "d",
    sessionPrompt: "who?",
    isFullscreen: true,
    baseUrl: "http://127.0.0.1:9/",
    wsUrl: "ws://127.0.0.1:9",
    model: "svc-1.1",
    launcher: false,
    apiKey: " svc_secret ",
  });
  await frames();
  expect(element).toMatchObject({
    theme: "dark",
    incognito: false,
    isFullscreen: true,
    launcher: false,
    model: "svc-1.1",
  });
  expect([element.apiKey, element.baseUrl, element.examples]).toEqual([
    "svc_secret",
    "http://127.0.0.1:9",
    [{ title: "<b>t", prompt: "p" }],
  ]);
  expect(element.outerHTML).not.toContain("svc_secret");
  expect(shown.find(".landing strong").textContent).toBe("<b>t");
  element.setAttribute("api-key", "svc_other");
  expect(element.apiKey).toBe("svc_other");
  element.apiKey = "";
  expect([element.apiKey, element.hasAttribute("api-key")]).toEqual(["", false]);
  Object.assign(element, { theme: null, isFullscreen: undefined });
  expect([element.theme, element.isFullscreen, element.hasAttribute("theme")]).toEqual(["light", false, false]);
});

test("properties that were set before the element is defined count", async () => {
  const shown = await show();
  shown.element.remove();
  const early = { value: "early", configurable: true, writable: true }; // as if it had been set before
  Object.defineProperty(shown.element, "sessionName", early);
  document.querySelector("main")?.append(shown.element);
  await frames();
  expect([shown.element.getAttribute("session-name"), Object.hasOwn(shown.element, "sessionName")]).toEqual([
    "early",
    false,
  ]);
  expect(shown.find("header .name").textContent.trim()).toBe("early");
});

test("a key with several models chooses one for new sessions", async () => {
  const shown = await show({}, (transport) => {
    transport.profile = { ...transport.profile, models: MODELS };
  });
  await frames();
  const select = shown.find<HTMLSelectElement>(".model select");
  expect([...select.options].map(({ text }) => text)).toEqual(["svc-1.1", "svc-1.2-experimental"]);
  select.selectedIndex = 1;
  select.dispatchEvent(new Event("change"));
  await frames();
  expect(shown.element.model).toBe("svc-1.2-experimental");
  await ask(shown, "who?");
  expect(shown.transport.requests[0]?.model).toBe("svc-1.2-experimental");
  expect(shown.all(".model")).toEqual([]);

  const single = await show();
  expect(single.all(".model")).toEqual([]);
});

test("sessions are listed by their first question, with their date", async () => {
  const shown = await show({}, (transport) => {
    const one = { description: "", expire_time: 0, ttl: 1, can_log: true, files: [], create_time: 1_790_000_000 };
    transport.sessions = [
      { ...one, id: "s1", name: "New Session", title: "Who <b>was</b> brute-forced?" },
      { ...one, id: "s2", name: "Ticket 4711", title: "Is it a scan?", create_time: 1_790_000_001 },
      { ...one, id: "s3", name: "Empty", title: "", create_time: 1_790_000_002 },
    ];
  });
  shown.find("header .name").click();
  await frames();
  const texts = shown.all(".sessions li button").map((button) => button.textContent.replace(/\s+/g, " ").trim());
  expect(texts[0]).toMatch(/^Empty.*2026/);
  expect(texts[1]).toMatch(/^Is it a scan\?.*Ticket 4711 · .*2026/);
  expect(texts[2]).toMatch(/^Who <b>was<\/b> brute-forced\?(?!.*New Session).*2026/);
});

test("Escape leaves full screen wherever the focus is, but closes an open dialog first", async () => {
  const shown = await show({ "is-fullscreen": "true" });
  shown.find("header .name").click();
  await frames();
  await userEvent.keyboard("{Escape}");
  expect([shown.all(".sessions").length, shown.element.isFullscreen]).toEqual([0, true]);
  (document.activeElement as HTMLElement | null)?.blur();
  await userEvent.keyboard("{Escape}");
  await frames();
  expect([shown.element.isFullscreen, shown.element.matches(":popover-open")]).toEqual([false, false]);
});

test.each([320, 1_400])("the launcher opens a dialog that keeps the focus, at %i px", async (width) => {
  await page.viewport(width, 800);
  const shown = await show({ launcher: "", "session-prompt": "who?" });
  expect([shown.transport.listener, shown.find("dialog").checkVisibility()]).toEqual([undefined, false]);
  await page.screenshot({ path: `shots/launcher-closed-${width}.png` });
  const launch = shown.find(".launch");
  await userEvent.tab();
  expect(shown.root.activeElement).toBe(launch);
  await userEvent.keyboard("{Enter}");
  await frames();
  const dialog = shown.find<HTMLDialogElement>("dialog");
  expect([dialog.matches(":modal"), shown.root.activeElement === area(shown), area(shown).value]).toEqual([
    true,
    true,
    "who?",
  ]);
  for (let count = 0; count < 12; count += 1) {
    await userEvent.tab();
    const active = shown.root.activeElement;
    expect(active === null || dialog.contains(active)).toBe(true);
  }
  await ask(shown, "Who was brute-forced?");
  shown.transport.say(...turn(0, "Who was brute-forced?", TABLE));
  await frames();
  expect(stickingOut(shown, dialog)).toEqual([]);
  const { violations } = await axe.run(document, {
    rules: { "page-has-heading-one": { enabled: false }, region: { enabled: false } },
  });
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
  await page.screenshot({ path: `shots/launcher-open-${width}.png` });

  shown.find("header .name").click();
  await frames();
  await userEvent.keyboard("{Escape}");
  expect([shown.all(".sessions").length, dialog.open]).toEqual([0, true]);
  shown.find("[aria-label='Full screen']").click();
  await frames();
  expect(dialog.getBoundingClientRect().width).toBe(width);
  await userEvent.keyboard("{Escape}");
  await frames();
  expect([shown.element.isFullscreen, dialog.open]).toEqual([false, true]);
  await userEvent.keyboard("{Escape}");
  await frames();
  expect([dialog.open, shown.root.activeElement === launch]).toEqual([false, true]);

  shown.element.open();
  await frames();
  expect(shown.find(".answer").textContent).toContain("Two accounts");
  const section = document.createElement("section");
  document.querySelector("main")?.append(section);
  section.append(shown.element);
  await frames();
  expect(shown.find<HTMLDialogElement>("dialog").matches(":modal")).toBe(true);
  shown.element.close();
  await frames();
  shown.element.launcher = false;
  await frames();
  expect([shown.all("dialog").length, shown.find(".answer").checkVisibility()]).toEqual([0, true]);
});
