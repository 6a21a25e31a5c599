import { nullTranslator } from "@jupyterlab/translation";
import type { ChatMessage, ChatSession } from "@svc-jupyter/chat";
import { expect, test, vi } from "vitest";
import { Activity } from "../src/activity.js";
import { notificationOf } from "../src/notices.js";
import { statusText } from "../src/status-text.js";

const SESSION: ChatSession = {
  ...{ id: "s1", name: "Ticket 4711", description: "", expire_time: 10_000, ttl: 86_400, can_log: true, files: [] },
};
const WORDS = {
  idle: "idle",
  asking: "asking",
  waiting: "waiting",
  left: "{} left",
  expired: "expired",
  none: "none yet",
};

const ASKED = { status: "", question: "what?" };

function message(kind: string, change: Partial<ChatMessage> = {}): ChatMessage {
  return {
    ...{ id: "m", parent_id: "", turn: "t1", group: "", seq: 1, actor: "", created_at: 100, message_type: kind },
    ...{ state: "start", content: "what?", mime_type: "text/plain", status_code: 200, status_message: "OK" },
    ...change,
  };
}

function activity() {
  const ended = vi.fn();
  return { ended, kept: new Activity(() => undefined, ended) };
}

test("a turn lasts from its question to its last message, and reports its duration", () => {
  const { kept, ended } = activity();
  kept.message(message("query"));
  expect(kept.state).toBe("asking");
  kept.message(message("info", { created_at: 120 }));
  kept.message(message("info", { created_at: 145, state: "end" }));
  expect(kept.state).toBe("idle");
  expect(ended).toHaveBeenCalledExactlyOnceWith({ turn: "t1", seconds: 45, isAnswered: true, ...ASKED });
});

test("a turn ends with the status of its answer", () => {
  const { kept, ended } = activity();
  kept.message(message("query"));
  kept.message(message("result", { answer_status: "not_examined" }));
  kept.message(message("info", { created_at: 101, state: "end" }));
  expect(ended).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ isAnswered: true, status: "not_examined" }));
});

test.each([
  [true, "", "Answered after 45 s: what?", true],
  [true, "answered", "Answered after 45 s: what?", true],
  [true, "partly_answered", "Partly answered after 45 s: what?", true],
  [true, "not_answered", "Not answered, after 45 s: what?", false],
  [true, "not_examined", "Not examined, after 45 s: what?", false],
  [false, "", "No answer after 45 s: what?", false],
])("the notification of a turn (answered: %s, status: %j) says so", (isAnswered, status, text, isGood) => {
  const summary = { turn: "t1", seconds: 45, isAnswered, status, question: "what?" };
  expect(notificationOf(summary, "45 s", "what?", nullTranslator.load("svc"))).toEqual({ text, isGood });
});

test("an error ends a turn, too, without an answer", () => {
  const { kept, ended } = activity();
  kept.message(message("query"));
  kept.message(message("error", { created_at: 101, state: "end" }));
  expect(ended).toHaveBeenCalledExactlyOnceWith({ turn: "t1", seconds: 1, isAnswered: false, ...ASKED });
});

test("the end of a turn that started earlier is not reported", () => {
  const { kept, ended } = activity();
  kept.busy(true);
  kept.message(message("info", { state: "end" }));
  kept.busy(false);
  expect(kept.state).toBe("idle");
  expect(ended).not.toHaveBeenCalled();
});

test("a waiting question is shown as waiting, even while a turn runs", () => {
  const { kept } = activity();
  kept.message(message("query"));
  kept.waiting("In [3]");
  expect(kept.state).toBe("waiting");
  kept.waiting(null);
  expect(kept.state).toBe("asking");
});

test.each([
  [9_000, "Ticket 4711 · 16 min left · svc-1.1 · idle"],
  [10_001, "Ticket 4711 · expired · svc-1.1 · idle"],
])("at second %i the status is %s", (now, text) => {
  const { kept } = activity();
  kept.session(SESSION, "svc-1.1");
  expect(statusText(kept, now, WORDS)).toBe(text);
});

test("a session's name is cut to one short line", () => {
  const { kept } = activity();
  kept.session({ ...SESSION, name: "a\nname that goes on and on and on", expire_time: 0 }, "svc-1.1");
  expect(statusText(kept, 0, WORDS)).toBe("a name that goes on and… · svc-1.1 · idle");
});

test("the status says if there is no session", () => {
  expect(statusText(activity().kept, 0, WORDS)).toBe("none yet · idle");
});
