import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Conversation } from "../src/conversation.js";
import type { ChatMessage } from "../src/transport.js";
import { message, turn } from "./messages.js";

const WIRE = join(import.meta.dirname, "../../../../tests/wire");

interface Transcript {
  frames: { from?: string; message?: ChatMessage }[];
  expect: { after: number; error?: unknown };
}

test("a turn has a question, steps, an answer and an end", () => {
  const conversation = new Conversation();
  for (const one of turn(0, "who?", "**Two.**")) conversation.receive(one);

  const [only] = conversation.turns;
  expect(only).toMatchObject({ question: "who?", answer: "**Two.**", state: "answered", group: "g1" });
  expect(only?.steps.map((step) => step.text)).toEqual(["reading", "Answered after 0.1 s."]);
});

test("calls and results of local tools are in the trace", () => {
  const script = JSON.parse(readFileSync(join(WIRE, "local_tool.json"), "utf8")) as Transcript;
  const conversation = new Conversation();
  const asked = script.frames
    .filter(({ from }) => from === "service")
    .map(({ message: one }) => {
      conversation.receive(one as ChatMessage);
      return conversation.turns[0]?.confirmation?.tool;
    });

  expect(asked).toEqual([undefined, "lookup", undefined, undefined, undefined, undefined, undefined]);
  expect(conversation.turns[0]?.steps.map(({ text }) => text)).toContain('{"ok":true,"value":{"owner":"ops"}}');
});

test("a malformed confirmation request is ignored", () => {
  const conversation = new Conversation();
  conversation.receive(message(1, "query", { content: "who?" }));
  conversation.receive(message(2, "confirmation_request", { content: "{" }));
  expect(conversation.turns[0]?.confirmation).toBeNull();
});

test("messages seen before are dropped", () => {
  const conversation = new Conversation();
  const messages = turn(0, "who?", "Two.");
  for (const one of [...messages, ...messages]) conversation.receive(one);

  expect(conversation.turns).toHaveLength(1);
  expect(conversation.turns[0]?.answer).toBe("Two.");
});

test("an echoed question is matched to the one being sent, whatever its ID", () => {
  const conversation = new Conversation();
  const asked = conversation.ask("who?");
  conversation.receive(message(1, "query", { content: "who?", turn: "theirs" }));

  expect(conversation.turns).toEqual([asked]);
  expect(asked).toMatchObject({ id: "theirs", state: "running" });
});

test("another client's question is a separate turn", () => {
  const conversation = new Conversation();
  conversation.ask("mine");
  conversation.receive(message(1, "query", { content: "theirs", turn: "t9" }));

  expect(conversation.turns.map((one) => one.question)).toEqual(["mine", "theirs"]);
});

test.each([
  ["cancelled", 499, "stopped"],
  ["internal_error", 500, "failed"],
])("an error ends its turn: %s", (code, status, state) => {
  const conversation = new Conversation();
  conversation.receive(message(1, "query", { content: "who?" }));
  conversation.receive(
    message(2, "error", { status_code: status, status_message: code, content: "why", state: "end" }),
  );

  expect(conversation.turns[0]).toMatchObject({ state, failure: { code, text: "why" } });
  expect(conversation.openTurn).toBeUndefined();
});

test("an error that is not stored refuses the question being sent", () => {
  const conversation = new Conversation();
  const asked = conversation.ask("who?");
  conversation.receive(message(0, "error", { status_code: 409, status_message: "turn_in_progress", turn: "" }));

  expect(asked).toMatchObject({ state: "failed", failure: { code: "turn_in_progress" } });
});

test("an answer in parts becomes one answer", () => {
  const conversation = new Conversation();
  conversation.receive(message(1, "query", { content: "who?" }));
  conversation.receive(message(2, "result", { content: "One, " }));
  conversation.receive(message(3, "result", { content: "two." }));

  expect(conversation.turns[0]?.answer).toBe("One, two.");
});

test("an update changes an earlier message and a delete empties it", () => {
  const conversation = new Conversation();
  conversation.receive(message(1, "query", { content: "who?" }));
  conversation.receive(message(2, "result", { content: "One" }));
  conversation.receive(message(3, "info", { content: "reading" }));
  conversation.receive(message(4, "update", { parent_id: "m2", content: "Two" }));
  conversation.receive(message(5, "update", { parent_id: "m3", content: "read" }));
  expect(conversation.turns[0]?.answer).toBe("Two");
  expect(conversation.turns[0]?.lastStep?.text).toBe("read");

  conversation.receive(message(6, "delete", { parent_id: "m3" }));
  expect(conversation.turns[0]?.steps).toEqual([]);
});

test("a picture is not a step", () => {
  const conversation = new Conversation();
  conversation.receive(message(1, "source", { mime_type: "image/svg+xml", content: "PHN2Zy8+", title: "Logins" }));

  expect(conversation.turns[0]).toMatchObject({ steps: [], pictures: [{ title: "Logins", base64: "PHN2Zy8+" }] });
});

describe("the golden transcripts", () => {
  const names = readdirSync(WIRE).filter((name) => name.endsWith(".json") && !name.endsWith("_cases.json"));
  test.each(names)("%s shows every message once", (name) => {
    const { frames } = JSON.parse(readFileSync(join(WIRE, name), "utf8")) as Transcript;
    const conversation = new Conversation();
    const said = frames.flatMap((frame) => (frame.from === "service" && frame.message ? [frame.message] : []));
    for (const one of said) conversation.receive(one);

    const results = said.filter((one, at) => one.message_type === "result" && said.indexOf(one) === at);
    expect(said.filter((one) => one.seq > 0 && conversation.receive(one) !== undefined)).toEqual([]);
    expect(conversation.turns.filter((one) => one.parts.length > 1)).toEqual([]);
    expect(conversation.turns.flatMap((one) => one.parts).length).toBeLessThanOrEqual(results.length);
  });
});
