// The transport of a web page: the SDK, over HTTP and a websocket. Only the SDK's client holds the key.
import { Svc } from "@svc-jupyter/sdk";
import type { InteractiveSession, SessionFile, Streamer, StreamState, UploadProgress } from "@svc-jupyter/sdk";
import { refusedOrigin } from "./origin.js";
import type { Strings } from "./strings.js";
import type {
  ChatFile,
  ChatMessage,
  ChatSession,
  ChatUser,
  Decision,
  Listener,
  OpenedSession,
  SessionRequest,
  Transport,
  UploadOptions,
} from "./transport.js";

export class WebsocketTransport implements Transport {
  readonly #connect: (signal: AbortSignal) => Promise<Svc>;
  #svc: Svc | undefined;
  /** The latest request: a session opened for an earlier one is not used. */
  #request: SessionRequest | undefined;
  #session: InteractiveSession | undefined;
  #streamer: Streamer | undefined;
  #listener: Listener | undefined;

  constructor(apiKey: string, baseUrl: string, wsUrl: string, strings: () => Strings) {
    this.#connect = async (lifetime) => {
      const settled = new AbortController();
      const signal = AbortSignal.any([lifetime, settled.signal]);
      const connected = Svc.create(apiKey, baseUrl, wsUrl, { signal });
      try {
        return await Promise.race([connected, refusedOrigin(baseUrl, strings(), signal)]);
      } finally {
        settled.abort();
      }
    };
  }

  listen(listener: Listener): void {
    this.#listener = listener;
  }

  async user(signal: AbortSignal): Promise<ChatUser> {
    const { user, available_models: models } = await (await this.#client(signal)).getUserInfo({ signal });
    return { ...user, models: models.map(({ model_string: id, description }) => ({ id, description })) };
  }

  async open(request: SessionRequest, signal: AbortSignal): Promise<OpenedSession> {
    this.#request = request;
    const svc = await this.#client(signal);
    const { id, name, description, logSession, model } = request;
    let messages: readonly ChatMessage[] = [];
    const onhistory = (all: readonly ChatMessage[]) => {
      messages = all;
    };
    const session = id
      ? await svc.resumeSession(id, { signal, onhistory })
      : await svc.createSession({ name, description, logSession, model, signal });
    if (this.#request === request) {
      this.close();
      this.#session = session;
      this.#streamer = await this.#stream(session, signal);
    }
    return { session: session.info, messages };
  }

  async send(prompt: string, signal: AbortSignal): Promise<void> {
    const session = this.#openSession();
    this.#streamer ??= await this.#stream(session, signal);
    await this.#streamer.send(prompt, { signal });
  }

  async cancel(turn: string): Promise<void> {
    await this.#streamer?.cancelTurn(turn);
  }

  close(): void {
    this.#session = undefined;
    this.#streamer?.close();
    this.#streamer = undefined;
  }

  attach(file: File, progress: UploadOptions): Promise<ChatFile> {
    return new Promise((onattached, reject) => {
      const onprogress = ({ loaded, total }: UploadProgress) => {
        progress.onProgress(total ? loaded / total : 0);
      };
      const options = { signal: progress.signal, onprogress, onattached };
      this.#openSession()
        .attachFile(file.name, file, file.type || undefined, options)
        .catch(reject);
    });
  }

  detach(_index: number, file: ChatFile): Promise<void> {
    return this.#openSession().detachFile(file as SessionFile); // files of this transport come from the SDK
  }

  async list(signal: AbortSignal): Promise<readonly ChatSession[]> {
    return (await this.#client(signal)).listSessions({ signal });
  }

  async update(change: { name?: string; description?: string; ttl?: number }): Promise<ChatSession> {
    const session = this.#openSession();
    await session.update(change);
    return session.info;
  }

  confirm(id: string, decision: Decision): void {
    this.#streamer?.confirm({ id }, decision !== "deny", decision === "once");
  }

  feedback(score: number, comment: string, group: string): Promise<void> {
    return this.#openSession().sendFeedback(score, comment, group);
  }

  async #client(signal: AbortSignal): Promise<Svc> {
    this.#svc ??= await this.#connect(signal);
    return this.#svc;
  }

  /** Continues after the last message that the session object has seen. Ignores a session that is no longer on screen. */
  #stream(session: InteractiveSession, signal: AbortSignal): Promise<Streamer> {
    const isCurrent = () => this.#session === session;
    return session.streamer(
      (message) => {
        if (isCurrent()) this.#listener?.onMessage(message);
      },
      null,
      {
        signal,
        onstate: (state) => {
          if (isCurrent()) this.#report(state);
        },
      },
    );
  }

  #report(state: StreamState): void {
    if (state.kind === "closed") this.#streamer = undefined;
    this.#listener?.onConnection(state.kind, state.kind === "closed" ? (state.error ?? undefined) : undefined);
  }

  #openSession(): InteractiveSession {
    if (!this.#session) throw new Error("no session is open");
    return this.#session;
  }
}
