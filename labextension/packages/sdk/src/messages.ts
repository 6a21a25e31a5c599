/**
 * The wire's vocabulary, both directions. Facts: docs/wire.md.
 *
 * Names are the wire's (`message.message_type`); unknown values of a newer service are kept as strings, unknown fields
 * stay where they are. Decides no limits but the client's own, nor who may send what.
 */
import { decodeBase64 } from "./content.js";
import { ProtocolError } from "./errors.js";

/** The parent of a message that answers nothing. */
export const ROOT_ID = "3713";
/** Seconds that a session lives by default: a day. */
export const DEFAULT_TTL = 86_400;
export const MIN_TTL = 300;
export const MAX_TTL = 2_592_000;

type Open<T extends Record<string, string>> = T[keyof T] | (string & {});

/** What a message is for. */
export const MessageTypeEnum = {
  QUERY: "query",
  INFO: "info",
  THINKING: "thinking",
  SOURCE: "source",
  RESULT: "result",
  ERROR: "error",
  DEBUG: "debug",
  UPDATE: "update",
  DELETE: "delete",
  CONFIRMATION_REQUEST: "confirmation_request",
  CONFIRMATION_RESPONSE: "confirmation_response",
  LOCAL_TOOL_CALL: "local_tool_call",
  LOCAL_TOOL_RESULT: "local_tool_result",
  CANCEL: "cancel",
} as const;
export const MessageType = MessageTypeEnum;
export type MessageType = Open<typeof MessageTypeEnum>;

/** The form of a message's content; a file's type may be any string beside these. */
export const MimeTypeEnum = {
  TEXT: "text/plain",
  MARKDOWN: "text/markdown",
  HTML: "text/html",
  CSV: "text/csv",
  XML: "text/xml",
  YAML: "text/yaml",
  PYTHON: "text/python",
  JAVASCRIPT: "text/javascript",
  SERIALIZED_JSON: "text/serialized-json",
  JSON: "application/json",
  JSONL: "application/jsonl",
  PDF: "application/pdf",
  BINARY: "application/octet-stream",
  PNG: "image/png",
  JPEG: "image/jpeg",
  GIF: "image/gif",
  WEBP: "image/webp",
  SVG: "image/svg+xml",
} as const;
export const MimeType = MimeTypeEnum;
export type MimeType = Open<typeof MimeTypeEnum>;

/** Who speaks. */
export const Role = { USER: "user", AGENT: "agent", SYSTEM: "system" } as const;
export type Role = Open<typeof Role>;

/** What the speaker is doing. */
export const State = {
  UNDEFINED: "undefined",
  START: "start",
  END: "end",
  QUERY: "query",
  RUNNING_AGENT: "running_agent",
  AGENT_DONE: "agent_done",
  CODING: "coding",
  CODE_RESULT: "code_result",
  CALLING_TOOL: "calling_tool",
  TOOL_RESULT: "tool_result",
  GENERATING: "generating",
  ANSWERING: "answering",
  THINKING: "thinking",
  PLANNING: "planning",
  REVIEWING: "reviewing",
  UNDERSTANDING: "understanding",
  RETRIEVING: "retrieving",
  GROUNDING: "grounding",
} as const;
export type State = Open<typeof State>;

/** What kind of user a key belongs to. */
export const UserType = { UI: "ui", USER: "user", ADMIN: "admin", SYSTEM: "system", SERVICE: "service" } as const;
export type UserType = Open<typeof UserType>;

/** What a feedback is about. */
export const FeedbackType = { USER_FEEDBACK: "user_feedback", BUG_REPORT: "bug_report" } as const;
export type FeedbackType = Open<typeof FeedbackType>;

/** Tokens counted for a message, a turn or a session. */
export interface Usage {
  prompt_tokens: number;
  generated_tokens: number;
  total_tokens: number;
  cached_token_count: number;
  thoughts_token_count: number;
  tool_use_prompt_token_count: number;
}

/** One message of a session. `seq` counts from 1 without gaps; 0 stands on what is not kept. */
export interface Message {
  message_type: MessageType;
  id: string;
  parent_id: string;
  turn: string;
  group: string;
  seq: number;
  actor: string;
  role: Role;
  created_at: number;
  timestamp: number;
  title: string | null;
  state: State;
  /** Text for `text/*` and `application/json`, base64 for every other type; `getContent` undoes it. */
  content: string | null;
  mime_type: MimeType;
  status_code: number;
  status_message: string;
  usage: Usage | null;
}

