/**
 * A session's stream as users hold it: every message as it comes, and questions.
 *
 * Carries out what `protocol` and `retry` decide, over as many connections as it takes. Facts: docs/wire.md,
 * "Websocket".
 */
import { InvalidRequestError, type SvcError, UnreachableError } from "./errors.js";
import { endsTurn, type Message, MessageType, MimeType, newId, newMessage, State } from "./messages.js";
import type { Socket } from "./platform.js";
import { encodeQuery, StreamProtocol } from "./protocol.js";
import { CALL_LIMIT_SECONDS, LASTING_SECONDS, Patience, STREAM_LIMIT_SECONDS } from "./retry.js";
import { closedError, LostConnectionError, seconds, type Transport, type Waiting } from "./transport.js";
import { abortable, pause } from "./waiting.js";
import { wellFormed } from "./content.js";

/** For the service to say that it has the query, before the query is repeated on a new connection. */
const ECHO_SECONDS = 5;
/** Without a message of a running turn; a browser cannot ping, so it comes back to see whether the peer is there. */
const SILENCE_SECONDS = 45;
/** For the service to confirm a cancel. */
const CANCEL_SECONDS = 5;

/** What a streamer is doing. */
export type StreamState =
  | { kind: "connected" }
  | { kind: "reconnecting"; attempt: number; reason: string }
  /** `error` is null where the caller closed it; nothing more comes. */
  | { kind: "closed"; error: Error | null };

export interface StreamerOptions extends Waiting {
  /** The last seq that is known, where it is not the session's own; messages after it come first. */
  after?: number | undefined;
  /** Called at every change. */
  onstate?: ((state: StreamState) => void) | undefined;
}

/** What a streamer needs of its session. */
export interface StreamedSession {
  readonly sessionId: string;
  readonly transport: Transport;
  /** The turn that was asked last and whose end nobody read, or null. */
  ownTurn: string | null;
}

interface Sending {
  query: Message;
  turn: string;
  isConfirmed: boolean;
  resolve: (echo: Message) => void;
  reject: (error: Error) => void;
}

interface Cancelling {
  turn: string;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** An open stream of one session. Made by `session.streamer`; `close` ends it, a running turn goes on. */
export class Streamer {
  readonly #session: StreamedSession;
  readonly #onmessage: (message: Message) => void;
  readonly #onstate: (state: StreamState) => void;
  readonly #protocol: StreamProtocol;
  readonly #closing = new AbortController();
  readonly #queue: Sending[] = [];
  readonly #ended = new Set<string>(); // turns
  readonly #cancelling = new Set<Cancelling>();
  #patience = new Patience(CALL_LIMIT_SECONDS); // of the first connection
  #attempts = 0;
  #sending: Sending | null = null;
  #socket: Socket | null = null;
  #openedAt = 0;
  #state: StreamState | null = null;
  #leave: (why: Error) => void = () => undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;

  private constructor(
    session: StreamedSession,
    after: number,
    onmessage: (message: Message) => void,
    options: StreamerOptions,
  ) {
    this.#session = session;
    this.#onmessage = onmessage;
    this.#onstate = options.onstate ?? ((): void => undefined);
    this.#protocol = new StreamProtocol(after);
  }

