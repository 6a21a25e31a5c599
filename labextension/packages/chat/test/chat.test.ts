import { beforeEach, expect, test, vi } from "vitest";
import { Chat } from "../src/chat.js";
import type { ChatHooks, Upload } from "../src/chat.js";
import { ENGLISH } from "../src/strings.js";
import type { SessionRequest } from "../src/transport.js";
import { message, turn } from "./messages.js";
import { ScriptedTransport, WireError } from "./scripted-transport.js";

let transport: ScriptedTransport;
let opened: [string, boolean][];
let failed: string[];
let unsent: string[];
let begun: number;

beforeEach(() => {
  transport = new ScriptedTransport();
  opened = [];
  failed = [];
  unsent = [];
  begun = 0;
});

async function chatWith(request: SessionRequest = {}): Promise<Chat> {
  const chat = newChat(request);
  await chat.start();
  return chat;
}

function newChat(request: SessionRequest = {}): Chat {
  const hooks: ChatHooks = {
    strings: ENGLISH,
    changed: () => undefined,
    announce: () => undefined,
    opened: ({ id }, isNew) => opened.push([id, isNew]),
    ended: () => undefined,
    fresh: () => (begun += 1),
    failed: (code) => failed.push(code),
    unsent: (questions) => unsent.push(...questions),
  };
  return new Chat(transport, request, hooks);
}

test("viewing a page creates no session; the first question does", async () => {
  const chat = await chatWith({ name: "triage" });
  expect(transport.requests).toEqual([]);

  await chat.ask("who?");
  expect(transport.requests).toEqual([{ name: "triage" }]);
  expect(transport.asked).toEqual(["who?"]);
  expect(opened).toEqual([["made1", true]]);
});

test("a resumed session shows its history, and its running turn can be stopped", async () => {
  transport.history = [...turn(0, "who?", "Two."), message(5, "query", { content: "and then?", turn: "t5" })];
  const chat = await chatWith({ id: "s1" });
  expect(chat.conversation.turns.map((one) => one.state)).toEqual(["answered", "running"]);

  await chat.stop();
  expect(transport.cancelled).toEqual(["t5"]);
});

test.each(["session_not_found", "session_expired"])("%s: a new session is created, with a notice", async (code) => {
  transport.refusals.open = new WireError(code);
  const chat = await chatWith({ id: "s1", name: "triage" });

  expect(transport.requests).toEqual([{ id: "s1", name: "triage" }, { name: "triage" }]);
  expect(chat.notice?.text).toContain("s1");
  expect(opened).toEqual([["made1", true]]);
});

test("a rejected key is asked for again", async () => {
  transport.refusals.user = new WireError("invalid_api_key");
  const chat = await chatWith();

  expect(chat.phase).toBe("needs-key");
  expect(failed).toEqual(["invalid_api_key"]);
});

test("after a session ends, the next question creates a new one", async () => {
  const chat = await chatWith();
  await chat.ask("one");
  transport.say(...turn(0, "one", "1"));
  transport.refusals.send = new WireError("session_expired", "it expired");
  await chat.ask("two");
  expect(chat.conversation.turns.at(-1)).toMatchObject({ state: "failed", failure: { text: "it expired" } });

  const last = chat.conversation.turns.at(-1);
  await chat.ask("two", last);
  transport.say(...turn(0, "two", "2", "again"));
  expect(opened.map(([id]) => id)).toEqual(["made1", "made2"]);
  expect(chat.conversation.turns.map((one) => one.answer)).toEqual(["1", "2"]);
});

test("an edited question collapses the original", async () => {
  const chat = await chatWith();
  await chat.ask("one");
  transport.say(...turn(0, "one", "1"));
  await chat.ask("one, please", chat.conversation.turns[0]);

  expect(chat.conversation.turns.map((one) => one.isReplaced)).toEqual([true, false]);
});

test("no question is sent while a turn runs", async () => {
  const chat = await chatWith();
  await chat.ask("one");
  await chat.ask("two");

  expect(transport.asked).toEqual(["one"]);
});

test.each([
  ["the key leaves the choice", { never_log: false, can_disable_logging: true }, false, true],
  ["the key must log", { never_log: false, can_disable_logging: false }, true, false],
  ["the key never logs", { never_log: true, can_disable_logging: false }, false, true],
])("incognito, and %s", async (_, rights, isAgainst, isUnlogged) => {
  transport.profile = { email: "a@b.c", ...rights };
  const chat = await chatWith({ logSession: false });

  expect([chat.isLoggedDespiteIncognito, chat.isUnlogged]).toEqual([isAgainst, isUnlogged]);
});

test("an upload shows its progress, then its file", async () => {
  const chat = await chatWith();
  const attaching = chat.attach([new File(["x"], "a.log")]);
  await new Promise((resolve) => setTimeout(resolve));
  transport.uploads[0]?.options.onProgress(0.5);
  expect(chat.uploads).toMatchObject([{ name: "a.log", share: 0.5 }]);

  transport.uploads[0]?.done({ name: "a.log", size: 1 });
  await attaching;
  expect([chat.uploads, chat.files]).toEqual([[], [{ name: "a.log", size: 1 }]]);
});

