/**
 * Decides what each frame of the stream means: frame in, step and outgoing frames out. Does no I/O, reads no clock.
 *
 * One object follows a session over any number of connections: `after` is always the last seq seen, a query that is not
 * over is repeated with the same id, and what was seen is dropped. Facts: docs/wire.md, "Message" and "Websocket".
 */
import { ProtocolError, type ServiceError, serviceError, TooLargeError } from "./errors.js";
import { endsTurn, type Message, MessageType, newMessage, ROOT_ID } from "./messages.js";
import { parseObject, readMessage, ShapeError } from "./shapes.js";

/** docs/wire.md, "Limits": max_message_bytes. */
export const MAX_SENT_BYTES = 1_048_576;
const BAD_FRAME_SHOWN = 200; // characters

export type Step =
  /** A message of the session that is new, whoever's it is; they come in the order of seq. */
  | { kind: "message"; message: Message }
  /** Seen before, or nothing that this client asked. */
  | { kind: "ignore" }
  /** Leave this connection and come back with `after`: what it sends cannot be gone on from. */
  | { kind: "come_back"; reason: string }
  /** The service did not take the query; the stream goes on. */
  | { kind: "refused"; error: ServiceError }
  /** The session cannot be followed any further. */
  | { kind: "fail"; error: ProtocolError };

const IGNORE: Step = { kind: "ignore" };

interface Asked {
  query: Message;
  frame: string;
  turn: string;
  isEchoed: boolean;
  isHeld: boolean;
}

/** A session's stream from `after` on, and the query that is asked on it. */
export class StreamProtocol {
  #after: number;
  #asked: Asked | null = null;
  #earlier: string | null = null;
  #earlierHasEnded = false;
  readonly #cancelled = new Set<string>();
  readonly #ownIds = new Set<string>(); // of cancels and answers: what refuses them ends nothing
  readonly #answers = new Map<string, string>(); // sent, and not seen in the history yet
  #outbox: string[] = [];

  constructor(after: number) {
    this.#after = after;
  }

  /** The last seq seen. */
  get after(): number {
    return this.#after;
  }

