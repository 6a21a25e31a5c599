/**
 * What a session is after one more of its messages. Pure; counts as the service does (docs/wire.md, "Session").
 *
 * What messages do not tell (a file that the service adds, another client's update) comes with the next whole reading.
 */
import { endsTurn, type Message, MessageType, type Session, State, type Usage } from "./messages.js";

/** The session after `message`; the same where its count holds that message already, or has a gap before it. */
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

/** The session as it is held for long: its messages may be many megabytes. */
export function withoutMessages(session: Session): Session {
  return { ...session, messages: [] };
}

/** The turn that the last of these messages leaves running, or null. */
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
