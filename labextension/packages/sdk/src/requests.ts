/**
 * The HTTP operations as data: what to send, and how to read the reply. Source: docs/wire.md, "HTTP operations".
 *
 * Sends nothing; `transport` has the address and the key.
 */
import { InvalidRequestError, ProtocolError, serviceError, type SvcError, UnavailableError } from "./errors.js";
import {
  FeedbackType,
  type Health,
  type ModelInfoInput,
  type Session,
  type SessionFile,
  type UserInfo,
} from "./messages.js";
import { object, parseObject, parseSessions, readFile, readSession, readUserInfo, ShapeError, text } from "./shapes.js";

const BINARY = "application/octet-stream";
const MIME_TYPE = /^[\w.+-]+\/[\w.+-]+(\s*;\s*[\w.-]+=[\w.+-]+)*$/;
const GATEWAY_CODES = new Map([
  [429, "rate_limited"],
  [502, "upstream_error"],
  [503, "unavailable"],
  [504, "unavailable"],
]);

/**
 * One request. `target` is path and query; `body` is null if there is none or a file is sent.
 *
 * `isRepeatable`: sending it twice has the same effect as once, so it may be retried after a lost reply.
 */
export interface Call<T> {
  method: "GET" | "POST";
  target: string;
  read: (body: string) => T;
  body: string | null;
  contentType: string;
  isRepeatable: boolean;
}

/** An HTTP reply. `retryAfter` is in seconds, or null. */
export interface Reply {
  status: number;
  body: string;
  retryAfter: number | null;
}

/** Body of POST /session/register; omitted fields get the service's defaults. */
export interface RegisterRequest {
  id: string;
  model?: string | ModelInfoInput;
  ttl?: number;
  name?: string;
  description?: string;
  language?: string;
  can_log?: boolean;
}

/** Body of POST /session/update; omitted or empty fields stay unchanged. */
export interface UpdateRequest {
  id: string;
  name?: string;
  description?: string;
  ttl?: number;
}

/** GET /health: the only operation that needs no key. */
export function health(): Call<Health> {
  return get("/health", (body) => {
    const fields = parseObject(body);
    return { status: text(fields, "status"), version: text(fields, "version") };
  });
}

/** GET /user/info: the key's user, the live sessions and the models. */
export function userInfo(): Call<UserInfo> {
  return get("/user/info", (body) => readUserInfo(parseObject(body)));
}

/** A page of sessions: at most `limit`, those after the session with the ID `after`. */
export interface SessionPage {
  limit?: number | undefined;
  after?: string | undefined;
}

/** GET /session/list: the live sessions, or a page of them, oldest first, without messages. */
export function listSessions({ limit, after }: SessionPage = {}): Call<Session[]> {
  const query = new URLSearchParams();
  if (limit !== undefined) query.set("limit", String(limit));
  if (after !== undefined) query.set("after_id", after);
  return get(query.size === 0 ? "/session/list" : `/session/list?${query.toString()}`, parseSessions);
}

/** POST /session/register. Repeatable, because the client chooses the ID: the same ID is the same session. */
export function register(request: RegisterRequest): Call<Session> {
  return post("/session/register", request, (body) => readSession(parseObject(body)["data"]), true);
}

/** GET /session/get: the session with its messages. */
export function getSession(sessionId: string): Call<Session> {
  const query = new URLSearchParams({ session_id: sessionId });
  return get(`/session/get?${query.toString()}`, (body) => readSession(parseObject(body)));
}

/** POST /session/update: the updated session, or null if the service does not return it. */
export function update(request: UpdateRequest): Call<Session | null> {
  return post("/session/update", request, readUpdated, true);
}

/** POST /session/delete. Not repeatable: the second reply would be "no such session". */
export function deleteSession(sessionId: string): Call<void> {
  return post("/session/delete", { id: sessionId }, readDone, false);
}

/** POST /session/upload_file; the bytes are passed separately. Not repeatable: it would attach a second file. */
export function uploadFile(sessionId: string, name: string, mimeTypeHint?: string): Call<SessionFile> {
  if (!name) {
    throw new InvalidRequestError("the file name is empty. Pass a name: questions refer to the file by it.", {
      param: "name",
    });
  }
  const contentType = mimeTypeHint || BINARY;
  if (!MIME_TYPE.test(contentType)) {
    throw new InvalidRequestError(
      `mimeTypeHint ${JSON.stringify(contentType.slice(0, 80))} is not a MIME type. Use one such as text/plain, or omit it.`,
      { param: "mimeTypeHint" },
    );
  }
  const query = new URLSearchParams({ session_id: sessionId, filename: name });
  return {
    method: "POST",
    target: `/session/upload_file?${query.toString()}`,
    read: (body) => readFile(parseObject(body)["data"]),
    body: null,
    contentType,
    isRepeatable: false,
  };
}

