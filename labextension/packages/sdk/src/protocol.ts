/**
 * Decides what each frame of the stream means: frame in, step and outgoing frames out. Does no I/O, reads no clock.
 *
 * One object follows a session over any number of connections: `after` is always the last seq seen, an unfinished query
 * is repeated with the same ID, and messages seen before are dropped. Source: docs/wire.md, "Message" and "Websocket".
 */
import { utf8 } from "./content.js";
import { ProtocolError, type ServiceError, serviceError, TooLargeError } from "./errors.js";
import { endsTurn, type Message, MessageType, newMessage, ROOT_ID } from "./messages.js";
import { parseObject, readMessage, ShapeError } from "./shapes.js";

/** Largest frame that the service accepts (docs/wire.md, "Limits"). */
export const MAX_SENT_BYTES = 1_048_576;
const BAD_FRAME_SHOWN = 200; // characters

export type Step =
  /** A new message of the session, from any client, in order of seq. */
  | { kind: "message"; message: Message }
  /** A message that was seen before: the history is read again from its beginning. */
  | { kind: "again"; message: Message }
  /** Seen before, or not meant for this client. */
  | { kind: "ignore" }
  /** Close this connection and reconnect with `after`: it skipped messages, or the service is stopping. */
  | { kind: "come_back"; reason: string }
  /** The service has fewer messages than were seen: reconnect as for `come_back`, and count them from the first again. */
  | { kind: "lost"; reason: string }
  /** The service refused the query; the stream continues. */
  | { kind: "refused"; error: ServiceError }
  /** The stream cannot continue. */
  | { kind: "fail"; error: ProtocolError };

const IGNORE: Step = { kind: "ignore" };

interface PendingQuery {
  query: Message;
  frame: string;
  turn: string;
  isEchoed: boolean;
  isHeld: boolean;
}

/** A session's stream after seq `after`, and the query sent on it. */
export class StreamProtocol {
  #after: number;
  #pending: PendingQuery | null = null;
  #earlier: string | null = null;
  #earlierHasEnded = false;
  readonly #cancelled = new Set<string>();
  readonly #ownIds = new Set<string>(); // of cancels and answers: refusing those does not end the query
  readonly #answers = new Map<string, string>(); // sent, but not yet seen in the history
  readonly #seen: Set<string>; // the ids of messages
  #outbox: string[] = [];

  /** `seen` has the ids of the messages that were seen before. */
  constructor(after: number, seen: Iterable<string> = []) {
    this.#after = after;
    this.#seen = new Set(seen);
  }

  /** The last seq seen. */
  get after(): number {
    return this.#after;
  }

