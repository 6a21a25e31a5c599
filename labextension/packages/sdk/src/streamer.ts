/**
 * A session's stream: receives every message and sends questions.
 *
 * Does the I/O that `protocol` and `retry` decide on, over any number of connections. Source: docs/wire.md, "Websocket".
 */
import { InvalidRequestError, type SvcError, UnreachableError } from "./errors.js";
import {
  endsTurn,
  type Message,
  MessageType,
  MimeType,
  newId,
  newMessage,
  type SessionFile,
  State,
} from "./messages.js";
import type { Socket } from "./platform.js";
import { encodeQuery, StreamProtocol } from "./protocol.js";
import { CALL_LIMIT_SECONDS, LASTING_SECONDS, Backoff, STREAM_LIMIT_SECONDS } from "./retry.js";
import { closedError, LostConnectionError, seconds, type Transport, type AbortOptions } from "./transport.js";
import { abortable, pause } from "./waiting.js";
import { wellFormed } from "./content.js";

/** Time for the service to echo the query, before it is repeated on a new connection. */
const ECHO_SECONDS = 5;
/** Silence during a turn after which the stream reconnects: a browser cannot ping to check the connection. */
const SILENCE_SECONDS = 45;
/** Time for the service to confirm a cancel. */
const CANCEL_SECONDS = 5;

/** The state of a stream. */
export type StreamState =
  | { kind: "connected" }
  | { kind: "reconnecting"; attempt: number; reason: string }
  /** Final. `error` is null if the caller closed it. */
  | { kind: "closed"; error: Error | null };

export interface StreamerOptions extends AbortOptions {
  /** Start after this seq. Default: the last message that the session object knows. */
  after?: number | undefined;
  /** Called whenever the state changes. */
  onstate?: ((state: StreamState) => void) | undefined;
}

export interface SendOptions extends AbortOptions {
  /**
   * What the question is about: files of the session, by name or SHA-256. The answer uses nothing of its other files.
   * Default: it may use all, and means the latest.
   */
  files?: readonly (string | SessionFile)[] | undefined;
}

/** What a streamer needs from its session. */
export interface StreamContext {
  readonly sessionId: string;
  readonly transport: Transport;
  /** The last turn that this client started and whose end it has not read, or null. */
  ownTurn: string | null;
  /** The ids of the messages that were seen. */
  readonly seen: ReadonlySet<string>;
  /** The service has fewer messages than were seen; they come again, from the first. */
  readonly onlost: () => void;
}

interface QueuedPrompt {
  query: Message;
  turn: string;
  isConfirmed: boolean;
  resolve: () => void;
  reject: (error: Error) => void;
}

interface PendingCancel {
  turn: string;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** An open stream of one session, made by `session.streamer`. `close` ends it; a running turn continues. */
export class Streamer {
  readonly #session: StreamContext;
  readonly #onmessage: (message: Message, isNew: boolean) => void;
  readonly #onstate: (state: StreamState) => void;
  readonly #protocol: StreamProtocol;
  readonly #closing = new AbortController();
  readonly #queue: QueuedPrompt[] = [];
  readonly #ended = new Set<string>(); // turns
  readonly #cancels = new Set<PendingCancel>();
  #backoff = new Backoff(CALL_LIMIT_SECONDS); // of the first connection
  #attempts = 0;
  #current: QueuedPrompt | null = null;
  #socket: Socket | null = null;
  #openedAt = 0;
  #state: StreamState | null = null;
  #endConnection: (why: Error) => void = () => undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;

  private constructor(
    session: StreamContext,
    after: number,
    onmessage: (message: Message, isNew: boolean) => void,
    options: StreamerOptions,
  ) {
    this.#session = session;
    this.#onmessage = onmessage;
    this.#onstate = options.onstate ?? ((): void => undefined);
    this.#protocol = new StreamProtocol(after, session.seen);
  }