  /** What the query that is asked waits for, or null where none is asked or its turn is over. */
  get waitsFor(): "echo" | "turn" | null {
    if (this.#asked === null) return null;
    return this.#asked.isEchoed || this.#asked.isHeld ? "turn" : "echo";
  }

  /**
   * Ask; the frame is in `outgoing`. One at a time: the query before is over, or was abandoned.
   *
   * `earlier` is a turn of this client whose end was not read: where the service still holds it as running, the query
   * waits for its end instead of being refused. Throws TooLargeError where the query does not fit a frame.
   */
  ask(query: Message, earlier: string | null = null): void {
    this.#asked = { query, frame: encodeQuery(query), turn: query.turn, isEchoed: false, isHeld: false };
    if (earlier !== null) this.#setEarlier(earlier);
    this.#outbox.push(this.#asked.frame);
  }

  /** The caller does not want the query any more: it is cancelled and never repeated. */
  abandon(): void {
    if (this.#asked === null) return;
    const { frame, turn } = this.#asked;
    this.#outbox = this.#outbox.filter((waiting) => waiting !== frame);
    this.#asked = null;
    this.#setEarlier(turn);
    this.cancel(turn);
  }

  /** Ask the service to end a turn, again on every connection until it has ended; the frame is in `outgoing`. */
  cancel(turn: string): void {
    this.#cancelled.add(turn);
    this.#outbox.push(this.#cancelFrame(turn));
  }

  /** Answer what a message asks; the frame is in `outgoing`, again on every connection until the history has it. */
  answer(answer: Message): void {
    const frame = JSON.stringify(answer);
    this.#ownIds.add(answer.id);
    this.#answers.set(answer.id, frame);
    this.#outbox.push(frame);
  }

  /** A connection that was opened with `after` is ready: what is not over goes out (again). */
  connected(): void {
    this.#outbox = [...this.#cancelled].map((turn) => this.#cancelFrame(turn));
    if (this.#asked !== null) {
      this.#asked.isHeld = false;
      this.#outbox.push(this.#asked.frame);
    }
    this.#outbox.push(...this.#answers.values());
  }

  /** The frames to send now, each given out once. */
  outgoing(): string[] {
    const frames = this.#outbox;
    this.#outbox = [];
    return frames;
  }

  /** What one frame means. */
  receive(frame: string): Step {
    let message: Message;
    try {
      message = readMessage(parseObject(frame));
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error;
      const shown = JSON.stringify(frame.slice(0, BAD_FRAME_SHOWN));
      return fail(`malformed message on the stream (${error.message}): ${shown}`);
    }
    if (message.seq === 0) return this.#refused(message);
    if (message.seq <= this.#after) return this.#seenBefore(message);
    if (message.seq > this.#after + 1) {
      return { kind: "come_back", reason: `message ${this.#after + 1} is missing before ${message.seq}` };
    }
    if (this.#isOfUnseenQuery(message)) {
      return fail(
        `message ${message.seq} answers a question that never came: the stream was opened beyond what the session had. ` +
          "Open it after the last seq of history().",
      );
    }
    this.#after = message.seq;
    this.#note(message);
    return { kind: "message", message };
  }

  #note(message: Message): void {
    const asked = this.#asked;
    this.#answers.delete(message.id);
    if (message.message_type === MessageType.QUERY && this.#cancelled.has(message.turn)) {
      this.#outbox.push(this.#cancelFrame(message.turn)); // it came to the service after the cancel
    }
    if (asked !== null && message.id === asked.query.id) {
      asked.isEchoed = true;
      asked.turn = message.turn; // the client's own is kept only where it is unused
      return;
    }
    if (!endsTurn(message)) return;
    this.#cancelled.delete(message.turn);
    if (asked !== null && message.turn === asked.turn) this.#asked = null;
    else this.#otherTurnEnded(message.turn);
  }

  #isOfUnseenQuery(message: Message): boolean {
    const asked = this.#asked;
    return asked !== null && !asked.isEchoed && message.turn === asked.turn && message.id !== asked.query.id;
  }

  #seenBefore(message: Message): Step {
    if (this.#asked === null || message.id !== this.#asked.query.id || this.#asked.isEchoed) return IGNORE;
    return fail(
      `the session went back to message ${message.seq} after message ${this.#after}: the service was restored to an ` +
        "older state. Resume the session to continue from there.",
    );
  }

  /** An error with seq 0: the service did not take what this connection sent. */
  #refused(message: Message): Step {
    const asked = this.#asked;
    this.#answers.delete(message.parent_id);
    if (message.message_type !== MessageType.ERROR || this.#ownIds.has(message.parent_id)) return IGNORE;
    if (message.status_code === 503) return { kind: "come_back", reason: "the service is stopping" };
    if (asked === null) return IGNORE;
    const isAddressed = message.parent_id !== ROOT_ID || message.turn !== "";
    if (isAddressed && message.parent_id !== asked.query.id && message.turn !== asked.turn) return IGNORE;
    if (message.status_code === 409 && this.#earlier !== null) return this.#waitForEarlier(asked);
    this.#asked = null;
    const text = message.content || message.status_message;
    return { kind: "refused", error: serviceError(message.status_message, text, { status: message.status_code }) };
  }

  /** The turn in progress is the one that this client left: ask again when it has ended. */
  #waitForEarlier(asked: Asked): Step {
    if (this.#earlierHasEnded) {
      this.#earlier = null;
      this.#outbox.push(asked.frame);
    } else {
      asked.isHeld = true;
    }
    return IGNORE;
  }

  #otherTurnEnded(turn: string): void {
    if (turn === this.#earlier) this.#earlierHasEnded = true;
    if (this.#asked === null || !this.#asked.isHeld) return;
    this.#asked.isHeld = false;
    if (this.#earlierHasEnded) this.#earlier = null;
    this.#outbox.push(this.#asked.frame);
  }

  #setEarlier(turn: string): void {
    this.#earlier = turn;
    this.#earlierHasEnded = false;
  }

  #cancelFrame(turn: string): string {
    const message = newMessage({ message_type: MessageType.CANCEL, turn });
    this.#ownIds.add(message.id);
    return JSON.stringify(message);
  }
}

/** The frame that carries the query. Throws TooLargeError where it does not fit. */
export function encodeQuery(query: Message): string {
  const frame = JSON.stringify(query);
  const bytes = new TextEncoder().encode(frame).length;
  if (bytes <= MAX_SENT_BYTES) return frame;
  throw new TooLargeError(
    `the question is ${bytes.toLocaleString("en-US")} bytes on the wire; ` +
      `the service takes ${MAX_SENT_BYTES.toLocaleString("en-US")}. Attach the long part as a file and ask about it.`,
  );
}

function fail(message: string): Step {
  return { kind: "fail", error: new ProtocolError(message) };
}
