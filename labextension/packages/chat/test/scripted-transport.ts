// A transport that is controlled by the test: the test sends messages and sees the requests.
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
} from "../src/transport.js";

export class WireError extends Error {
  constructor(
    readonly code: string,
    message = code,
  ) {
    super(message);
  }
}

export class ScriptedTransport implements Transport {
  listener: Listener | undefined;
  asked: string[] = [];
  requests: SessionRequest[] = [];
  cancelled: string[] = [];
  scores: number[] = [];
  confirmed: [string, Decision][] = [];
  detached: [number, string][] = [];
  isClosed = false;
  history: ChatMessage[] = [];
  sessions: ChatSession[] = [];
  profile: ChatUser = { email: "a@b.c", never_log: false, can_disable_logging: true };
  /** The error with which the next such call is refused. */
  refusals: { [call in "user" | "open" | "send" | "attach" | "detach"]?: Error | undefined } = {};
  uploads: { file: File; options: UploadOptions; done: (file: ChatFile) => void }[] = [];
  #held: { call: string; reached: () => void; released: Promise<void> } | undefined;
  #made = 0;
  #session: ChatSession | undefined;

  /** The next such call is answered only after `release`. */
  hold(call: keyof typeof this.refusals): { reached: Promise<void>; release: () => void } {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const reached = new Promise<void>((resolve) => (this.#held = { call, reached: resolve, released }));
    return { reached, release };
  }

  say(...messages: ChatMessage[]): void {
    for (const message of messages) this.listener?.onMessage(message);
  }

  listen(listener: Listener): void {
    this.listener = listener;
  }

  user(): Promise<ChatUser> {
    return this.#answer("user", this.profile);
  }

  async open(request: SessionRequest): Promise<OpenedSession> {
    this.requests.push(request);
    const session = {
      id: request.id ?? `made${(this.#made += 1)}`,
      name: request.name ?? "A session",
      description: request.description ?? "",
      expire_time: Date.now() / 1000 + 86_400,
      ttl: 86_400,
      can_log: request.logSession ?? true,
      files: [],
    };
    const opened = await this.#answer("open", { session, messages: request.id ? this.history : [] });
    this.#session = session;
    this.listener?.onConnection("connected");
    return opened;
  }

  send(content: string): Promise<void> {
    this.asked.push(content);
    return this.#answer("send", undefined);
  }

  cancel(turn: string): Promise<void> {
    this.cancelled.push(turn);
    return Promise.resolve();
  }

  close(): void {
    this.isClosed = true;
  }

  attach(file: File, options: UploadOptions): Promise<ChatFile> {
    const refusal = this.refusals.attach;
    if (refusal) return Promise.reject(refusal);
    return new Promise((done) => this.uploads.push({ file, options, done }));
  }

  detach(index: number, file: ChatFile): Promise<void> {
    this.detached.push([index, file.name]);
    return this.#answer("detach", undefined);
  }

  list(): Promise<readonly ChatSession[]> {
    return Promise.resolve(this.sessions);
  }

  update(change: { name?: string; ttl?: number }): Promise<ChatSession> {
    if (!this.#session) throw new Error("no session");
    this.#session = { ...this.#session, ...change };
    return Promise.resolve(this.#session);
  }

  confirm(messageId: string, decision: Decision): void {
    this.confirmed.push([messageId, decision]);
  }

  feedback(score: number): Promise<void> {
    this.scores.push(score);
    return Promise.resolve();
  }

  async #answer<T>(call: keyof typeof this.refusals, value: T): Promise<T> {
    const refusal = this.refusals[call];
    this.refusals = { ...this.refusals, [call]: undefined };
    if (this.#held?.call === call) {
      const { reached, released } = this.#held;
      this.#held = undefined;
      reached();
      await released;
    }
    if (refusal) throw refusal;
    return value;
  }
}
