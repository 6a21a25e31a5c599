/**
 * Updates a session's properties from its messages. Pure; counts as the service does (docs/wire.md, "Session").
 *
 * Changes that no message reports (a file that the service adds, another client's update) come with the next reload.
 */
import { endsTurn, type Message, MessageType, NO_USAGE, type Session, State, type Usage } from "./messages.js";

/** The session after `message`; unchanged if it already counts that message, or if there is a gap before it. */
export function withMessage(session: Session, message: Message): Session {
  if (message.seq !== session.num_messages + 1) return session;
  const isQuery = message.message_type === MessageType.QUERY;
  return {
    ...session,
    num_messages: message.seq,
    turns: session.turns + (isQuery ? 1 : 0),
    update_time: Math.max(session.update_time, message.timestamp),
    usage: message.usage === null ? session.usage : sum(session.usage, message.usage),
    state: isQuery ? State.RUNNING_AGENT : endsTurn(message) ? State.AGENT_DONE : session.state,
  };
}

/** The session without its messages, which may be many megabytes. */
export function withoutMessages(session: Session): Session {
  return { ...session, messages: [] };
}

/** The session before its first message, from which `withMessage` counts when the history is read again. */
export function withoutHistory(session: Session): Session {
  return { ...session, num_messages: 0, turns: 0, usage: NO_USAGE, state: State.START };
}

/** The turn that is still running after these messages, or null. */
export function runningTurn(messages: readonly Message[]): string | null {
  const query = messages.findLast((message) => message.message_type === MessageType.QUERY);
  if (query === undefined) return null;
  return messages.some((message) => message.turn === query.turn && endsTurn(message)) ? null : query.turn;
}

function sum(a: Usage, b: Usage): Usage {
  return {
    prompt_tokens: a.prompt_tokens + b.prompt_tokens,
    generated_tokens: a.generated_tokens + b.generated_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
    cached_token_count: a.cached_token_count + b.cached_token_count,
    thoughts_token_count: a.thoughts_token_count + b.thoughts_token_count,
    tool_use_prompt_token_count: a.tool_use_prompt_token_count + b.tool_use_prompt_token_count,
  };
}
