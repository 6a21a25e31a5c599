// The transport in a notebook: the kernel holds the key and the connection, and sends messages through a widget or a
// comm. The chat shows the kernel's one session. The protocol: docs/panel.md.
import { DEFAULT_NAME } from "./settings.js";
import { fill } from "./strings.js";
import type {
  ChatFile,
  ChatMessage,
  ChatSession,
  ChatUser,
  Decision,
  Listener,
  OpenedSession,
  QueuedQuestion,
  SessionRequest,
  Transport,
  UploadOptions,
} from "./transport.js";

/** Carries messages to the kernel and back: JSON objects with optional binary buffers. */
export interface Channel {
  send(message: object, buffers?: ArrayBuffer[]): void;
  onMessage(listener: (message: unknown, buffers: ArrayBuffer[]) => void): void;
  close(): void;
}

export interface ChannelStrings {
  readonly waiting: string;
  readonly queued: string;
  readonly tooLarge: string;
}

/** Receives what happens in the session, for a status bar for example. */
export interface SessionObserver {
  /** The kernel's session changed; null if the next question will create one. */
  session?(session: ChatSession | null, model: string): void;
  /** The question that must finish first: "In [12]", "panel", or null if none. */
  waiting?(holder: string | null): void;
  /** A message of the session arrived, including those of questions from cells. */
  message?(message: ChatMessage): void;
  /** A turn, from a cell or the panel, started or ended. */
  busy?(isBusy: boolean): void;
}

export interface KernelState {
  readonly session: ChatSession | null;
  readonly messages: readonly ChatMessage[];
  readonly model: string;
  readonly is_busy: boolean;
  readonly ipykernel: number;
  readonly queued?: readonly QueuedQuestion[];
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly buffers?: ArrayBuffer[];
}

export class ChannelError extends Error {
  constructor(
    message: string,
    readonly code = "",
  ) {
    super(message);
  }
}

const ENGLISH: ChannelStrings = {
  waiting: "Waiting for {} to finish: the kernel asks one question at a time.",
  queued: "Queued: the kernel is busy.",
  tooLarge: "{} is larger than 64 MiB. Save it next to the notebook and attach it with %svc --attach.",
};
const SLOW_MS = 1_000; // without a reply: the kernel is running a cell and reads no messages
const MAX_BYTES = 64 * 1_048_576; // the file is held in the memory of the page and of the kernel
const PART_BYTES = 1_048_576; // Jupyter's server closes a connection whose messages exceed 10 MiB

interface PendingRequest {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly slow: ReturnType<typeof setTimeout>;
  readonly parts: unknown[];
}

interface KernelEvent {
  readonly id?: string;
  readonly got?: boolean;
  readonly part?: readonly Partial<ChatMessage>[];
  readonly ok?: unknown;
  readonly error?: { readonly code: string; readonly text: string };
  readonly event?: string;
  readonly session_id?: string;
  readonly message?: Partial<ChatMessage>;
  readonly messages?: readonly Partial<ChatMessage>[];
  readonly session?: ChatSession | null;
  readonly model?: string;
  readonly for?: string | null;
  readonly is_busy?: boolean;
  readonly state?: "connected" | "reconnecting" | "closed";
  readonly code?: string;
  readonly text?: string;
}

export class ChannelTransport implements Transport {
  readonly isQueueing = true;
  readonly #prefix = Math.random().toString(36).slice(2, 10);
  readonly #pending = new Map<string, PendingRequest>();
  readonly #slow = new Set<string>();
  readonly #strings: ChannelStrings;
  #count = 0;
  #listener: Listener | undefined;
  #kernel: ChatSession | null = null;
  #sessionId = "";
  #past = new Set<string>(); // the ids of the history's messages
  #hadSession = false;
  /** Resolves when the kernel has reported its session; null once that is known. */
  #stateRequest: Promise<void> | null = null;
  /** Messages that arrive while a session is being opened; undefined otherwise. */
  #buffered: { sessionId: string; message: ChatMessage }[] | undefined;
  #waitingFor: string | null = null;
  #notice = "";
  #closeReason = "";

  constructor(
    private readonly channel: Channel,
    private readonly observer: SessionObserver = {},
    strings: Partial<ChannelStrings> = {},
  ) {
    this.#strings = { ...ENGLISH, ...strings };
    channel.onMessage((message) => {
      this.#receive(message as KernelEvent);
    });
  }

