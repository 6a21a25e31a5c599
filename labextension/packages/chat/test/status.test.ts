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
    expect(statusNote(turnWith(status).turn.status, ENGLISH)).toEqual({ label, isWarning });
  });

  it.each(["answered", "zork", "", null, undefined])("%s has none", (status) => {
    const { turn } = turnWith(status);
    expect(statusNote(turn.status, ENGLISH)).toBeNull();
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
