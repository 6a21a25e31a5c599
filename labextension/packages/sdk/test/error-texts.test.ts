/** The exact texts of the SDK's own errors, which the Python SDK shares, and the error classes of the service's codes. */
import { readFileSync } from "node:fs";
import path from "node:path";

import { describe, expect, test } from "vitest";

import { resolve } from "../src/config.js";
import * as errors from "../src/errors.js";
import { type Message, MessageType, newMessage } from "../src/messages.js";
import { StreamProtocol } from "../src/protocol.js";
import * as requests from "../src/requests.js";
import { closedError } from "../src/transport.js";

const KEY = "svc_secret";
const HERE = "https://svc.example.org";
const STREAM = "wss://svc.example.org";
const REPOSITORY = path.resolve(import.meta.dirname, "../../../..");
/** Rows whose texts name arguments, values or types that the languages do not share. */
const NAMES_DIFFER = new Set([
  "no-key",
  "ws-alone",
  "key-is-an-address",
  "no-host",
  "password",
  "not-of-the-wire",
  "frame-is-no-message",
  "question-too-long",
]);

function resolved(baseUrl: string, apiKey = KEY, wsUrl = ""): () => unknown {
  return () => resolve({ apiKey, baseUrl, wsUrl });
}

function received(after: number, frame: Partial<Message> | string): () => void {
  return () => {
    const protocol = new StreamProtocol(after);
    protocol.ask(newMessage({ message_type: MessageType.QUERY, id: "q", turn: "t", content: "?" }));
    const step = protocol.receive(typeof frame === "string" ? frame : JSON.stringify(frame));
    if (step.kind === "fail" || step.kind === "refused") throw step.error;
  };
}

function raising(error: Error): () => void {
  return () => {
    throw error;
  };
}

function answered(status: number, body: string): () => unknown {
  return () => requests.readReply(requests.health(), { status, body, retryAfter: null });
}

const { ConfigError, InvalidApiKeyError, InvalidRequestError, ProtocolError, SessionExpiredError } = errors;
const { TooLargeError, TurnInProgressError, UnavailableError, UnreachableError, UpstreamError } = errors;

// prettier-ignore - one row per text
const ROWS: [string, () => unknown, new (text: string) => Error, string][] = [
  [
    "no-key",
    resolved(HERE, ""),
    ConfigError,
    'baseUrl "https://svc.example.org" needs a key. Pass apiKey (`svc keys create` creates one).',
  ],
  [
    "ws-alone",
    resolved("", KEY, STREAM),
    ConfigError,
    "wsUrl was given without baseUrl. Set baseUrl as well; wsUrl is optional.",
  ],
  [
    "key-is-an-address",
    resolved(HERE, HERE),
    ConfigError,
    "apiKey is a URL. The key is the first argument: Svc.create(apiKey, baseUrl).",
  ],
  [
    "key-broken",
    resolved(HERE, "svc_a b"),
    ConfigError,
    "the API key contains spaces or invalid characters. Copy it again, on one line.",
  ],
  [
    "address-is-a-key",
    resolved(KEY),
    ConfigError,
    "baseUrl is not a URL. It looks like a key, which is the first argument. Use a complete URL such as https://svc.example.org.",
  ],
  [
    "scheme",
    resolved("ftp://a.example.org"),
    ConfigError,
    'baseUrl "ftp://a.example.org" must start with https:// or, for this machine only, http://.',
  ],
  [
    "no-host",
    resolved("https://a:0"),
    ConfigError,
    'baseUrl "https://a:0" has no valid host and port. Use a complete URL such as https://svc.example.org.',
  ],
  ["port", resolved("https://a:99999"), ConfigError, "baseUrl is not a valid URL. Check its host and port."],
  [
    "password",
    resolved("https://u:pw@a.example.org"),
    ConfigError,
    'baseUrl "https://a.example.org" contains a password, a query or a fragment, and URLs end up in logs. Remove it; the key belongs in apiKey.',
  ],
  [
    "in-the-open",
    resolved("http://a.example.org"),
    ConfigError,
    'baseUrl "http://a.example.org" would send the key unencrypted over the network. Use https://; http:// is for this machine only.',
  ],
  [
    "stream in the open",
    resolved(HERE, KEY, "ws://a.example.org"),
    ConfigError,
    'wsUrl "ws://a.example.org" would send the key unencrypted over the network. Use wss://; ws:// is for this machine only.',
  ],
  [
    "file-without-a-name",
    () => requests.uploadFile("s", ""),
    InvalidRequestError,
    "the file name is empty. Pass a name: questions refer to the file by it.",
  ],
  [
    "no-mime-type",
    () => requests.uploadFile("s", "a", "text"),
    InvalidRequestError,
    'mimeTypeHint "text" is not a MIME type. Use one such as text/plain, or omit it.',
  ],
  [
    "empty-bug",
    () => requests.sendBugReport("s", " ", ""),
    InvalidRequestError,
    "the bug report is empty. Say what happened and what you expected.",
  ],
  [
    "not-of-the-wire",
    answered(200, "{}"),
    ProtocolError,
    "the reply to GET /health is invalid: `status` is not text. Check that baseUrl is an svc service of about the same version.",
  ],
  [
    "another-server",
    answered(404, "<h1>"),
    ProtocolError,
    "HTTP 404 came back without the service's error body. Check that baseUrl and wsUrl point to an svc service, including any path prefix.",
  ],
  [
    "gateway",
    answered(502, "<h1>"),
    UpstreamError,
    "a proxy in front of the service answered HTTP 502. Try again; if it persists, ask its admin.",
  ],
  [
    "gateway-away",
    answered(504, "<h1>"),
    UnavailableError,
    "a proxy in front of the service answered HTTP 504. Try again; if it persists, ask its admin.",
  ],
  [
    "the service's own words",
    answered(410, '{"error": {"code": "session_expired", "message": "it ended"}}'),
    SessionExpiredError,
    "it ended",
  ],
  [
    "frame-is-no-message",
    received(0, "{}"),
    ProtocolError,
    'malformed message on the stream (`message_type` is not text): "{}"',
  ],
  [
    "set-back",
    received(5, { message_type: "query", id: "q", turn: "t", seq: 3 }),
    ProtocolError,
    "the session went back to message 3 after message 5: the service was restored to an older state. Resume the session to continue from there.",
  ],
  [
    "lost from the first",
    received(0, { message_type: "error", seq: 0, status_code: 409, status_message: "history_lost" }),
    ProtocolError,
    "history_lost on a stream that begins at message 1",
  ],
  [
    "opened too late",
    received(5, { message_type: "result", turn: "t", seq: 6 }),
    ProtocolError,
    "message 6 belongs to a question that was not received: the stream was opened past the session's end. Open it after the last seq of history().",
  ],
  [
    "query-refused",
    received(0, {
      message_type: "error",
      turn: "t",
      status_code: 409,
      status_message: "turn_in_progress",
      content: "a turn runs; wait",
    }),
    TurnInProgressError,
    "a turn runs; wait",
  ],
  [
    "question-too-long",
    () => {
      new StreamProtocol(0).ask(
        newMessage({
          message_type: MessageType.QUERY,
          id: "q",
          turn: "t",
          content: "x".repeat(1_048_576),
          created_at: 1,
          timestamp: 1,
        }),
      );
    },
    TooLargeError,
    "the question is 1,048,861 bytes on the wire; the limit is 1,048,576. Attach the long part as a file and ask about it.",
  ],
  [
    "closed",
    raising(closedError(1011, "", STREAM)),
    UnreachableError,
    "wss://svc.example.org closed the stream (code 1011, no reason).",
  ],
  [
    "key-revoked",
    raising(closedError(4401, "revoked", STREAM)),
    InvalidApiKeyError,
    "the key is no longer valid (revoked). Set a new one.",
  ],
  [
    "session-ended",
    raising(closedError(4410, "", STREAM)),
    SessionExpiredError,
    "the session has ended (expired or deleted). Make a new session.",
  ],
  [
    "closed-strangely",
    raising(closedError(1003, "what?", STREAM)),
    ProtocolError,
    "wss://svc.example.org closed the stream with code 1003 (what?).",
  ],
];

