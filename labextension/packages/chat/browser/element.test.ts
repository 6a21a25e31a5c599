import { afterEach, describe, expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { message, turn } from "../test/messages.js";
import { WireError } from "../test/scripted-transport.js";
import { ask, clear, frames, show } from "./page.js";

afterEach(clear);

test("a question is asked, its trace streams, its answer appears", async () => {
  const chat = await show();
  await ask(chat, "who?");
  expect(chat.transport.asked).toEqual(["who?"]);

  chat.transport.say(message(1, "query", { content: "who?" }), message(2, "info", { content: "reading auth.log" }));
  await frames();
  expect(chat.find(".trace summary").textContent).toContain("reading auth.log");
  expect(chat.find(".composer .primary").getAttribute("aria-label")).toBe("Stop");

  chat.transport.say(
    message(3, "result", { content: "**root** from `203[.]0[.]113[.]9`" }),
    message(4, "info", { state: "end" }),
  );
  await frames();
  expect(chat.find(".answer strong").textContent).toBe("root");
  expect(chat.find("article").dataset["state"]).toBe("answered");
  expect(chat.find(".composer .primary").getAttribute("aria-label")).toBe("Send");
});

test("a very long trace shows its last steps and the number of earlier ones", async () => {
  const chat = await show();
  await ask(chat, "who?");
  const steps = Array.from({ length: 203 }, (_, place) => message(place + 2, "info", { content: `step ${place}` }));
  chat.transport.say(message(1, "query", { content: "who?" }), ...steps);
  await frames();
  expect(chat.find(".trace li").textContent).toBe("3 earlier steps are in the export.");
  expect(chat.find(".trace .text").textContent).toBe("step 3");
});

test("stop cancels the turn", async () => {
  const chat = await show();
  await ask(chat, "who?");
  chat.transport.say(message(1, "query", { content: "who?" }));
  await frames();
  chat.find(".composer .primary").click();
  expect(chat.transport.cancelled).toEqual(["t1"]);

  chat.transport.say(message(2, "error", { status_code: 499, status_message: "cancelled", state: "end" }));
  await frames();
  expect(chat.find(".stopped").textContent).toBe("Stopped.");
});

const MAY = {
  mime_type: "application/json",
  content: '{"tool":"owner_of","arguments":{"host":"<img src=x>\\u202eweb1"},"description":"Says who owns a host."}',
};

test.each([
  ["Allow this call", "once"],
  ["Allow all calls of owner_of in this session, with any arguments", "session"],
  ["Deny", "deny"],
])("a tool call waits for %s, and its arguments are shown as text", async (label, decision) => {
  const chat = await show();
  await ask(chat, "who?");
  chat.transport.say(message(1, "query", { content: "who?" }), message(2, "confirmation_request", MAY));
  await frames();
  const asked = chat.find(".asked");
  expect(asked.textContent).toContain("The model wants to run your tool owner_of with:");
  expect(asked.textContent).toContain('host = "<img src=x>\\u202eweb1"');
  expect(asked.querySelector("img")).toBeNull();

  [...asked.querySelectorAll("button")].find((button) => button.textContent.trim() === label)?.click();
  expect(chat.transport.confirmed).toEqual([["m2", decision]]);
  chat.transport.say(message(3, "confirmation_response", { parent_id: "m2", content: "{}" }));
  await frames();
  expect(chat.all(".asked")).toHaveLength(0);
});

test("an ended turn asks for no confirmation", async () => {
  const chat = await show();
  await ask(chat, "who?");
  chat.transport.say(message(1, "query", { content: "who?" }), message(2, "confirmation_request", MAY));
  chat.transport.say(message(3, "error", { status_code: 499, status_message: "cancelled", state: "end" }));
  await frames();
  expect(chat.all(".asked")).toHaveLength(0);
});

test("the last question can be edited and asked again", async () => {
  const chat = await show();
  await ask(chat, "who?");
  chat.transport.say(...turn(0, "who?", "Two."));
  await frames();
  chat.find("[aria-label='Edit and ask again']").click();
  await frames();
  const area = chat.find<HTMLTextAreaElement>(".editor textarea");
  expect(chat.root.activeElement).toBe(area);
  area.value = "who, and when?";
  chat.find(".editor .primary").click();
  await frames();

  expect(chat.transport.asked).toEqual(["who?", "who, and when?"]);
  expect(chat.find(".replaced summary").textContent).toContain("who?");
});

test("a failed turn shows the reason and can be asked again", async () => {
  const chat = await show({}, (transport) => {
    transport.refusals.send = new WireError("rate_limited", "600 a minute are allowed");
  });
  await ask(chat, "who?");
  await frames();
  expect(chat.find(".failure").textContent).toContain("600 a minute");

  chat.find("[aria-label='Ask again']").click();
  await frames();
  expect(chat.transport.asked).toEqual(["who?", "who?"]);
  expect(chat.all("article")).toHaveLength(1);
});

test("files are attached by button, drop and paste, with progress and removal", async () => {
  const chat = await show();
  const dropped = new DataTransfer();
  dropped.items.add(new File(["x"], "dropped.log"));
  chat.element.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true }));
  const pasted = new DataTransfer();
  pasted.items.add(new File(["y"], "pasted.png"));
  chat.find(".composer textarea").dispatchEvent(new ClipboardEvent("paste", { clipboardData: pasted, bubbles: true }));
  await frames();
  expect(chat.all(".files bdi").map((name) => name.textContent)).toEqual(["dropped.log", "pasted.png"]);

  chat.transport.uploads[0]?.options.onProgress(0.5);
  await frames();
  expect(chat.find<HTMLProgressElement>("progress").value).toBe(0.5);
  chat.transport.uploads[0]?.done({ name: "dropped.log", size: 1_500 });
  await frames();
  expect(chat.find(".files small").textContent).toBe("1.5 kB");

  chat.find("[aria-label='Remove pasted.png']").click();
  chat.find("[aria-label='Remove dropped.log']").click();
  chat.transport.uploads[1]?.done({ name: "pasted.png", size: 1 });
  await frames();
  expect(chat.all(".files li")).toEqual([]);
  expect(chat.transport.detached.map(([, name]) => name).sort()).toEqual(["dropped.log", "pasted.png"]);
});

