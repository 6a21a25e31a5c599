// The interface between the element and the service: a websocket, or a notebook's comm. A transport has one session at a
// time. It delivers every message once, in order of `seq`, across lost connections.

/** The fields of a wire message that the element reads. */
export interface ChatMessage {
  readonly id: string;
  readonly parent_id: string;
  readonly turn: string;
  readonly group: string;
  readonly seq: number;
  readonly actor: string;
  readonly created_at: number;
  readonly message_type: string;
  readonly title?: string | null;
  readonly state: string;
  readonly content?: string | null;
  readonly mime_type: string;
  readonly status_code: number;
  readonly status_message: string;
  readonly answer_status?: string | null;
}

export interface ChatFile {
  readonly name: string;
  readonly size: number;
}

export interface ChatSession {
  readonly id: string;
  readonly name: string;
  /** The session's first question, if the service tells it. */
  readonly title?: string | null;
  readonly description: string;
  readonly create_time?: number;
  /** Seconds since the epoch; 0 if sessions do not expire. */
  readonly expire_time: number;
  /** The model that answers, if the service tells it. */
  readonly model?: { readonly model_string?: string };
  readonly ttl: number;
  readonly can_log: boolean;
  readonly files: readonly ChatFile[];
}

export interface ChatModel {
  readonly id: string;
  readonly description: string;
}

export interface ChatUser {
  readonly email: string;
  /** Sessions of this key are never logged. */
  readonly never_log: boolean;
  /** The key lets each session choose. */
  readonly can_disable_logging: boolean;
  /** The models that sessions may be created with; the first one by default. */
  readonly models?: readonly ChatModel[];
}

/** The session to open: `id` resumes that session; without it, a new one is created from the other fields. */
export interface SessionRequest {
  readonly id?: string;
  readonly name?: string;
  readonly description?: string;
  readonly logSession?: boolean;
  readonly model?: string;
}

/** A question that the kernel has and the service does not have yet. */
export interface QueuedQuestion {
  readonly request: string;
  readonly content: string;
}

export interface OpenedSession {
  readonly session: ChatSession;
  readonly messages: readonly ChatMessage[];
  /** Questions that wait, of a page that was closed or reloaded, too. */
  readonly queued?: readonly QueuedQuestion[];
}

export type Connection = "connecting" | "connected" | "reconnecting" | "closed";

export interface Listener {
  onMessage(message: ChatMessage): void;
  /** `error` is the reason if the connection was closed by a failure. */
  onConnection(connection: Connection, error?: unknown): void;
  /** What a question is waiting for; "" when it no longer waits. */
  onNotice?(text: string): void;
  /** Another client changed the session or switched to another; null: the next question creates one. */
  onSession?(session: ChatSession | null): void;
  /** Questions wait in a kernel that has no session yet. */
  onQueued?(queued: readonly QueuedQuestion[]): void;
}

export interface UploadOptions {
  readonly signal: AbortSignal;
  /** `share` goes from 0 to 1. */
  onProgress(share: number): void;
}

/** Allow this call, all calls of the tool in the session with any arguments, or none in this turn. */
export type Decision = "once" | "session" | "deny";

/** The element hides features whose optional methods are missing. Rejections are errors with a message for users and, if
 * there is one, the wire's `code`. */
export interface Transport {
  /** A question may be sent while another client's turn runs: it waits for the end of that turn. */
  readonly isQueueing?: boolean;
  listen(listener: Listener): void;
  open(request: SessionRequest, signal: AbortSignal): Promise<OpenedSession>;
  /** Resolves when the service has the question; the turn arrives as messages. */
  send(prompt: string, signal: AbortSignal): Promise<void>;
  cancel(turn: string): Promise<void>;
  close(): void;
  user?(signal: AbortSignal): Promise<ChatUser>;
  attach?(file: File, options: UploadOptions): Promise<ChatFile>;
  /** `file` was returned by `open` or `attach`; `index` is its position among the session's files. */
  detach?(index: number, file: ChatFile): Promise<void>;
  list?(signal: AbortSignal): Promise<readonly ChatSession[]>;
  update?(change: { name?: string; description?: string; ttl?: number }): Promise<ChatSession>;
  /** Answers a `confirmation_request`. */
  confirm?(messageId: string, decision: Decision): Promise<void> | void;
  /** The turn's answer as Markdown that is safe in any renderer; by default, the element writes it. */
  answer?(turn: string): Promise<string>;
  /** Cancels a question of `OpenedSession.queued`. */
  withdraw?(request: string): Promise<void>;
  feedback?(score: number, comment: string, group: string): Promise<void>;
}

/** The wire's error code, or "". */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
