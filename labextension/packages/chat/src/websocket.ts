// The transport of a page: the SDK, over HTTP and a websocket. The key is held by the SDK's client alone.
import { Svc } from "svc";
import type { InteractiveSession, SessionFile, Streamer, StreamState } from "svc";
import type {
  ChatFile,
  ChatMessage,
  ChatSession,
  ChatUser,
  Listener,
  OpenedSession,
  SessionRequest,
  Transport,
  UploadOptions,
} from "./transport.js";

export class WebsocketTransport implements Transport {
  readonly #connect: (signal: AbortSignal) => Promise<Svc>;
  #svc: Svc | undefined;
  /** What was asked for last: an opening that ends after a later one began holds nothing. */
  #request: SessionRequest | undefined;
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

  async open(request: SessionRequest, signal: AbortSignal): Promise<OpenedSession> {
    this.#request = request;
    const svc = await this.#client(signal);
    const { id, name, description, logSession } = request;
    let messages: readonly ChatMessage[] = [];
    const onhistory = (all: readonly ChatMessage[]) => {
      messages = all;
    };
    const session = id
      ? await svc.resumeSession(id, { signal, onhistory })
      : await svc.createSession({ name, description, logSession, signal });
    if (this.#request === request) {
      this.close();
      this.#session = session;
      this.#streamer = await this.#stream(session, signal);
    }
    return { session: session.info, messages };
  }

  async send(content: string, signal: AbortSignal): Promise<void> {
    const session = this.#held();
    this.#streamer ??= await this.#stream(session, signal);
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

  detach(_index: number, file: ChatFile): Promise<void> {
    return this.#held().detachFile(file as SessionFile); // what this transport gave out is the SDK's own
  }

  async list(signal: AbortSignal): Promise<readonly ChatSession[]> {
    return (await this.#client(signal)).listSessions({ signal });
  }

  async update(change: { name?: string; description?: string; ttl?: number }): Promise<ChatSession> {
    const session = this.#held();
    await session.update(change);
    return session.info;
  }

  confirm(id: string, isAllowed: boolean): void {
    this.#streamer?.confirm({ id }, isAllowed);
  }

  feedback(score: number, comment: string, group: string): Promise<void> {
    return this.#held().sendFeedback(score, comment, group);
  }

  async #client(signal: AbortSignal): Promise<Svc> {
    this.#svc ??= await this.#connect(signal);
    return this.#svc;
  }

  /** Goes on after the last message that the session's object saw. One that is no longer on screen says nothing here. */
  #stream(session: InteractiveSession, signal: AbortSignal): Promise<Streamer> {
    const isHeld = () => this.#session === session;
    return session.streamer(
      (message) => {
        if (isHeld()) this.#listener?.onMessage(message);
      },
      null,
      {
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