test("an indicator is inert; only its dialog shows the full address and opens it", async () => {
  const chat = await show();
  await ask(chat, "who?");
  chat.transport.say(...turn(0, "who?", "see [here](http://evil.example/a?b=c) and javascript:alert(1)"));
  await frames();
  expect(chat.all("a")).toEqual([]);
  const [address, script] = chat.all(".chip");
  expect(address?.textContent).toBe("hxxp://evil[.]example/a?b=c");

  address?.click();
  const link = chat.find<HTMLAnchorElement>(".chip-dialog a");
  expect([link.href, link.textContent, link.rel]).toEqual([
    "http://evil.example/a?b=c",
    "http://evil.example/a?b=c",
    "noopener noreferrer",
  ]);
  await userEvent.keyboard("{Escape}");
  expect(chat.all(".chip-dialog")).toEqual([]);
  expect(chat.root.activeElement).toBe(address);

  script?.click();
  expect(chat.all(".chip-dialog a")).toEqual([]);
});

test("copying gives the refanged indicator, a table as CSV, code unchanged, the answer as safe Markdown", async () => {
  const copied: string[] = [];
  vi.spyOn(navigator.clipboard, "writeText").mockImplementation((text) => {
    copied.push(text);
    return Promise.resolve();
  });
  const chat = await show();
  await ask(chat, "who?");
  chat.transport.say(...turn(0, "who?", "evil.com\n\n| a | b |\n|---|---|\n| 1 | x |\n\n```bash\nls -l\n```"));
  await frames();
  chat.find(".chip").click();
  chat.find(".chip-dialog .primary").click();
  for (const button of chat.all(".copy")) button.click();
  chat.find("[aria-label='Copy answer']").click();
  await frames();

  expect(copied.slice(0, 3)).toEqual(["evil.com", "a,b\r\n1,x", "ls -l"]);
  expect(copied[3]).toBe("`evil[.]com`\n\n| a | b |\n| --- | --- |\n| 1 | x |\n\n```text\nls -l\n```"); // safe elsewhere
  vi.restoreAllMocks();
});

test("a question is copied as it was asked, and read aloud as the user's", async () => {
  const chat = await show();
  await ask(chat, "  who?");
  const question = chat.find(".question");
  getSelection()?.selectAllChildren(question);
  expect(getSelection()?.toString()).toBe("who?");
  await expect.element(page.getByRole("heading", { name: "You asked: who?", exact: true })).toBeVisible();
});

