/** Each operation: the request, the reply, and errors for malformed replies. */
import { expect, test } from "vitest";

import {
  InvalidRequestError,
  ProtocolError,
  RateLimitedError,
  UnavailableError,
  UpstreamError,
} from "../src/errors.js";
import * as requests from "../src/requests.js";

const FILE = { name: "a", size: 1, sha256: "0", mime_type: "text/plain", content_type_label: "txt", new: 1 };

function reply(status: number, body: unknown, retryAfter: number | null = null): requests.Reply {
  return { status, body: typeof body === "string" ? body : JSON.stringify(body), retryAfter };
}

test("a registration contains only the given fields", () => {
  const call = requests.register({ id: "s1", ttl: 300, can_log: false });

  expect([call.method, call.target]).toEqual(["POST", "/session/register"]);
  expect(JSON.parse(call.body ?? "")).toEqual({ id: "s1", ttl: 300, can_log: false });
});

test.each([
  ["health", requests.health(), true],
  ["register", requests.register({ id: "s1" }), true],
  ["get", requests.getSession("s1"), true],
  ["upload", requests.uploadFile("s1", "a"), false],
  ["detach", requests.detachFile("s1", 0), false],
  ["delete", requests.deleteSession("s1"), false],
  ["update", requests.update({ id: "s1" }), true],
  ["list", requests.listSessions(), true],
  ["user info", requests.userInfo(), true],
  ["ticket", requests.ticket("s1"), true],
  ["feedback", requests.sendFeedback("s1", 1, "", ""), false],
  ["bug report", requests.sendBugReport("s1", "bug", ""), false],
])("only repeatable operations are repeated: %s", (_, call, isRepeatable) => {
  expect(call.isRepeatable).toBe(isRepeatable);
});

test.each(["a b&c=d#e.log", "../../etc/passwd", "päß 日本", "a\udcff", "%00"])(
  "the file name %j travels as data",
  (name) => {
    const call = requests.uploadFile("s&1", name);

    const query = new URL(call.target, "http://x").searchParams;
    expect([...query]).toEqual([
      ["session_id", "s&1"],
      ["filename", name.replace("\udcff", "\ufffd")],
    ]);
    expect(call.contentType).toBe("application/octet-stream");
  },
);

test.each(["text", "text/plain\r\nX: y", "a/b c", "ä/b"])("a hint that is not a MIME type is refused: %j", (hint) => {
  expect(() => requests.uploadFile("s1", "a", hint)).toThrow(InvalidRequestError);
});

test("data of an operation is read and new fields are ignored", () => {
  const file = requests.readReply(requests.uploadFile("s1", "a"), reply(200, { ok: true, data: FILE }));

  expect([file.name, file.size]).toEqual(["a", 1]);
});

test.each(["", "<html>", "[]", '{"ok": true, "data": null}', '{"data": {"name": 1}}'])(
  "an invalid reply is a protocol error: %j",
  (body) => {
    const read = (): unknown => requests.readReply(requests.uploadFile("s1", "a"), reply(200, body));

    expect(read).toThrow(ProtocolError);
    expect(read).toThrow(/^the reply to POST \/session\/upload_file is invalid: .* Check that baseUrl/);
  },
);

test("the service's error is thrown with all its fields", () => {
  const body = { error: { code: "rate_limited", message: "over 600", type: "rate_limit_error", param: null } };

  const error = requests.readError(reply(429, body, 7));

  expect(error).toBeInstanceOf(RateLimitedError);
  expect(error).toMatchObject({ message: "over 600", retryAfter: 7, param: null });
});

test.each([
  ["redirect", 302, ProtocolError],
  ["another server", 404, ProtocolError],
  ["gateway's rate", 429, RateLimitedError],
  ["gateway", 502, UpstreamError],
  ["unavailable", 503, UnavailableError],
  ["gateway timeout", 504, UnavailableError],
])("an error without the wire's body is recognised: %s", (_, status, cls) => {
  const error = requests.readError(reply(status, "<h1>nginx</h1>"));

  expect(error.constructor).toBe(cls);
  expect(error.message).toContain(String(status));
});

test.each([
  ["7", 7],
  [" 1.5 ", 1.5],
  ["Fri, 20 Nov 2026 12:00:00 GMT", null],
  ["-1", null],
  ["1e9", null],
  ["9".repeat(12), null],
  [null, null],
])("Retry-After is read if it is in seconds: %j", (text, seconds) => {
  expect(requests.parseRetryAfter(text)).toBe(seconds);
});

test("feedback names the group if there is one", () => {
  const aboutAll = requests.sendFeedback("s1", 4, "good", "");
  const aboutOne = requests.sendBugReport("s1", "it broke", "g1");

  expect(JSON.parse(aboutAll.body ?? "")).toEqual({
    session_id: "s1",
    type: "user_feedback",
    score: 4,
    comment: "good",
  });
  expect(JSON.parse(aboutOne.body ?? "")).toEqual({
    session_id: "s1",
    type: "bug_report",
    score: 0,
    comment: "it broke",
    group_id: "g1",
  });
});

test("an update may be answered without the session", () => {
  const call = requests.update({ id: "s1", name: "n" });

  expect(requests.readReply(call, reply(200, { ok: true, data: null }))).toBeNull();
});
