// The transport of a page: the SDK, over HTTP and a websocket. The key is held by the SDK's client alone.
import { Svc } from "svc";
import type { InteractiveSession, Streamer, StreamState } from "svc";
import type {
  ChatFile,
  ChatMessage,
  ChatSession,
  ChatUser,
  Listener,
  Opened,
  SessionWish,
  Transport,
  UploadOptions,
} from "./transport.js";

export class WebsocketTransport implements Transport {
  readonly #connect: (signal: AbortSignal) => Promise<Svc>;
  #svc: Svc | undefined;
  #session: InteractiveSession | undefined;
  #streamer: Streamer | undefined;
  #listener: Listener | undefined;

  constructor(apiKey: string, baseUrl: string, wsUrl: string) {
    this.#connect = (signal) => Svc.create(apiKey, baseUrl, wsUrl, { signal });
  }

  listen(listener: Listener): void {
    this.#listener = listener;
  }

  async user(signal: AbortSignal): Promise<ChatUser> {
    return (await this.#client(signal)).getUser({ signal });
  }

  async open(wish: SessionWish, signal: AbortSignal): Promise<Opened> {
    const svc = await this.#client(signal);
    const { id, name, description, canLog: logSession } = wish;
    const session = id
      ? await svc.resumeSession(id, { signal })
      : await svc.createSession({ name, description, logSession, signal });
    const messages: readonly ChatMessage[] = id ? await session.history({ signal }) : [];
    this.close();
    this.#session = session;
    this.#streamer = await this.#stream(session, messages.at(-1)?.seq ?? 0, signal);
    return { session: session.info, messages };
  }

  async send(content: string, signal: AbortSignal): Promise<void> {
    const session = this.#held();
    this.#streamer ??= await this.#stream(session, session.numMessages, signal);
    await this.#streamer.send(content, { signal });
  }

  async cancel(turn: string): Promise<void> {
    await this.#streamer?.cancelTurn(turn);
  }

  close(): void {
    this.#session = undefined;
    this.#streamer?.close();
    this.#streamer = undefined;
  }

  attach(file: File, options: UploadOptions): Promise<ChatFile> {
    const { signal } = options;
    return this.#held().attachFile(file.name, file, file.type || undefined, {
      signal,
      onprogress: ({ loaded, total }) => {
        options.onProgress(total ? loaded / total : 0);
      },
    });
  }

  detach(index: number): Promise<void> {
    return this.#held().detachFile(index);
  }

  async list(signal: AbortSignal): Promise<readonly ChatSession[]> {
    return (await this.#client(signal)).listSessions({ signal });
  }

  async update(change: { name?: string; description?: string; ttl?: number }): Promise<ChatSession> {
    const session = this.#held();
    await session.update(change);
    return session.info;
  }

  feedback(score: number, comment: string, group: string): Promise<void> {
    return this.#held().sendFeedback(score, comment, group);
  }

  async #client(signal: AbortSignal): Promise<Svc> {
    this.#svc ??= await this.#connect(signal);
    return this.#svc;
  }

  /** A stream of a session that is no longer the one on screen says nothing here. */
  #stream(session: InteractiveSession, after: number, signal: AbortSignal): Promise<Streamer> {
    const isHeld = () => this.#session === session;
    return session.streamer(
      (message) => {
        if (isHeld()) this.#listener?.onMessage(message);
      },
      null,
      {
        after,
        signal,
        onstate: (state) => {
          if (isHeld()) this.#tell(state);
        },
      },
    );
  }

  #tell(state: StreamState): void {
    if (state.kind === "closed") this.#streamer = undefined;
    this.#listener?.onConnection(state.kind, state.kind === "closed" ? (state.error ?? undefined) : undefined);
  }

  #held(): InteractiveSession {
    if (!this.#session) throw new Error("there is no session yet");
    return this.#session;
  }
}