test("sessions are listed, switched and renamed", async () => {
  const chat = await show({}, (transport) => {
    const one = { description: "", expire_time: 0, ttl: 1, can_log: true, files: [] };
    transport.sessions = [
      { ...one, id: "s1", name: "first" },
      { ...one, id: "s2", name: "second" },
    ];
    transport.history = turn(0, "who?", "Two.");
  });
  chat.find("header .name").click();
  await frames();
  expect(chat.all(".sessions li bdi").map((name) => name.textContent)).toEqual(["second", "first"]);
  chat.all(".sessions li button")[1]?.click();
  await frames();
  expect(chat.element.sessionId).toBe("s1");
  expect(chat.find(".answer").textContent).toContain("Two.");

  chat.find("header .name").click();
  await frames();
  chat.find<HTMLInputElement>(".sessions input").value = "renamed";
  chat.find(".sessions form button").click();
  await frames();
  expect(chat.find("header .name bdi").textContent).toBe("renamed");
});

test("a missing key is asked for and stays in memory", async () => {
  const element = document.createElement("svc-chat");
  element.setAttribute("base-url", "http://127.0.0.1:9");
  document.body.append(element);
  await frames();
  const input = element.shadowRoot?.querySelector<HTMLInputElement>("input[type=password]");
  expect(input).toBeTruthy();
  expect(input?.form?.action).not.toContain("svc_");
  expect([localStorage.length, sessionStorage.length]).toEqual([0, 0]);
  element.remove();
});

test("two elements on one page are independent", async () => {
  const one = await show();
  const two = await show();
  await ask(one, "mine");

  expect(two.transport.asked).toEqual([]);
  expect(two.all("article")).toEqual([]);
});

describe("attributes", () => {
  test("the prompt fills the field without being sent; examples fill it, too", async () => {
    const chat = await show({ "session-prompt": "who?", examples: '[{"title":"t","prompt":"p"}]' });
    const area = chat.find<HTMLTextAreaElement>(".composer textarea");
    expect(area.value).toBe("who?");
    chat.find(".landing li button").click();
    expect([area.value, chat.transport.asked]).toEqual(["p", []]);
  });

  test("later changes take effect", async () => {
    const chat = await show();
    const changed = new Promise((resolve) => {
      chat.element.addEventListener("svc-session", resolve, { once: true });
    });
    chat.element.setAttribute("theme", "dark");
    chat.element.setAttribute("session-name", "later");
    chat.element.setAttribute("sessionId", "s9");
    await changed;
    await frames();
    expect(chat.find(".chat").dataset["theme"]).toBe("dark");
    expect(chat.transport.requests.at(-1)?.id).toBe("s9");
  });

  test("the full screen covers the page", async () => {
    const chat = await show();
    chat.find("[aria-label='Full screen']").click();
    await frames();
    const { width, height } = chat.element.getBoundingClientRect();
    expect([width, height]).toEqual([innerWidth, innerHeight]);
  });

  test('incognito="false" is logged, incognito="true" is not', async () => {
    for (const [value, logSession] of [
      ["false", true],
      ["true", false],
    ] as const) {
      const chat = await show({ incognito: value });
      await ask(chat, "who?");
      expect(chat.transport.requests[0]?.logSession).toBe(logSession);
    }
  });

  test("if the key must log, incognito shows a warning before the first question", async () => {
    const chat = await show({ incognito: "true" }, (transport) => {
      transport.profile = { ...transport.profile, can_disable_logging: false };
    });
    expect(chat.find(".banner").textContent).toContain("does not allow");
  });

  test("a session that no longer exists is replaced by a new one, with a notice and an event", async () => {
    const told: unknown[] = [];
    const hear = (event: Event) => told.push((event as CustomEvent).detail);
    document.addEventListener("svc-session", hear);
    const chat = await show({ "session-id": "gone" }, (transport) => {
      transport.refusals.open = new WireError("session_expired");
    });
    document.removeEventListener("svc-session", hear);
    expect(told).toEqual([{ sessionId: "made1", name: "New Session", isNew: true }]);
    expect(chat.find(".banner").textContent).toContain("gone");
  });
});