  /** Resolves when the service has opened the stream. Rejects with why it cannot be. */
  static async open(
    session: StreamedSession,
    after: number,
    onmessage: (message: Message) => void,
    options: StreamerOptions,
  ): Promise<Streamer> {
    const { signal } = options;
    const streamer = new Streamer(session, after, onmessage, options);
    await abortable<undefined>(signal, (resolve, reject) => {
      const opened = (): void => {
        resolve(undefined);
      };
      void streamer.#run(opened, reject);
      return () => undefined;
    }).catch((error: unknown) => {
      streamer.close();
      throw error;
    });
    signal?.addEventListener(
      "abort",
      () => {
        streamer.close();
      },
      { once: true, signal: streamer.#closing.signal },
    );
    return streamer;
  }

  /** What it is doing now. */
  get state(): StreamState {
    return this.#state ?? { kind: "connected" };
  }

  /** The seq of the last message that came. */
  get after(): number {
    return this.#protocol.after;
  }

  /**
   * Ask. Resolves with the question as the service keeps it, when it has it; what it answers comes to `onmessage`.
   *
   * Where the turn before has not ended yet, the question waits. Aborting before the service has confirmed cancels the
   * turn. Rejects with the typed ServiceError where the question is refused, with what closed the stream otherwise.
   */
  async send(prompt: string, { signal }: Waiting = {}): Promise<Message> {
    if (!prompt.trim()) {
      throw new InvalidRequestError("the question is empty. Write it out.", { param: "content" });
    }
    this.#throwIfClosed();
    const turn = newId();
    const content = wellFormed(prompt);
    const query = newMessage({ message_type: MessageType.QUERY, turn, state: State.QUERY, content });
    encodeQuery(query); // what cannot be sent need not wait its turn
    return abortable<Message>(signal, (resolve, reject) => {
      const sending = { query, turn, isConfirmed: false, resolve, reject };
      this.#queue.push(sending);
      this.#sendNext();
      return () => {
        this.#withdraw(sending);
      };
    });
  }

  /** End a turn on the service; resolves when it has ended. Rejects with UnreachableError after five seconds. */
  async cancelTurn(turn: string, { signal }: Waiting = {}): Promise<void> {
    this.#throwIfClosed();
    if (this.#ended.has(turn)) return;
    const base = this.#session.transport.config.baseUrl;
    await abortable<undefined>(signal, (resolve, reject) => {
      const timer = setTimeout(() => {
        reject(
          new UnreachableError(
            `${base} did not confirm within ${CANCEL_SECONDS} s that the turn is cancelled. ` +
              "It may end a little later; `history()` shows how.",
          ),
        );
      }, CANCEL_SECONDS * 1000);
      const cancelling: Cancelling = {
        turn,
        resolve: () => {
          resolve(undefined);
        },
        reject,
      };
      this.#cancelling.add(cancelling);
      this.#protocol.cancel(turn);
      this.#flush();
      return () => {
        clearTimeout(timer);
        this.#cancelling.delete(cancelling);
      };
    });
  }

  /** Say whether the model may call the tool that a `confirmation_request` names: in this session, or this once. */
  confirm({ id, turn }: { id: string; turn?: string }, isAllowed: boolean, isOnce = false): void {
    this.#throwIfClosed();
    const content = JSON.stringify({ is_allowed: isAllowed, is_once: isOnce });
    const kind = MessageType.CONFIRMATION_RESPONSE;
    this.#protocol.answer(
      newMessage({ message_type: kind, parent_id: id, turn: turn ?? "", content, mime_type: MimeType.JSON }),
    );
    this.#flush();
  }

  /** Nothing more comes. What was sent is answered all the same: `history` has it, or the session's next streamer. */
  close(): void {
    this.#end(null);
  }

  async #run(opened: () => void, failed: (error: Error) => void): Promise<void> {
    const { signal } = this.#closing;
    try {
      for (;;) {
        const lost = await this.#connect(opened);
        await this.#comeBackAfter(lost);
        signal.throwIfAborted();
      }
    } catch (error) {
      if (signal.aborted) return;
      failed(error as Error);
      this.#end(error as Error);
    }
  }