/** Who makes a toolset. */
export interface Vendor {
  name: string;
  description: string;
  url: string;
  svg: string;
}

/** A named group of tools that a model may use. */
export interface Toolset {
  name: string;
  version: number;
  description: string;
  vendor: Vendor;
  is_enabled: boolean;
  is_enabled_by_default: boolean;
  is_enabled_by_default_in_incognito: boolean;
  is_experimental: boolean;
}

/** A model that answers; `model_string` is `name-version` or `name-version-experimental`. */
export interface ModelInfo {
  model_name: string;
  version: string;
  use_experimental: boolean;
  model_string: string;
  description: string;
  toolsets: Toolset[];
}

/** The model that a client asks for, as an object; `"stable"` and `"svc-1.1"` are the short ways. */
export interface ModelInfoInput {
  model_name?: string;
  version?: string;
  use_experimental?: boolean;
  /** Decides where it is given. */
  model_string?: string;
}

/** A file attached to a session; `mime_type` and `content_type_label` were read from its content. */
export interface SessionFile {
  name: string;
  size: number;
  sha256: string;
  mime_type: string;
  content_type_label: string;
}

/** A session as the service reports it. Times are whole seconds since the epoch. */
export interface Session {
  id: string;
  user_id: string;
  org_id: string;
  model: ModelInfo;
  ttl: number;
  language: string;
  turns: number;
  name: string;
  description: string;
  create_time: number;
  update_time: number;
  expire_time: number;
  num_messages: number;
  messages: Message[];
  usage: Usage;
  can_log: boolean;
  state: State;
  files: SessionFile[];
}

/** Whom a key belongs to and what it may do. `key_expire_time`, `tpm`, `rpm`: 0 is never, no limit. */
export interface User {
  id: string;
  org_id: string;
  email: string;
  type: UserType;
  vendors: Vendor[];
  never_log: boolean;
  can_disable_logging: boolean;
  allow_experimental: boolean;
  key_expire_time: number;
  tpm: number;
  rpm: number;
}

/** GET /user/info: sessions oldest first without their messages; the stable model first. */
export interface UserInfo {
  user: User;
  sessions: Session[];
  available_models: ModelInfo[];
}

/** GET /health. */
export interface Health {
  status: string;
  version: string;
}

/** A fresh id for a session, turn or message: 32 hex digits. Works where the page is not secure, too. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The id of a model that is asked for: `name-version` or `name-version-experimental`. */
export function modelString(model: ModelInfoInput): string {
  if (model.model_string) return model.model_string;
  const plain = `${model.model_name ?? "svc"}-${model.version ?? "1.1"}`;
  return model.use_experimental ? `${plain}-experimental` : plain;
}

/** Whether this message closes its turn: the last `info`, or an `error`. */
export function endsTurn(message: Message): boolean {
  const { INFO, ERROR } = MessageTypeEnum;
  return message.state === State.END && (message.message_type === INFO || message.message_type === ERROR);
}

/**
 * The content as it was meant: a string for text and JSON, bytes for the rest; `""` where there is none.
 *
 * Throws ProtocolError where the base64 is broken.
 */
export function getContent(message: Message): string | Uint8Array {
  const { content, mime_type: type } = message;
  if (content === null || type.startsWith("text/") || type === MimeTypeEnum.JSON) return content ?? "";
  const bytes = decodeBase64(content);
  if (bytes === null) throw new ProtocolError(`message ${message.id}: its ${type} content is not base64.`);
  return bytes;
}

export const NO_USAGE: Readonly<Usage> = {
  prompt_tokens: 0,
  generated_tokens: 0,
  total_tokens: 0,
  cached_token_count: 0,
  thoughts_token_count: 0,
  tool_use_prompt_token_count: 0,
};

/** A message of this client's own, with what is left out filled in. */
export function newMessage(given: Partial<Message> & Pick<Message, "message_type">): Message {
  const now = Date.now() / 1000;
  return {
    id: newId(),
    parent_id: ROOT_ID,
    turn: "",
    group: "",
    seq: 0,
    actor: "user",
    role: Role.USER,
    created_at: now,
    timestamp: Math.floor(now),
    title: null,
    state: State.UNDEFINED,
    content: null,
    mime_type: MimeTypeEnum.TEXT,
    status_code: 200,
    status_message: "OK",
    usage: null,
    ...given,
  };
}
