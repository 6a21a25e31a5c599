/** A streamer whose messages the test can await. */
import type { InteractiveSession } from "../src/session.js";
import type { Message, StreamerOptions, Streamer, StreamState } from "../src/index.js";
import { endsTurn, MessageType } from "../src/index.js";

export interface Followed {
  streamer: Streamer;
  messages: Message[];
  results: Message[];
  states: StreamState[];
  /** Resolves with the first message, past or future, that matches. */
  until: (matches: (message: Message) => boolean) => Promise<Message>;
  /** Resolves when this number of turns have ended. */
  ended: (turns: number) => Promise<void>;
}

export async function follow(session: InteractiveSession, options: StreamerOptions = {}): Promise<Followed> {
  const messages: Message[] = [];
  const results: Message[] = [];
  const states: StreamState[] = [];
  let waiting: (() => void)[] = [];
  const until: Followed["until"] = async (matches) => {
    for (;;) {
      const found = messages.find(matches);
      if (found) return found;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  const streamer = await session.streamer(
    (message) => {
      messages.push(message);
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
    (result) => {
      results.push(result);
    },
    {
      ...options,
      onstate: (state) => {
        states.push(state);
      },
    },
  );
  const ended = async (turns: number): Promise<void> => {
    await until(() => messages.filter(endsTurn).length >= turns);
  };
  return { streamer, messages, results, states, until, ended };
}

/** The contents of a turn, without its question and its final message. */
export function said(messages: Message[], turn?: string): (string | null)[] {
  return messages
    .filter((message) => turn === undefined || message.turn === turn)
    .filter((message) => message.message_type !== MessageType.QUERY && !endsTurn(message))
    .map((message) => message.content);
}