  /** One connection, from its opening to its loss, which it resolves with. Rejects with what ends the stream. */
  async #connect(opened: () => void): Promise<LostConnectionError> {
    const { transport, sessionId } = this.#session;
    const { signal } = this.#closing;
    try {
      return await abortable<LostConnectionError>(signal, (resolve, reject) => {
        const leave = (this.#leave = (why): void => {
          if (why instanceof LostConnectionError) resolve(why);
          else reject(why);
        });
        const onclose = (code: number, reason: string): void => {
          leave(closedError(code, reason, transport.config.wsUrl));
        };
        const onframe = (frame: string): void => {
          this.#receive(frame);
        };
        transport.openStream(sessionId, this.#protocol.after, { onframe, onclose }, signal).then((socket) => {
          this.#opened(socket);
          opened();
        }, leave);
        return () => undefined;
      });
    } finally {
      this.#leave = (): void => undefined;
      this.#drop();
    }
  }

  #opened(socket: Socket): void {
    this.#socket = socket;
    this.#openedAt = seconds();
    if (this.#state === null) this.#patience = new Patience(STREAM_LIMIT_SECONDS);
    this.#protocol.connected();
    this.#flush();
    this.#setState({ kind: "connected" });
  }

  async #comeBackAfter(lost: LostConnectionError): Promise<void> {
    const { refusal } = lost;
    this.#attempts += 1;
    const delay = this.#patience.nextDelay(seconds(), Math.random(), refusal?.retryAfter);
    if (delay === null) {
      if (refusal !== null) throw refusal;
      throw new UnreachableError(
        `${lost.message} Tried for ${this.#patience.limitSeconds} s. A question may still be answered: ` +
          `resumeSession("${this.#session.sessionId}") and its history() show it once the service is back.`,
      );
    }
    if (this.#state !== null) {
      this.#setState({ kind: "reconnecting", attempt: this.#attempts, reason: lost.message });
    }
    await pause(delay, this.#closing.signal);
  }

  #receive(frame: string): void {
    const step = this.#protocol.receive(frame);
    switch (step.kind) {
      case "message":
        this.#progressed();
        this.#deliver(step.message);
        break;
      case "come_back":
        this.#leave(new LostConnectionError(`${this.#session.transport.config.wsUrl}: ${step.reason}.`));
        return;
      case "refused":
        this.#refused(step.error);
        break;
      case "fail":
        this.#leave(step.error);
        return;
      case "ignore":
        break;
    }
    this.#flush();
    this.#sendNext();
  }

  #deliver(message: Message): void {
    const sending = this.#sending;
    if (sending !== null && message.id === sending.query.id) {
      this.#session.ownTurn = sending.turn = message.turn;
      sending.isConfirmed = true;
      sending.resolve(message);
    }
    if (endsTurn(message)) {
      if (message.turn === sending?.turn) this.#sending = null;
      if (message.turn === this.#session.ownTurn) this.#session.ownTurn = null;
      this.#ended.add(message.turn);
      for (const { turn, resolve } of this.#cancelling) if (turn === message.turn) resolve();
    }
    this.#onmessage(message);
  }

  #refused(error: SvcError): void {
    const sending = this.#sending;
    if (sending === null) return;
    this.#sending = null;
    if (this.#session.ownTurn === sending.turn) this.#session.ownTurn = null;
    sending.isConfirmed = true; // there is nothing to withdraw any more
    sending.reject(error);
  }

  /** The next question goes out when the turn before is over. */
  #sendNext(): void {
    if (this.#sending !== null || this.#protocol.waitsFor !== null) return;
    const sending = this.#queue.shift();
    if (sending === undefined) return;
    this.#sending = sending;
    this.#protocol.ask(sending.query, this.#session.ownTurn);
    this.#session.ownTurn = sending.turn;
    this.#flush();
  }

  #withdraw(sending: Sending): void {
    const place = this.#queue.indexOf(sending);
    if (place >= 0) this.#queue.splice(place, 1);
    if (this.#sending !== sending || sending.isConfirmed) return;
    this.#sending = null;
    this.#protocol.abandon();
    this.#flush();
    this.#sendNext();
  }

  #flush(): void {
    this.#watch();
    if (this.#socket === null) return; // a connection that opens sends it all
    for (const frame of this.#protocol.outgoing()) this.#socket.send(frame);
  }

  /** A turn that is awaited on a silent connection is looked for on a new one. */
  #watch(): void {
    clearTimeout(this.#silence);
    const { waitsFor } = this.#protocol;
    if (waitsFor === null || this.#socket === null) return;
    const limit = waitsFor === "echo" ? ECHO_SECONDS : SILENCE_SECONDS;
    this.#silence = setTimeout(() => {
      this.#leave(new LostConnectionError(`${this.#session.transport.config.wsUrl} was silent for ${limit} s.`));
    }, limit * 1000);
  }

  #progressed(): void {
    this.#patience.progressed();
    this.#attempts = 0;
  }

  #drop(): void {
    clearTimeout(this.#silence);
    if (this.#socket !== null && seconds() - this.#openedAt > LASTING_SECONDS) this.#progressed();
    this.#socket?.close();
    this.#socket = null;
  }

  #setState(state: StreamState): void {
    this.#state = state;
    this.#onstate(state);
  }

  #end(error: Error | null): void {
    if (this.#state?.kind === "closed") return;
    const wasOpen = this.#state !== null;
    this.#state = { kind: "closed", error };
    this.#closing.abort(new DOMException("the streamer was closed", "AbortError"));
    this.#drop();
    const reason = error ?? (this.#closing.signal.reason as Error);
    for (const sending of [this.#sending, ...this.#queue.splice(0)]) {
      if (sending !== null && !sending.isConfirmed) {
        sending.isConfirmed = true;
        sending.reject(reason);
      }
    }
    for (const { reject } of this.#cancelling) reject(reason);
    if (wasOpen) this.#onstate(this.#state);
  }

  #throwIfClosed(): void {
    if (this.#state?.kind !== "closed") return;
    if (this.#state.error !== null) throw this.#state.error;
    throw new InvalidRequestError("the streamer is closed. session.streamer(...) opens another.");
  }
}
