// Builds messages as the service sends them.
import type { ChatMessage } from "../src/transport.js";

export function message(seq: number, type: string, fields: Partial<ChatMessage> = {}): ChatMessage {
  return {
    id: `m${seq}`,
    parent_id: "3713",
    turn: "t1",
    group: "g1",
    seq,
    actor: type === "query" ? "user" : "analyst",
    created_at: 1_790_000_000 + seq,
    message_type: type,
    title: null,
    state: "undefined",
    content: "",
    mime_type: "text/plain",
    status_code: 200,
    status_message: "OK",
    ...fields,
  };
}

/** A complete turn: query, INFO, RESULT and the final INFO; its seqs follow `after`. */
export function turn(after: number, question: string, answer: string, name = `t${after}`): ChatMessage[] {
  const one = (seq: number, type: string, content: string, state = "undefined") =>
    message(after + seq, type, { turn: name, content, state });
  return [
    one(1, "query", question),
    one(2, "info", "reading"),
    one(3, "result", answer),
    one(4, "info", "Answered after 0.1 s.", "end"),
  ];
}
