// An unanswered question is marked in words wherever its answer is shown or taken.
import { describe, expect, it } from "vitest";
import { Conversation } from "../src/conversation.js";
import { asJson, asMarkdown } from "../src/export.js";
import { markedAnswer, statusNote, verdictOf } from "../src/status.js";
import { ENGLISH } from "../src/strings.js";
import { message } from "./messages.js";

function turnWith(status: string | null | undefined, content = "**No failed login.**\n\nRead 1 line.") {
  const conversation = new Conversation();
  conversation.receive(message(1, "query", { content: "who?" }));
  conversation.receive(message(2, "result", { content, ...(status !== undefined && { answer_status: status }) }));
  conversation.receive(message(3, "info", { state: "end" }));
  const [turn] = conversation.turns;
  if (!turn) throw new Error("no turn");
  return { conversation, turn };
}

describe("the status of an answer", () => {
  it.each([
    ["not_examined", "Not examined", true],
    ["not_answered", "Not answered", true],
    ["partly_answered", "Partly answered", false],
  ])("%s has a note in words", (status, label, isWarning) => {
    expect(statusNote(turnWith(status).turn, ENGLISH)).toEqual({ label, isWarning });
  });

  it.each(["answered", "zork", "", null, undefined])("%s has none", (status) => {
    const { turn } = turnWith(status);
    expect(statusNote(turn, ENGLISH)).toBeNull();
    expect(markedAnswer(turn, ENGLISH)).toBe(turn.answer);
    expect(verdictOf(turn, ENGLISH)).toBe("No failed login.");
  });

  it("marks what is copied, exported and announced", () => {
    const { conversation, turn } = turnWith("not_examined");
    const marked = "⚠ **Not examined.**\n\n**No failed login.**\n\nRead 1 line.";
    expect(markedAnswer(turn, ENGLISH)).toBe(marked);
    expect(asMarkdown("case", conversation, ENGLISH)).toContain(marked);
    expect(verdictOf(turn, ENGLISH)).toBe("⚠ Not examined. No failed login.");
    const exported = JSON.parse(asJson({ id: "s", name: "case" }, conversation)) as { turns: unknown[] };
    expect(exported.turns[0]).toMatchObject({ answer_status: "not_examined", answer: turn.answer });
  });

  it("does not repeat a headline that says it", () => {
    const { turn } = turnWith("not_examined", "**Not examined: auth.log is empty.**");
    expect(markedAnswer(turn, ENGLISH)).toBe("⚠ **Not examined: auth.log is empty.**");
    expect(verdictOf(turn, ENGLISH)).toBe("⚠ Not examined: auth.log is empty.");
  });

  it("is null in an export if it is unknown", () => {
    const exported = JSON.parse(asJson({ id: "s", name: "n" }, turnWith(undefined).conversation)) as {
      turns: unknown[];
    };
    expect(exported.turns[0]).toMatchObject({ answer_status: null });
  });
});

describe("the partial answer of a cancelled question", () => {
  const content = "**No failed login in the part that was read.**\n\nRead 10 of 900 lines.";
  const partial = message(2, "info", {
    content,
    title: "partial_answer",
    mime_type: "text/markdown",
    state: "agent_done",
    answer_status: "partly_answered",
  });
  const cancelled = message(3, "error", { status_code: 499, status_message: "cancelled", state: "end" });

  function stopped(...messages: ReturnType<typeof message>[]) {
    const conversation = new Conversation();
    for (const one of [message(1, "query", { content: "who?" }), ...messages]) conversation.receive(one);
    const [turn] = conversation.turns;
    if (!turn) throw new Error("no turn");
    return { conversation, turn };
  }

  it("is the answer, marked as partial, and no step", () => {
    const { turn } = stopped(partial, cancelled);
    expect(turn).toMatchObject({ answer: content, isPartial: true, state: "stopped", steps: [] });
    expect(statusNote(turn, ENGLISH)).toEqual({ label: ENGLISH.partialAnswer, isWarning: true });
  });

  it("keeps its mark when it is copied, exported and announced", () => {
    const { conversation, turn } = stopped(partial, cancelled);
    const marked = `⚠ **${ENGLISH.partialAnswer}.**\n\n${content}`;
    expect(markedAnswer(turn, ENGLISH)).toBe(marked);
    expect(asMarkdown("case", conversation, ENGLISH)).toContain(marked);
    expect(verdictOf(turn, ENGLISH)).toContain(ENGLISH.partialAnswer);
    const exported = JSON.parse(asJson({ id: "s", name: "case" }, conversation)) as { turns: unknown[] };
    expect(exported.turns[0]).toMatchObject({ answer: content, is_partial: true, state: "stopped" });
  });

  it.each([{ mime_type: "text/plain" }, { title: "partial" }, { title: null }])("is not %o", (other) => {
    const { turn } = stopped({ ...partial, ...other }, cancelled);
    expect(turn).toMatchObject({ answer: "", isPartial: false });
    expect(turn.steps.map(({ text }) => text)).toEqual([content]);
  });

  it("makes room for a result, should one come", () => {
    const { turn } = stopped(partial, message(3, "result", { content: "**All.**", answer_status: "answered" }));
    expect(turn).toMatchObject({ answer: "**All.**", isPartial: false, status: "answered" });
  });
});