test.each(ROWS)("the error text is pinned: %s", (_, act, cls, text) => {
  let caught: unknown;
  try {
    act();
  } catch (error) {
    caught = error;
  }

  expect(caught).toBeInstanceOf(cls);
  expect((caught as Error).message).toBe(text);
});

test("the Python SDK has the same texts", () => {
  const python = readFileSync(path.resolve(REPOSITORY, "tests/svc/test_error_texts.py"), "utf8");
  const rows = python.matchAll(/^ {4}\("([\w-]+)", .*?, "([^"\\]+)"\),$/gm);
  const theirs = new Map([...rows].map(([, id, text]) => [id, text]));
  const shared = ROWS.filter(([id]) => theirs.has(id) && !NAMES_DIFFER.has(id));

  expect(shared.length).toBeGreaterThan(15);
  for (const [id, , , text] of shared) {
    const camelCase = theirs.get(id)?.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    expect(text.replaceAll('"', "'"), id).toBe(camelCase);
  }
});

describe("the service's error codes", () => {
  const python = readFileSync(path.resolve(REPOSITORY, "svc/errors.py"), "utf8");
  const classes = Object.values(errors).filter((value) => typeof value === "function" && "defaultCode" in value);

  test("every error class of the Python SDK with a code exists here, with the same status and code", () => {
    const theirs = [
      ...python.matchAll(/^class (\w+)\((?:ServiceError|InvalidRequestError)\):([\s\S]*?)(?=^class|^_CLASSES)/gm),
    ];
    expect(theirs.length).toBeGreaterThan(15);
    for (const [, name = "", body = ""] of theirs) {
      const ours = classes.find((cls) => cls.name === name) as typeof errors.ServiceError | undefined;
      expect(ours, name).toBeDefined();
      const code = /default_code = "(\w+)"/.exec(body)?.[1];
      const status = /default_status = (\d+)/.exec(body)?.[1];
      if (code !== undefined) expect(ours?.defaultCode, name).toBe(code);
      if (status !== undefined) expect(ours?.defaultStatus, name).toBe(Number(status));
    }
  });

  test.each(errors.CODES)("%s has its own class, whose name survives a minifier", (code) => {
    const error = errors.serviceError(code, "text", { status: 400, param: "a", retryAfter: 2 });

    expect(error.constructor).not.toBe(errors.ServiceError);
    expect(error).toMatchObject({ name: error.constructor.name, code, message: "text", param: "a", retryAfter: 2 });
  });

  test("an unknown code of a newer service is a plain ServiceError", () => {
    const error = errors.serviceError("zork", "text", { status: 418 });

    expect(error.constructor).toBe(errors.ServiceError);
    expect(error).toMatchObject({ code: "zork", status: 418, retryAfter: null });
  });
});