  /** Starts to follow the kernel's session. */
  listen(listener: Listener): void {
    this.#listener = listener;
    this.#notice = "";
    this.#stateRequest = this.state().then(
      ({ session, model, is_busy: isBusy, queued = [] }) => {
        this.observer.busy?.(isBusy);
        this.#setSession(session, model);
        if (!session) this.#listener?.onQueued?.(queued);
      },
      () => {
        this.#stateRequest = null; // the next request reports the error
      },
    );
  }

  /** The state of the kernel's session, without its messages. */
  async state(): Promise<KernelState> {
    return (await this.request("open", { history: false })) as KernelState;
  }

  /** Sends a request of the panel protocol. Rejects with a ChannelError. */
  request(operation: string, fields: object = {}, { signal, buffers }: RequestOptions = {}): Promise<unknown> {
    const id = `${this.#prefix}.${(this.#count += 1)}`;
    if (this.#closeReason) return Promise.reject(new ChannelError(this.#closeReason));
    if (signal?.aborted) return Promise.reject(new ChannelError("", "cancelled"));
    const answer = new Promise<unknown>((resolve, reject) => {
      const slow = setTimeout(() => {
        this.#slow.add(id);
        this.#updateNotice();
      }, SLOW_MS);
      this.#pending.set(id, { resolve, reject, slow, parts: [] });
    });
    const abort = () => {
      this.#settle(id)?.reject(new ChannelError("", "cancelled"));
      if (!this.#closeReason) this.channel.send({ id: `${id}x`, do: "cancel", request: id });
    };
    signal?.addEventListener("abort", abort);
    this.channel.send({ id, do: operation, ...fields }, buffers);
    return answer.finally(() => signal?.removeEventListener("abort", abort));
  }

  /** The kernel is gone: pending and future requests are rejected with `reason`. */
  fail(reason: string): void {
    this.#closeReason = reason;
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(new ChannelError(reason));
    this.#listener?.onConnection("closed", new ChannelError(reason));
    this.#updateNotice();
  }

  async open(request: SessionRequest, signal: AbortSignal): Promise<OpenedSession> {
    this.#buffered ??= [];
    try {
      if (request.id === undefined && this.#stateRequest) await this.#stateRequest; // the first question may come before the kernel has replied
      const { session, messages, queued } = await this.#openOrCreate(request, signal);
      if (!session) throw new ChannelError("the kernel has no session");
      this.#sessionId = session.id;
      this.#hadSession = true;
      this.#past = new Set(messages.map(({ id }) => id));
      this.#listener?.onConnection("connected");
      queueMicrotask(() => {
        this.#deliverBuffered();
      });
      return { session, messages, ...(queued && { queued }) };
    } catch (error) {
      this.#buffered = undefined;
      throw error;
    }
  }

  async send(content: string, signal: AbortSignal): Promise<void> {
    await this.request("send", { content }, { signal });
  }

  async cancel(turn: string): Promise<void> {
    await this.request("cancel", { turn });
  }

  /** Stops showing the session. The channel stays open: its creator closes it. */
  close(): void {
    this.#sessionId = "";
    this.#listener = undefined;
  }

  async user(signal: AbortSignal): Promise<ChatUser> {
    return (await this.request("user", {}, { signal })) as ChatUser;
  }

  async list(signal: AbortSignal): Promise<readonly ChatSession[]> {
    return (await this.request("list", {}, { signal })) as readonly ChatSession[];
  }

  async update(change: { name?: string; description?: string; ttl?: number }): Promise<ChatSession> {
    return (await this.request("update", change)) as ChatSession;
  }

  async answer(turn: string): Promise<string> {
    return ((await this.request("answer", { turn })) as { markdown: string }).markdown;
  }

  async withdraw(request: string): Promise<void> {
    await this.request("cancel", { request });
  }

  async feedback(score: number, comment: string, group: string): Promise<void> {
    await this.request("feedback", { score, comment, group });
  }

  async confirm(messageId: string, decision: Decision): Promise<void> {
    const fields = decision === "deny" ? { is_allowed: false } : { is_allowed: true, is_once: decision === "once" };
    await this.request("confirm", { message_id: messageId, ...fields });
  }

  /** Sends the file in parts, each after the kernel has read the one before. */
  async attach(file: File, options: UploadOptions): Promise<ChatFile> {
    if (file.size > MAX_BYTES) throw new ChannelError(fill(this.#strings.tooLarge, file.name));
    const upload = `${this.#prefix}.${(this.#count += 1)}`;
    let offset = 0;
    for (;;) {
      const part = await file.slice(offset, offset + PART_BYTES).arrayBuffer();
      const fields = { name: file.name, mime: file.type, upload, offset, size: file.size };
      const attached = await this.request("attach", fields, { signal: options.signal, buffers: [part] });
      offset += part.byteLength;
      options.onProgress(file.size ? offset / file.size : 1);
      if (offset >= file.size) return this.#sessionFile(attached as ChatFile);
    }
  }

  /** The session event that came before the reply already has the file. */
  #sessionFile(file: ChatFile): ChatFile {
    return this.#kernel?.files.findLast(({ name, size }) => name === file.name && size === file.size) ?? file;
  }

  async detach(index: number): Promise<void> {
    await this.request("detach", { index });
  }

  /** Without an id: the kernel's session, if none was shown yet; otherwise, or if it has none, a new one. */
  async #openOrCreate(request: SessionRequest, signal: AbortSignal): Promise<KernelState> {
    const isNew = request.id === undefined && (this.#hadSession || !this.#kernel);
    const { name, description, logSession: log_session } = request;
    const { messages, ...state } = (
      isNew // the service makes up a name unless the user chose one
        ? await this.request("new", { ...(name !== DEFAULT_NAME && { name }), description, log_session }, { signal })
        : await this.request("open", { session_id: request.id ?? this.#kernel?.id }, { signal })
    ) as KernelState;
    return { ...state, messages: messages.map(withDefaults) };
  }

  #receive(event: KernelEvent): void {
    if (event.id !== undefined) this.#reply(event.id, event);
    else {
      switch (event.event) {
        case "message":
        case "messages":
          for (const part of event.messages ?? [event.message ?? {}]) {
            this.#message(event.session_id ?? this.#kernel?.id ?? "", withDefaults(part));
          }
          break;
        case "session":
          this.#setSession(event.session ?? null, event.model ?? "");
          break;
        case "waiting":
          this.#waitingFor = event.for ?? null;
          this.observer.waiting?.(this.#waitingFor);
          this.#updateNotice();
          break;
        case "busy":
          this.observer.busy?.(event.is_busy === true);
          break;
        case "note":
          this.#listener?.onNotice?.(event.text ?? "");
          break;
        case "connection":
          this.#listener?.onConnection(
            event.state ?? "closed",
            event.text ? errorOf(event.code, event.text) : undefined,
          );
          break;
      }
    }
  }

  /** Ignores replies to other views of the same widget: their IDs are different. */
  #reply(id: string, event: KernelEvent): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#acknowledge(id, pending);
    if (event.part) pending.parts.push(...event.part);
    else if (event.error) this.#settle(id)?.reject(errorOf(event.error.code, event.error.text));
    else if (event.ok !== undefined) {
      const { parts } = pending;
      const value = parts.length ? { ...(event.ok as KernelState), messages: parts } : event.ok;
      this.#settle(id)?.resolve(value);
    }
  }

  #message(sessionId: string, message: ChatMessage): void {
    this.observer.message?.(message);
    if (this.#buffered) this.#buffered.push({ sessionId, message });
    else if (sessionId === this.#sessionId) this.#listener?.onMessage(message);
  }

  #deliverBuffered(): void {
    const buffered = this.#buffered ?? [];
    this.#buffered = undefined;
    for (const { sessionId, message } of buffered) {
      if (sessionId === this.#sessionId && !this.#past.has(message.id)) this.#listener?.onMessage(message);
    }
    if (this.#kernel && this.#kernel.id !== this.#sessionId) this.#listener?.onSession?.(this.#kernel);
  }

  #setSession(session: ChatSession | null, model: string): void {
    this.#kernel = session;
    this.#stateRequest = null;
    this.observer.session?.(session, model);
    if (!this.#buffered) this.#listener?.onSession?.(session);
  }

  #settle(id: string): PendingRequest | undefined {
    const pending = this.#pending.get(id);
    if (pending) this.#acknowledge(id, pending);
    this.#pending.delete(id);
    return pending;
  }

  #acknowledge(id: string, { slow }: PendingRequest): void {
    clearTimeout(slow);
    if (this.#slow.delete(id)) this.#updateNotice();
  }

  /** Shows what the question is waiting for, or clears the notice. */
  #updateNotice(): void {
    const waiting = this.#waitingFor ? fill(this.#strings.waiting, this.#waitingFor) : "";
    const text = this.#closeReason || waiting || (this.#slow.size ? this.#strings.queued : "");
    if (text === this.#notice) return;
    this.#notice = text;
    this.#listener?.onNotice?.(text);
  }
}

/** Drops `invalid_api_key`: the kernel holds the key, so the element must not ask for one. */
function errorOf(code = "", text: string): ChannelError {
  return new ChannelError(text, code === "invalid_api_key" ? "" : code);
}

/** Fills in the omitted fields of a message. */
function withDefaults(message: Partial<ChatMessage>): ChatMessage {
  return {
    id: "",
    parent_id: "",
    turn: "",
    group: "",
    seq: 0,
    actor: "",
    created_at: 0,
    message_type: "",
    state: "undefined",
    mime_type: "text/plain",
    status_code: 200,
    status_message: "OK",
    ...message,
  };
}