/** GET /session/file: the bytes are returned separately. */
export function readFileContent(sessionId: string, sha256: string): Call<void> {
  const query = new URLSearchParams({ session_id: sessionId, sha256 });
  return get(`/session/file?${query.toString()}`, () => undefined);
}

/** POST /session/detach_file. Not repeatable: another file may have that index by then. */
export function detachFile(sessionId: string, index: number): Call<void> {
  return post("/session/detach_file", { session_id: sessionId, file_idx: index }, readDone, false);
}

/** POST /session/feedback with a score. Not repeatable: it would count twice. */
export function sendFeedback(sessionId: string, score: number, comment: string, groupId: string): Call<void> {
  return feedback(sessionId, { type: FeedbackType.USER_FEEDBACK, score, comment }, groupId);
}

/** POST /session/feedback with a bug report. Throws InvalidRequestError if it is empty. */
export function sendBugReport(sessionId: string, bug: string, groupId: string): Call<void> {
  if (!bug.trim()) {
    throw new InvalidRequestError("the bug report is empty. Say what happened and what you expected.", {
      param: "comment",
    });
  }
  return feedback(sessionId, { type: FeedbackType.BUG_REPORT, score: 0, comment: bug }, groupId);
}

/** POST /stream/ticket: a ticket that opens one stream, once. Repeatable: a lost ticket does no harm. */
export function ticket(sessionId: string): Call<string> {
  return post("/stream/ticket", { session_id: sessionId }, (body) => text(parseObject(body), "ticket"), true);
}

/** Read the reply. Throws the matching ServiceError, or ProtocolError if the reply is malformed. */
export function readReply<T>(call: Call<T>, reply: Reply): T {
  if (reply.status < 200 || reply.status >= 300) throw readError(reply);
  try {
    return call.read(reply.body);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw new ProtocolError(
      `the reply to ${call.method} ${pathOf(call)} is invalid: ${error.message}. ` +
        "Check that baseUrl is an svc service of about the same version.",
    );
  }
}

/** The error of a reply outside 2xx. Without the service's error body, it came from a proxy. */
export function readError(reply: Reply): SvcError {
  try {
    const error = object(parseObject(reply.body)["error"], "error");
    return serviceError(text(error, "code"), text(error, "message"), {
      status: reply.status,
      param: typeof error["param"] === "string" ? error["param"] : null,
      retryAfter: reply.retryAfter,
    });
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    return foreignError(reply);
  }
}

/** The seconds of a `Retry-After` header; null if it is missing or a date (RFC 9110 allows one). */
export function parseRetryAfter(header: string | null | undefined): number | null {
  const trimmed = header?.trim() ?? "";
  return /^\d{1,9}(\.\d{1,3})?$/.test(trimmed) ? Number(trimmed) : null;
}

/** The path without its query, for error messages. */
export function pathOf(call: Call<unknown>): string {
  return call.target.split("?", 1)[0] ?? "";
}

function foreignError(reply: Reply): SvcError {
  const code = GATEWAY_CODES.get(reply.status);
  if (code === undefined) {
    return new ProtocolError(
      `HTTP ${reply.status} came back without the service's error body. ` +
        "Check that baseUrl and wsUrl point to an svc service, including any path prefix.",
    );
  }
  const message = `a proxy in front of the service answered HTTP ${reply.status}. Try again; if it persists, ask its admin.`;
  const details = { status: reply.status, retryAfter: reply.retryAfter };
  return code === "unavailable" ? new UnavailableError(message, details) : serviceError(code, message, details);
}

function feedback(sessionId: string, fields: object, groupId: string): Call<void> {
  const about = groupId ? { group_id: groupId } : {};
  return post("/session/feedback", { session_id: sessionId, ...fields, ...about }, readDone, false);
}

function get<T>(target: string, read: (body: string) => T): Call<T> {
  return { method: "GET", target, read, body: null, contentType: "", isRepeatable: true };
}

function post<T>(target: string, body: object, read: (body: string) => T, isRepeatable: boolean): Call<T> {
  const contentType = "application/json";
  return { method: "POST", target, read, body: JSON.stringify(body), contentType, isRepeatable };
}

function readDone(body: string): void {
  parseObject(body);
}

function readUpdated(body: string): Session | null {
  const { data } = parseObject(body);
  return data === null || data === undefined ? null : readSession(data);
}
