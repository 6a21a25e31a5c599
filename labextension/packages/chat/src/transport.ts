// What the element needs from whoever speaks to the service. The websocket is one way; a notebook's comm is another.
// A transport holds one session at a time. It brings every message once, in the order of `seq`, across lost connections.

/** The fields of a message that the element reads, as on the wire. */
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
}

export interface ChatFile {
  readonly name: string;
  readonly size: number;
}

export interface ChatSession {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Seconds since the epoch; 0 where sessions do not expire. */
  readonly expire_time: number;
  readonly ttl: number;
  readonly can_log: boolean;
  readonly files: readonly ChatFile[];
}

export interface ChatUser {
  readonly email: string;
  /** No session of this key is ever kept. */
  readonly never_log: boolean;
  /** The key leaves the choice to each session. */
  readonly can_disable_logging: boolean;
}

/** `id` resumes that session; without it a new one is made from the rest. */
export interface SessionRequest {
  readonly id?: string;
  readonly name?: string;
  readonly description?: string;
  readonly logSession?: boolean;
}

export interface OpenedSession {
  readonly session: ChatSession;
  readonly messages: readonly ChatMessage[];
}

export type Connection = "connecting" | "connected" | "reconnecting" | "closed";

export interface Listener {
  onMessage(message: ChatMessage): void;
  /** `error` says why it is closed, where it did not close by itself. */
  onConnection(connection: Connection, error?: unknown): void;
  /** A line on what a question waits for, "" when it no longer does. */
  onNotice?(text: string): void;
  /** Who else holds the session has changed it, or goes on with another; null: the next question makes one. */
  onSession?(session: ChatSession | null): void;
}

export interface UploadOptions {
  readonly signal: AbortSignal;
  /** `share` goes from 0 to 1. */
  onProgress(share: number): void;
}

/** What is optional is a feature that the element leaves out where the transport has none. Rejections carry a
 * `code` of the wire where there is one, and a text for people. */
export interface Transport {
  /** A question may be sent while a turn of somebody else's runs: it waits for its end. */
  readonly isQueueing?: boolean;
  listen(listener: Listener): void;
  open(request: SessionRequest, signal: AbortSignal): Promise<OpenedSession>;
  /** Resolves when the service has the question; its turn comes as messages. */
  send(content: string, signal: AbortSignal): Promise<void>;
  cancel(turn: string): Promise<void>;
  close(): void;
  user?(signal: AbortSignal): Promise<ChatUser>;
  attach?(file: File, options: UploadOptions): Promise<ChatFile>;
  /** `file` is one that `open` or `attach` gave, `index` its place among them. */
  detach?(index: number, file: ChatFile): Promise<void>;
  list?(signal: AbortSignal): Promise<readonly ChatSession[]>;
  update?(change: { name?: string; description?: string; ttl?: number }): Promise<ChatSession>;
  /** Whether the model may call the tool that this `confirmation_request` names. */
  confirm?(messageId: string, isAllowed: boolean): Promise<void> | void;
  feedback?(score: number, comment: string, group: string): Promise<void>;
}

/** The wire's code of an error, or "". */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