  /** Resolves when the service has opened the stream; rejects if it cannot be opened. */
  static async open(
    session: StreamContext,
    after: number,
    onmessage: (message: Message, isNew: boolean) => void,
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

  /** The current state. */
  get state(): StreamState {
    return this.#state ?? { kind: "connected" };
  }

  /** The seq of the last message received. */
  get after(): number {
    return this.#protocol.after;
  }

  /**
   * Ask a question. Resolves when the service has stored it; the stored question and the answer go to `onmessage`.
   *
   * If the previous turn has not ended yet, the question waits. Aborting before the service has confirmed cancels the
   * turn. Rejects with a ServiceError if the question is refused, or with the error that closed the stream.
   */
  async send(prompt: string, { signal, files = [] }: SendOptions = {}): Promise<void> {
    if (!prompt.trim()) {
      throw new InvalidRequestError("the question is empty. Write a question.", { param: "content" });
    }
    this.#throwIfClosed();
    const turn = newId();
    const content = wellFormed(prompt);
    const named = files.map((file) => (typeof file === "string" ? file : file.sha256));
    const about = named.length > 0 ? { files: named } : {};
    const query = newMessage({ message_type: MessageType.QUERY, turn, state: State.QUERY, content, ...about });
    encodeQuery(query); // throws at once if it is too large, rather than after waiting
    return abortable<undefined>(signal, (resolve, reject) => {
      const confirmed = (): void => {
        resolve(undefined);
      };
      const queued = { query, turn, isConfirmed: false, resolve: confirmed, reject };
      this.#queue.push(queued);
      this.#sendNext();
      return () => {
        this.#withdraw(queued);
      };
    });
  }

  /** Cancel a turn; resolves when it has ended. Rejects with UnreachableError after five seconds. */
  async cancelTurn(turn: string, { signal }: AbortOptions = {}): Promise<void> {
    this.#throwIfClosed();
    if (this.#ended.has(turn)) return;
    const base = this.#session.transport.config.baseUrl;
    await abortable<undefined>(signal, (resolve, reject) => {
      const timer = setTimeout(() => {
        reject(
          new UnreachableError(
            `${base} did not confirm the cancellation within ${CANCEL_SECONDS} s. ` +
              "The turn may still end soon; history() shows how it ended.",
          ),
        );
      }, CANCEL_SECONDS * 1000);
      const pending: PendingCancel = {
        turn,
        resolve: () => {
          resolve(undefined);
        },
        reject,
      };
      this.#cancels.add(pending);
      this.#protocol.cancel(turn);
      this.#flush();
      return () => {
        clearTimeout(timer);
        this.#cancels.delete(pending);
      };
    });
  }

  /** Answer a `confirmation_request`: allow or refuse the tool call, for the session or (`isOnce`) for this call only. */
  confirm({ id, turn }: { id: string; turn?: string }, isAllowed: boolean, isOnce = false): void {
    this.#throwIfClosed();
    const content = JSON.stringify({ is_allowed: isAllowed, is_once: isOnce });
    const kind = MessageType.CONFIRMATION_RESPONSE;
    this.#protocol.answer(
      newMessage({ message_type: kind, parent_id: id, turn: turn ?? "", content, mime_type: MimeType.JSON }),
    );
    this.#flush();
  }

  /** Stop receiving. A running turn continues: its messages go to `history` and to the session's next streamer. */
  close(): void {
    this.#end(null);
  }

  async #run(opened: () => void, failed: (error: Error) => void): Promise<void> {
    const { signal } = this.#closing;
    try {
      for (;;) {
        const lost = await this.#connect(opened);
        await this.#waitBeforeReconnecting(lost);
        signal.throwIfAborted();
      }
    } catch (error) {
      if (signal.aborted) return;
      failed(error as Error);
      this.#end(error as Error);
    }
  }