  /** What the current query waits for; null if there is none or its turn has ended. */
  get waitsFor(): "echo" | "turn" | null {
    if (this.#pending === null) return null;
    return this.#pending.isEchoed || this.#pending.isHeld ? "turn" : "echo";
  }

  /**
   * Send a query; `outgoing` has the frame. One at a time: the previous query has ended or was abandoned.
   *
   * `earlier` is a turn of this client whose end was not read: if it is still running on the service, the query waits
   * for its end instead of being refused. Throws TooLargeError if the query does not fit into a frame.
   */
  ask(query: Message, earlier: string | null = null): void {
    this.#pending = { query, frame: encodeQuery(query), turn: query.turn, isEchoed: false, isHeld: false };
    if (earlier !== null) this.#setEarlier(earlier);
    this.#outbox.push(this.#pending.frame);
  }

  /** Drop the query: it is cancelled on the service and not repeated. */
  abandon(): void {
    if (this.#pending === null) return;
    const { frame, turn } = this.#pending;
    this.#outbox = this.#outbox.filter((waiting) => waiting !== frame);
    this.#pending = null;
    this.#setEarlier(turn);
    this.cancel(turn);
  }

  /** Cancel a turn, again on every connection until it has ended; `outgoing` has the frame. */
  cancel(turn: string): void {
    this.#cancelled.add(turn);
    this.#outbox.push(this.#cancelFrame(turn));
  }

  /** Send an answer to a message, again on every connection until the history has it; `outgoing` has the frame. */
  answer(answer: Message): void {
    const frame = JSON.stringify(answer);
    this.#ownIds.add(answer.id);
    this.#answers.set(answer.id, frame);
    this.#outbox.push(frame);
  }

  /** A connection opened with `after` is ready: unfinished frames are sent (again). */
  connected(): void {
    this.#outbox = [...this.#cancelled].map((turn) => this.#cancelFrame(turn));
    if (this.#pending !== null) {
      this.#pending.isHeld = false;
      this.#outbox.push(this.#pending.frame);
    }
    this.#outbox.push(...this.#answers.values());
  }

  /** The frames to send now; each is returned once. */
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
        `message ${message.seq} belongs to a question that was not received: the stream was opened past the session's end. ` +
          "Open it after the last seq of history().",
      );
    }
    this.#after = message.seq;
    this.#note(message);
    const kind = this.#seen.has(message.id) ? "again" : "message";
    this.#seen.add(message.id);
    return { kind, message };
  }

  /** The service has fewer messages than were seen: read them all on a new connection. */
  loseHistory(): Step {
    if (this.#after === 0) return fail("history_lost on a stream that begins at message 1");
    this.#after = 0;
    if (this.#pending !== null) {
      this.#pending.isEchoed = false;
      this.#pending.turn = this.#pending.query.turn;
    }
    return { kind: "lost", reason: "its history was lost" };
  }

  #note(message: Message): void {
    const pending = this.#pending;
    this.#answers.delete(message.id);
    if (message.message_type === MessageType.QUERY && this.#cancelled.has(message.turn)) {
      this.#outbox.push(this.#cancelFrame(message.turn)); // the service received it after the cancel
    }
    if (pending !== null && message.id === pending.query.id) {
      pending.isEchoed = true;
      pending.turn = message.turn; // the service renames a turn whose ID is taken
      return;
    }
    if (!endsTurn(message)) return;
    this.#cancelled.delete(message.turn);
    if (pending !== null && message.turn === pending.turn) this.#pending = null;
    else this.#otherTurnEnded(message.turn);
  }

  #isOfUnseenQuery(message: Message): boolean {
    const pending = this.#pending;
    return pending !== null && !pending.isEchoed && message.turn === pending.turn && message.id !== pending.query.id;
  }

  #seenBefore(message: Message): Step {
    if (this.#pending === null || message.id !== this.#pending.query.id || this.#pending.isEchoed) return IGNORE;
    return fail(
      `the session went back to message ${message.seq} after message ${this.#after}: the service was restored to an ` +
        "older state. Resume the session to continue from there.",
    );
  }

  /** An error with seq 0: the service refused a frame of this connection. */
  #refused(message: Message): Step {
    const pending = this.#pending;
    this.#answers.delete(message.parent_id);
    if (message.message_type !== MessageType.ERROR || this.#ownIds.has(message.parent_id)) return IGNORE;
    if (message.status_message === "history_lost") return this.loseHistory();
    if (message.status_code === 503) return { kind: "come_back", reason: "the service is stopping" };
    if (pending === null) return IGNORE;
    const isAddressed = message.parent_id !== ROOT_ID || message.turn !== "";
    if (isAddressed && message.parent_id !== pending.query.id && message.turn !== pending.turn) return IGNORE;
    if (message.status_code === 409 && this.#earlier !== null) return this.#waitForEarlier(pending);
    this.#pending = null;
    const text = message.content || message.status_message;
    const details = { status: message.status_code, retryAfter: message.retry_after ?? null };
    return { kind: "refused", error: serviceError(message.status_message, text, details) };
  }

  /** The turn in progress is an abandoned one of this client: send the query again when it has ended. */
  #waitForEarlier(pending: PendingQuery): Step {
    if (this.#earlierHasEnded) {
      this.#earlier = null;
      this.#outbox.push(pending.frame);
    } else {
      pending.isHeld = true;
    }
    return IGNORE;
  }

  #otherTurnEnded(turn: string): void {
    if (turn === this.#earlier) this.#earlierHasEnded = true;
    if (this.#pending === null || !this.#pending.isHeld) return;
    this.#pending.isHeld = false;
    if (this.#earlierHasEnded) this.#earlier = null;
    this.#outbox.push(this.#pending.frame);
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

/** Encode the query as a frame. Throws TooLargeError if it does not fit. */
export function encodeQuery(query: Message): string {
  const frame = JSON.stringify(query);
  const bytes = utf8(frame).length;
  if (bytes <= MAX_SENT_BYTES) return frame;
  throw new TooLargeError(
    `the question is ${bytes.toLocaleString("en-US")} bytes on the wire; ` +
      `the limit is ${MAX_SENT_BYTES.toLocaleString("en-US")}. Attach the long part as a file and ask about it.`,
  );
}

function fail(message: string): Step {
  return { kind: "fail", error: new ProtocolError(message) };
}
