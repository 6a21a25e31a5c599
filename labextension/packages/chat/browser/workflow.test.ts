// What a user does around a question: look at all of it, drag a file, insert an answer, lose nothing.
import { afterEach, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { examplesFor } from "../src/examples.js";
import { message, turn } from "../test/messages.js";
import { ask, clear, frames, show } from "./page.js";
import type { Page } from "./page.js";

afterEach(async () => {
  clear();
  await page.viewport(1_400, 900);
});

const WIDE = `| ${Array.from({ length: 14 }, (_, at) => `a column ${at}`).join(" | ")} |\n|${"---|".repeat(14)}\n| ${"value-without-a-break ".repeat(14).trim().replaceAll(" ", " | ")} |`;
const FOLD = (inside: string) => `<details>\n<summary>24 lines of evidence</summary>\n\n${inside}\n\n</details>`;

async function answered(shown: Page, answer: string, question = "who?"): Promise<void> {
  await ask(shown, question);
  shown.transport.say(...turn(0, question, answer));
  await frames();
}

test("another language or theme keeps the conversation, the connection and what is typed", async () => {
  const shown = await show();
  await answered(shown, "Two.");
  const node = shown.find(".answer");
  const { listener } = shown.transport;
  shown.find<HTMLTextAreaElement>(".composer textarea").value = "and th";
  shown.element.setAttribute("theme", "dark");
  await frames();
  expect(shown.find(".answer")).toBe(node);
  shown.element.strings = { send: "Senden" };
  await frames();
  expect(shown.find(".answer").textContent).toContain("Two.");
  expect(shown.find(".composer .primary").title).toBe("Senden");
  expect(shown.find<HTMLTextAreaElement>(".composer textarea").value).toBe("and th");
  expect([shown.transport.isClosed, shown.transport.listener === listener]).toEqual([false, true]);
});

test.each(["contain: strict", "transform: translateX(9px)", "overflow: hidden; container-type: inline-size"])(
  "full screen covers the page, also inside an element with %s, and Escape leaves it",
  async (style) => {
    const shown = await show();
    const box = document.createElement("div");
    box.style.cssText = `${style}; inline-size: 320px; block-size: 300px; position: absolute; inset: 100px auto auto 200px`;
    document.querySelector("main")?.append(box);
    box.append(shown.element);
    await frames();
    shown.find("[aria-label='Full screen']").click();
    await frames();
    const { x, y, width, height } = shown.element.getBoundingClientRect();
    expect([x, y, width, height]).toEqual([0, 0, innerWidth, innerHeight]);
    expect(document.elementFromPoint(3, innerHeight - 3)).toBe(shown.element);
    shown.element.focus();
    await userEvent.keyboard("{Escape}");
    await frames();
    expect(Math.round(shown.element.getBoundingClientRect().width)).toBe(320);
    expect(shown.element.getAttribute("is-fullscreen")).toBe("false");
  },
);

test.each([
  ["alone", WIDE],
  ["in a fold", FOLD(WIDE)],
  ["in a list", `- evidence:\n\n${WIDE.replace(/^/gm, "  ")}`],
  ["in a quotation", WIDE.replace(/^/gm, "> ")],
  ["code", `\`\`\`\n${"x".repeat(600)}\n\`\`\``],
  ["a word", "x".repeat(600)],
])("at 320 px, wide content scrolls in its own box: %s", async (_, answer) => {
  await page.viewport(320, 700);
  const shown = await show();
  await answered(shown, answer);
  for (const fold of shown.all("details")) fold.setAttribute("open", "");
  await frames();
  const scroll = shown.find(".scroll");
  expect(scroll.scrollWidth).toBeLessThanOrEqual(scroll.clientWidth);
  const scroller = shown.all(".scroller")[0];
  if (scroller) expect(scroller.scrollWidth).toBeGreaterThan(scroller.clientWidth);
});

test("a fold is closed, opens by keyboard, and keeps its table's copy button", async () => {
  const shown = await show();
  await answered(shown, `**Verdict.**\n\n${FOLD("| a | b |\n|---|---|\n| 1 | 2 |")}`);
  const fold = shown.find<HTMLDetailsElement>(".answer details");
  expect(fold.open).toBe(false);
  shown.find(".answer summary").focus();
  await userEvent.keyboard("{Enter}");
  expect(fold.open).toBe(true);
  expect(fold.querySelectorAll(".copy")).toHaveLength(1);
});

test("quoted material in a question is shown without its fences, as text", async () => {
  const shown = await show();
  const question = "What is this?\n\n```\n<b>line</b> 1\n```";
  await answered(shown, "Nothing.", question);
  expect(shown.transport.asked).toEqual([question]);
  expect(shown.find(".question").textContent).not.toContain("```");
  expect(shown.find(".question pre").textContent).toBe("<b>line</b> 1");
  await expect.element(page.getByRole("heading", { name: "You asked: What is this?", exact: true })).toBeVisible();
});

function drag(type: string, target: EventTarget, data: DataTransfer): boolean {
  return target.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
}

test("the drop zone is there while a file is dragged anywhere over the page", async () => {
  const shown = await show();
  const files = new DataTransfer();
  files.items.add(new File(["x"], "auth.log"));
  drag("dragover", document.body, files);
  await frames();
  await expect.element(page.getByText("Drop files to attach them")).toBeVisible();
  expect(drag("dragover", document.body, files)).toBe(true); // only the element takes the file
  expect(drag("dragover", shown.element, files)).toBe(false);
  await expect.poll(() => shown.all(".drop").length, { timeout: 3_000 }).toBe(0); // the drag left the page
  drag("dragover", document.body, files);
  drag("drop", document.body, files);
  await frames();
  expect(shown.all(".drop")).toHaveLength(0);
  const words = new DataTransfer();
  words.setData("text/plain", "x");
  drag("dragover", document.body, words);
  await frames();
  expect(shown.all(".drop")).toHaveLength(0);
});

test("an answer is inserted as safe Markdown, and only if the page can", async () => {
  const told: unknown[] = [];
  const shown = await show({}, () => undefined);
  await answered(shown, "see http://evil.example/ <img src=x>");
  expect(shown.all("[aria-label='Insert into the notebook']")).toHaveLength(0);
  clear();
  const other = document.createElement("svc-chat");
  other.canInsert = true;
  other.addEventListener("svc-insert", ({ detail }) => told.push(detail));
  other.transport = shown.transport;
  document.body.append(other);
  shown.transport.history = turn(0, "who?", "see http://evil.example/ <img src=x>");
  other.setAttribute("session-id", "s1");
  await expect.poll(() => other.shadowRoot?.querySelectorAll(".answer").length).toBe(1);
  await frames();
  other.shadowRoot?.querySelector<HTMLElement>("[aria-label='Insert into the notebook']")?.click();
  await frames();
  expect(told).toEqual([{ turn: "t0", markdown: "see `hxxp://evil[.]example/` `<img src=x>`" }]);
  other.remove();
});

test("the examples fill the field, and are about the files that are attached", async () => {
  const shown = await show();
  shown.element.suggest = examplesFor;
  shown.element.setAttribute("theme", "light");
  await frames();
  expect(shown.all(".landing li").length).toBeGreaterThan(2);
  shown.element.attach([new File(["x"], "capture.pcap")]);
  await expect.poll(() => shown.transport.uploads.length).toBe(1);
  shown.transport.uploads[0]?.done({ name: "capture.pcap", size: 1 });
  await frames();
  const [first] = shown.all(".landing li button");
  first?.click();
  expect(shown.find<HTMLTextAreaElement>(".composer textarea").value).toMatch(/beaconing.*capture\.pcap/);
  expect(shown.transport.asked).toEqual([]);
  for (const { prompt } of examplesFor([
    { name: "a", size: 1 },
    { name: "b", size: 1 },
  ]))
    expect(prompt).toContain("the attached files");
});

test("sessions are listed newest first and searched by name, first question and file", async () => {
  const one = { description: "", expire_time: 0, ttl: 1, can_log: true, files: [] };
  const shown = await show({}, (transport) => {
    transport.sessions = [
      { ...one, id: "s1", name: "web-3", title: "Who got in?" },
      { ...one, id: "s2", name: "mail", files: [{ name: "invoice.eml", size: 1 }] },
      { ...one, id: "s3", name: "ticket 4711" },
    ];
  });
  shown.find("header .name").click();
  await frames();
  const names = () => shown.all(".sessions li bdi").map((name) => name.textContent);
  expect(names()).toEqual(["ticket 4711", "mail", "Who got in?"]);
  const field = shown.find<HTMLInputElement>(".sessions [type=search]");
  for (const [text, expected] of [
    ["GOT in", ["Who got in?"]],
    ["eml", ["mail"]],
    ["nowhere", []],
  ] as const) {
    field.value = text;
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await frames();
    expect(names()).toEqual(expected);
  }
  expect(shown.find(".sessions").textContent).toContain("No session matches.");
});

test("a question that did not reach the service comes back as a draft, and closing the page asks first", async () => {
  const shown = await show();
  const asks = () => !window.dispatchEvent(new Event("beforeunload", { cancelable: true }));
  expect(asks()).toBe(false);
  const { release } = shown.transport.hold("send");
  await ask(shown, "who?");
  expect(asks()).toBe(true);
  const { transport } = shown;
  shown.element.transport = transport; // as after a kernel's restart
  await frames();
  expect(shown.find<HTMLTextAreaElement>(".composer textarea").value).toBe("who?");
  release();
  clear();
  expect(asks()).toBe(false);
});

test("a question that still waits in the kernel is shown again and can be withdrawn", async () => {
  const withdrawn: string[] = [];
  const shown = await show({}, (transport) => {
    Object.assign(transport, { isQueueing: true, withdraw: (request: string) => withdrawn.push(request) });
  });
  shown.transport.listener?.onQueued?.([{ request: "r7", content: "who?" }]);
  await frames();
  expect(shown.find(".question").textContent).toContain("who?");
  shown.find("[aria-label='Stop']").click();
  await frames();
  expect(withdrawn).toEqual(["r7"]);
  expect(shown.find(".stopped").textContent).toBe("Stopped.");
  shown.transport.say(message(1, "query", { content: "other", turn: "t9" }));
  await frames();
  expect(shown.all("article")).toHaveLength(2);
});