  /** One connection. Resolves with the error that ended it; rejects with an error that ends the stream. */
  async #connect(opened: () => void): Promise<LostConnectionError> {
    const { transport, sessionId } = this.#session;
    const { signal } = this.#closing;
    try {
      return await abortable<LostConnectionError>(signal, (resolve, reject) => {
        const endConnection = (this.#endConnection = (why): void => {
          if (why instanceof LostConnectionError) resolve(why);
          else reject(why);
        });
        const onclose = (code: number, reason: string): void => {
          endConnection(closedError(code, reason, transport.config.wsUrl));
        };
        const onframe = (frame: string): void => {
          this.#receive(frame);
        };
        transport.openStream(sessionId, this.#protocol.after, { onframe, onclose }, signal).then((socket) => {
          this.#opened(socket);
          opened();
        }, endConnection);
        return () => undefined;
      });
    } finally {
      this.#endConnection = (): void => undefined;
      this.#closeSocket();
    }
  }

  #opened(socket: Socket): void {
    this.#socket = socket;
    this.#openedAt = seconds();
    if (this.#state === null) this.#backoff = new Backoff(STREAM_LIMIT_SECONDS);
    this.#protocol.connected();
    this.#flush();
    this.#setState({ kind: "connected" });
  }

  async #waitBeforeReconnecting(lost: LostConnectionError): Promise<void> {
    const { refusal } = lost;
    this.#attempts += 1;
    const delay = this.#backoff.nextDelay(seconds(), Math.random(), refusal?.retryAfter);
    if (delay === null) {
      if (refusal !== null) throw refusal;
      throw new UnreachableError(
        `${lost.message} Tried for ${this.#backoff.limitSeconds} s. A question may still be answered: ` +
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
      case "again": {
        const isNew = step.kind === "message";
        if (isNew) this.#resetRetries();
        this.#deliver(step.message, isNew);
        break;
      }
      case "lost":
      case "come_back":
        if (step.kind === "lost") this.#session.onlost();
        this.#endConnection(new LostConnectionError(`${this.#session.transport.config.wsUrl}: ${step.reason}.`));
        return;
      case "refused":
        this.#refused(step.error);
        break;
      case "fail":
        this.#endConnection(step.error);
        return;
      case "ignore":
        break;
    }
    this.#flush();
    this.#sendNext();
  }

  #deliver(message: Message, isNew: boolean): void {
    const queued = this.#current;
    if (queued !== null && message.id === queued.query.id) {
      this.#session.ownTurn = queued.turn = message.turn;
      queued.isConfirmed = true;
      queued.resolve();
    }
    if (endsTurn(message)) {
      if (message.turn === queued?.turn) this.#current = null;
      if (message.turn === this.#session.ownTurn) this.#session.ownTurn = null;
      this.#ended.add(message.turn);
      for (const { turn, resolve } of this.#cancels) if (turn === message.turn) resolve();
    }
    this.#onmessage(message, isNew);
  }

  #refused(error: SvcError): void {
    const queued = this.#current;
    if (queued === null) return;
    this.#current = null;
    if (this.#session.ownTurn === queued.turn) this.#session.ownTurn = null;
    queued.isConfirmed = true; // there is nothing left to withdraw
    queued.reject(error);
  }

  /** Send the next question when the previous turn has ended. */
  #sendNext(): void {
    if (this.#current !== null || this.#protocol.waitsFor !== null) return;
    const queued = this.#queue.shift();
    if (queued === undefined) return;
    this.#current = queued;
    this.#protocol.ask(queued.query, this.#session.ownTurn);
    this.#session.ownTurn = queued.turn;
    this.#flush();
  }

  #withdraw(queued: QueuedPrompt): void {
    const place = this.#queue.indexOf(queued);
    if (place >= 0) this.#queue.splice(place, 1);
    if (this.#current !== queued || queued.isConfirmed) return;
    this.#current = null;
    this.#protocol.abandon();
    this.#flush();
    this.#sendNext();
  }

  #flush(): void {
    this.#startSilenceTimer();
    if (this.#socket === null) return; // sent when a connection opens
    for (const frame of this.#protocol.outgoing()) this.#socket.send(frame);
  }

  /** Reconnect if the connection stays silent while a turn is awaited. */
  #startSilenceTimer(): void {
    clearTimeout(this.#silence);
    const { waitsFor } = this.#protocol;
    if (waitsFor === null || this.#socket === null) return;
    const limit = waitsFor === "echo" ? ECHO_SECONDS : SILENCE_SECONDS;
    this.#silence = setTimeout(() => {
      this.#endConnection(
        new LostConnectionError(`${this.#session.transport.config.wsUrl} was silent for ${limit} s.`),
      );
    }, limit * 1000);
  }

  #resetRetries(): void {
    this.#backoff.reset();
    this.#attempts = 0;
  }

  #closeSocket(): void {
    clearTimeout(this.#silence);
    if (this.#socket !== null && seconds() - this.#openedAt > LASTING_SECONDS) this.#resetRetries();
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
    this.#closeSocket();
    const reason = error ?? (this.#closing.signal.reason as Error);
    for (const queued of [this.#current, ...this.#queue.splice(0)]) {
      if (queued !== null && !queued.isConfirmed) {
        queued.isConfirmed = true;
        queued.reject(reason);
      }
    }
    for (const { reject } of this.#cancels) reject(reason);
    if (wasOpen) this.#onstate(this.#state);
  }

  #throwIfClosed(): void {
    if (this.#state?.kind !== "closed") return;
    if (this.#state.error !== null) throw this.#state.error;
    throw new InvalidRequestError("the streamer is closed. session.streamer(...) opens another.");
  }
}
