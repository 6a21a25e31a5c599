/**
 * The types of the wire, in both directions. Source: docs/wire.md.
 *
 * Fields have the wire's names (`message.message_type`). A newer service's unknown values stay strings, and its unknown
 * fields are kept. Checks nothing: the service decides on limits and on who may send what.
 */
import { decodeBase64, hex } from "./content.js";
import { ProtocolError } from "./errors.js";

/** `parent_id` of a message that has no parent. */
export const ROOT_ID = "3713";
/** Default lifetime of a session in seconds: a day. */
export const DEFAULT_TTL = 86_400;
export const MIN_TTL = 300;
export const MAX_TTL = 2_592_000;

type Open<T extends Record<string, string>> = T[keyof T] | (string & {});

/** The kinds of messages. */
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
export type MessageTypeEnum = MessageType;

/** MIME types of message contents; a file's type may be any other string, too. */
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
export type MimeTypeEnum = MimeType;

/** Who wrote a message. */
export const Role = { USER: "user", AGENT: "agent", SYSTEM: "system" } as const;
export type Role = Open<typeof Role>;

/** What the author of a message, or a session, is doing. */
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

/** How far an answer answers its question: docs/wire.md, "Answer status". */
export const AnswerStatus = {
  ANSWERED: "answered",
  PARTLY_ANSWERED: "partly_answered",
  NOT_ANSWERED: "not_answered",
  NOT_EXAMINED: "not_examined",
} as const;
export type AnswerStatus = Open<typeof AnswerStatus>;

/** What kind of user a key belongs to. */
export const UserType = { UI: "ui", USER: "user", ADMIN: "admin", SYSTEM: "system", SERVICE: "service" } as const;
export type UserType = Open<typeof UserType>;

/** Kinds of feedback. */
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

/**
 * How far one piece of work is: `done` of `total` units. It replaces the one before of the same actor and task; the work
 * is over if `done` equals `total`.
 */
export interface TaskProgress {
  task: string;
  done: number;
  total: number;
  unit: string;
  /** An estimate; null if there is none yet. */
  seconds_left: number | null;
  /** The pace in units; absent if it is not known. */
  per_second?: number;
}

/** One message of a session. `seq` counts from 1 without gaps; it is 0 if the message is not stored. */
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
  /** Text for `text/*` and `application/json`, base64 for every other type; `getContent` decodes it. */
  content: string | null;
  mime_type: MimeType;
  status_code: number;
  status_message: string;
  usage: Usage | null;
  /** On a `result`; null if it is unknown. With "not_answered" and "not_examined" it is not a negative result. */
  answer_status: AnswerStatus | null;
  /** Only on an `info` that says how far a piece of work is. */
  progress?: TaskProgress;
  /** Only on a `query` that is about these files of the session: their names or SHA-256. */
  files?: readonly string[] | null;
  /** Only on an `error` that refuses a query: the seconds after which it may be sent again. */
  retry_after?: number;
}

/** The vendor of a toolset. */
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

/** An available model. `model_string` is `name-version` or `name-version-experimental`. */
export interface ModelInfo {
  model_name: string;
  version: string;
  use_experimental: boolean;
  model_string: string;
  description: string;
  toolsets: Toolset[];
}

/** The requested model as an object; a string such as `"stable"` or `"svc-1.1"` is shorter. */
export interface ModelInfoInput {
  model_name?: string;
  version?: string;
  use_experimental?: boolean;
  /** Takes precedence over the other fields. */
  model_string?: string;
  /** Those with `is_enabled: false` are disabled in the session: their tools do not run. */
  toolsets?: ToolsetChoice[];
}

/** Whether a session may use a toolset. */
export interface ToolsetChoice {
  name: string;
  is_enabled?: boolean;
}

/** A file attached to a session. `mime_type` and `content_type_label` are detected from its content. */
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
  /** The first question in one line; empty before it. */
  title: string;
}

/** A key's user and permissions. `key_expire_time` 0 means never; `tpm` and `rpm` 0 mean no limit. */
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

/** Result of GET /user/info: sessions oldest first, without messages; the stable model first. */
export interface UserInfo {
  user: User;
  sessions: Session[];
  available_models: ModelInfo[];
}

/** Result of GET /health. */
export interface Health {
  status: string;
  version: string;
}

/** A new ID for a session, turn or message: 32 hex digits. Unlike `randomUUID`, this also works on plain HTTP pages. */
export function newId(): string {
  return hex(crypto.getRandomValues(new Uint8Array(16)));
}

/** A requested model as the service is asked for it: its ID, unless toolsets of it are disabled. */
export function requestedModel(model: string | ModelInfoInput): string | ModelInfoInput {
  if (typeof model === "string") return model;
  const disabled = (model.toolsets ?? []).filter((toolset) => toolset.is_enabled === false);
  const id = modelString(model);
  if (disabled.length === 0) return id;
  return { model_string: id, toolsets: disabled.map(({ name }) => ({ name, is_enabled: false })) };
}

/** The ID of a requested model: `name-version` or `name-version-experimental`. */
function modelString(model: ModelInfoInput): string {
  if (model.model_string) return model.model_string;
  const plain = `${model.model_name ?? "svc"}-${model.version ?? "1.1"}`;
  return model.use_experimental ? `${plain}-experimental` : plain;
}

/** Whether this message ends its turn: the last `info`, or an `error`. */
export function endsTurn(message: Message): boolean {
  const { INFO, ERROR } = MessageTypeEnum;
  return message.state === State.END && (message.message_type === INFO || message.message_type === ERROR);
}

/**
 * Decode a message's content: a string for text and JSON, bytes for other types, `""` if there is none.
 *
 * Throws ProtocolError if the base64 is invalid.
 */
export function getContent(message: Message): string | Uint8Array {
  const { content, mime_type: type } = message;
  if (content === null || type.startsWith("text/") || type === MimeTypeEnum.JSON) return content ?? "";
  const bytes = decodeBase64(content);
  if (bytes === null) throw new ProtocolError(`message ${message.id}: the ${type} content is not valid base64.`);
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

/** A message to send; omitted fields get their defaults. */
export function newMessage(fields: Partial<Message> & Pick<Message, "message_type">): Message {
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
    answer_status: null,
    ...fields,
  };
}
