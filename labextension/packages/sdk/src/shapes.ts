/**
 * Reads the wire's JSON into the types of `messages`: checks required fields and fills in optional ones.
 *
 * Throws ShapeError; the caller adds what was being read.
 */
import {
  type Message,
  type ModelInfo,
  NO_USAGE,
  newMessage,
  type Session,
  type SessionFile,
  type Usage,
  type User,
  type UserInfo,
} from "./messages.js";

type Fields = Record<string, unknown>;

/** The JSON does not have the expected shape; the message names the field. */
export class ShapeError extends Error {}

/** Parse `text` as a JSON object. */
export function parseObject(text: string): Fields {
  return object(parseJson(text), "it");
}

/** Parse `text` as a list of sessions. */
export function parseSessions(text: string): Session[] {
  return list(parseJson(text), "it").map(readSession);
}

const MESSAGE_TEXTS = [
  "message_type",
  "id",
  "parent_id",
  "turn",
  "group",
  "actor",
  "role",
  "state",
  "mime_type",
  "status_message",
] as const;
const MESSAGE_NUMBERS = ["seq", "created_at", "timestamp", "status_code"] as const;

/** Read a message; only `message_type` is required. */
export function readMessage(value: unknown): Message {
  const fields = object(value, "a message");
  text(fields, "message_type");
  const message = newMessage(fields as Partial<Message> & Pick<Message, "message_type">);
  const read = message as unknown as Fields;
  for (const name of MESSAGE_TEXTS) text(read, name);
  for (const name of MESSAGE_NUMBERS) number(read, name);
  for (const name of ["title", "content", "answer_status"]) if (read[name] !== null) text(read, name);
  return { ...message, usage: message.usage && readUsage(message.usage) };
}

const SESSION_TEXTS = ["id", "user_id", "org_id", "name", "description", "language", "state"] as const;
const SESSION_NUMBERS = ["ttl", "turns", "create_time", "update_time", "expire_time", "num_messages"] as const;

/** Read a session, with its messages if the operation returns them. */
export function readSession(value: unknown): Session {
  const fields = object(value, "a session");
  for (const name of SESSION_TEXTS) text(fields, name);
  for (const name of SESSION_NUMBERS) number(fields, name);
  const title = fields["title"] === undefined ? "" : text(fields, "title"); // an older service sends none
  return {
    ...(fields as unknown as Session),
    title,
    model: readModel(fields["model"]),
    messages: list(fields["messages"], "messages").map(readMessage),
    usage: readUsage(fields["usage"]),
    files: list(fields["files"], "files").map(readFile),
  };
}

/** Read an attached file. */
export function readFile(value: unknown): SessionFile {
  const fields = object(value, "a file");
  for (const name of ["name", "sha256", "mime_type", "content_type_label"]) text(fields, name);
  number(fields, "size");
  return fields as unknown as SessionFile;
}

/** Read the reply of GET /user/info. */
export function readUserInfo(value: unknown): UserInfo {
  const fields = object(value, "it");
  const user = object(fields["user"], "user");
  for (const name of ["id", "email", "type"]) text(user, name);
  return {
    user: user as unknown as User,
    sessions: list(fields["sessions"], "sessions").map(readSession),
    available_models: list(fields["available_models"], "available_models").map(readModel),
  };
}

/** Read a required text field. */
export function text(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== "string") throw new ShapeError(`\`${name}\` is not text`);
  return value;
}

/** Check that a value is an object. */
export function object(value: unknown, name: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ShapeError(`${name} is not an object`);
  }
  return value as Fields;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ShapeError("it is not JSON");
  }
}

function number(fields: Fields, name: string): void {
  if (typeof fields[name] !== "number") throw new ShapeError(`\`${name}\` is not a number`);
}

function list(value: unknown, name: string): unknown[] {
  if (!Array.isArray(value)) throw new ShapeError(`${name} is not a list`);
  return value;
}

function readModel(value: unknown): ModelInfo {
  const fields = object(value, "model");
  text(fields, "model_string");
  return { toolsets: [], ...fields } as unknown as ModelInfo;
}

function readUsage(value: unknown): Usage {
  return { ...NO_USAGE, ...object(value, "usage") };
}
