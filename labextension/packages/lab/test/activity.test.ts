import type { ChatMessage, ChatSession } from "svc-chat";
import { expect, test, vi } from "vitest";
import { Activity } from "../src/activity.js";
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
  expect(ended).toHaveBeenCalledExactlyOnceWith({ turn: "t1", seconds: 45, isAnswered: true, question: "what?" });
});

test("an error ends a turn, too, without an answer", () => {
  const { kept, ended } = activity();
  kept.message(message("query"));
  kept.message(message("error", { created_at: 101, state: "end" }));
  expect(ended).toHaveBeenCalledExactlyOnceWith({ turn: "t1", seconds: 1, isAnswered: false, question: "what?" });
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