async function startUpload(file: File): Promise<{ chat: Chat; upload: Upload; attaching: Promise<void> }> {
  const chat = await chatWith();
  const attaching = chat.attach([file]);
  await vi.waitFor(() => {
    expect(transport.uploads).toHaveLength(1);
  });
  const [upload] = chat.uploads;
  if (!upload) throw new Error("nothing is uploaded");
  return { chat, upload, attaching };
}

test("an upload dismissed far from its end is aborted", async () => {
  const { chat, upload } = await startUpload(new File([new Uint8Array(3_000_000)], "big.pcap"));
  upload.share = 0.5;
  chat.dismiss(upload);
  expect([upload.controller.signal.aborted, chat.uploads]).toEqual([true, []]);
});

test("a dismissed upload that still arrives is detached again", async () => {
  const { chat, upload, attaching } = await startUpload(new File(["x"], "a.log"));
  chat.dismiss(upload);
  transport.uploads[0]?.done({ name: "a.log", size: 1 });
  await attaching;
  expect([transport.detached, chat.uploads, chat.files]).toEqual([[[0, "a.log"]], [], []]);
});

test("a dismissed upload that cannot be detached is shown as a file", async () => {
  const { chat, upload, attaching } = await startUpload(new File(["x"], "a.log"));
  transport.refusals.detach = new WireError("unavailable", "the store is out of reach");
  chat.dismiss(upload);
  transport.uploads[0]?.done({ name: "a.log", size: 1 });
  await attaching;
  expect(chat.files).toMatchObject([{ name: "a.log" }]);
  expect(chat.notice?.text).toBe("the store is out of reach");
});

test("a question is not sent to a session that was selected later", async () => {
  const chat = await chatWith();
  const asking = chat.ask("for the first");
  chat.startNewSession({});
  await asking;
  expect(transport.asked).toEqual([]);
});

const asks = async (chat: Chat) => {
  await chat.ask("and when?");
  return transport.asked;
};
const attaches = async (chat: Chat) => {
  const attaching = chat.attach([new File(["x"], "a.log")]);
  await vi.waitUntil(() => transport.uploads.length);
  transport.uploads[0]?.done({ name: "a.log", size: 1, id: "f1" } as never);
  await attaching;
  return chat.files.map(({ name }) => name);
};

test.each([
  ["a question", asks, "and when?"],
  ["a file", attaches, "a.log"],
])("%s waits for the requested session while it is being opened", async (_, act, expected) => {
  transport.history = turn(0, "who?", "Two.");
  for (const call of ["user", "open"] as const) {
    transport.requests = [];
    transport.asked = [];
    transport.uploads = [];
    const held = transport.hold(call);
    const chat = newChat({ id: "s1" });
    const starting = chat.start();
    await held.reached;
    const acting = act(chat);
    await Promise.resolve();
    held.release();
    expect(await acting).toEqual([expected]);
    await starting;
    expect(transport.requests).toEqual([{ id: "s1" }]);
    expect(chat.session?.id).toBe("s1");
    expect(chat.conversation.turns[0]?.answer).toBe("Two.");
  }
});

test("a question waits for the session that is being switched to", async () => {
  const chat = await chatWith({ id: "s1" });
  const switching = chat.switchTo("s2");
  await Promise.all([chat.ask("who?"), switching]);
  expect(transport.requests.map(({ id }) => id)).toEqual(["s1", "s2"]);
  expect([chat.session?.id, transport.asked]).toEqual(["s2", ["who?"]]);
});

test("a question asked while a session that is gone is being opened is asked in the new one", async () => {
  transport.refusals.open = new WireError("session_not_found");
  const chat = newChat({ id: "s1" });
  const starting = chat.start();
  await Promise.all([chat.ask("who?"), starting]);
  expect(transport.requests).toEqual([{ id: "s1" }, {}]);
  expect([chat.session?.id, transport.asked]).toEqual(["made1", ["who?"]]);
});

test("a question asked while a session cannot be opened fails with the reason", async () => {
  transport.refusals.open = new WireError("unreachable", "the service is out of reach");
  const chat = newChat({ id: "s1" });
  const starting = chat.start();
  await Promise.all([chat.ask("who?"), starting]);
  expect(transport.asked).toEqual([]);
  expect(chat.conversation.turns[0]?.failure?.text).toBe("the service is out of reach");
});

test("a new session that is started before the requested one is opened remains", async () => {
  const held = transport.hold("user");
  const chat = newChat({ id: "s1" });
  const starting = chat.start();
  await held.reached;
  chat.startNewSession({});
  held.release();
  await starting;
  await chat.ask("who?");
  expect(transport.requests).toEqual([{}]);
  expect(chat.session?.id).toBe("made1");
});

test("a failed upload shows the reason and can be dismissed", async () => {
  transport.refusals.attach = new WireError("too_large", "a.log is too large");
  const chat = await chatWith();
  await chat.attach([new File(["x"], "a.log")]);
  const [upload] = chat.uploads;
  expect(upload?.error).toBe("a.log is too large");

  if (upload) chat.dismiss(upload);
  expect(chat.uploads).toEqual([]);
});

test("a stream that closes permanently fails the running turn", async () => {
  const chat = await chatWith();
  await chat.ask("one");
  transport.listener?.onConnection("closed", new WireError("invalid_api_key", "revoked"));

  expect(chat.conversation.turns[0]).toMatchObject({ state: "failed", failure: { text: "revoked" } });
  expect(chat.phase).toBe("needs-key");
});
