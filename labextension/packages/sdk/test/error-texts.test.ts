/** The exact texts of the SDK's own errors, and the error classes of the service's codes. */
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
    "no key",
    resolved(HERE, ""),
    ConfigError,
    "https://svc.example.org needs a key. Give one; `svc keys create` makes one.",
  ],
  [
    "stream alone",
    resolved("", KEY, STREAM),
    ConfigError,
    "wsUrl is given without baseUrl. Give baseUrl, too; wsUrl may be left out.",
  ],
  [
    "key is an address",
    resolved(HERE, HERE),
    ConfigError,
    "apiKey holds an address. The key comes first: Svc.create(apiKey, baseUrl).",
  ],
  [
    "key broken",
    resolved(HERE, "svc_a b"),
    ConfigError,
    "the key holds spaces or characters that no key has. Copy it again, alone, on one line.",
  ],
  [
    "address is a key",
    resolved(KEY),
    ConfigError,
    "baseUrl is not an address. It looks like a key: the key comes first. Give it whole, as https://svc.example.org.",
  ],
  [
    "scheme",
    resolved("ftp://a.example.org"),
    ConfigError,
    'baseUrl "ftp://a.example.org" must begin with https:// or, on this machine, http://.',
  ],
  [
    "no port",
    resolved("https://a:0"),
    ConfigError,
    'baseUrl "https://a:0" has no usable host and port. Give it whole, as https://svc.example.org.',
  ],
  [
    "unreadable",
    resolved("https://a:99999"),
    ConfigError,
    "baseUrl is not an address that can be read. Check its host and port.",
  ],
  [
    "password",
    resolved("https://u:pw@a.example.org"),
    ConfigError,
    'baseUrl "https://a.example.org" carries a password, a query or a fragment, and addresses end up in logs. Give the address alone; the key is an argument of its own.',
  ],
  [
    "in the open",
    resolved("http://a.example.org"),
    ConfigError,
    'baseUrl "http://a.example.org" would send the key unencrypted over the network. Use https://; http:// is for this machine alone.',
  ],
  [
    "stream in the open",
    resolved(HERE, KEY, "ws://a.example.org"),
    ConfigError,
    'wsUrl "ws://a.example.org" would send the key unencrypted over the network. Use wss://; ws:// is for this machine alone.',
  ],
  [
    "file without a name",
    () => requests.uploadFile("s", ""),
    InvalidRequestError,
    "the file has no name. Give one: it is how a question refers to it.",
  ],
  [
    "no MIME type",
    () => requests.uploadFile("s", "a", "text"),
    InvalidRequestError,
    'mimeTypeHint "text" is not a MIME type. Give one as text/plain, or leave it out.',
  ],
  [
    "empty bug",
    () => requests.sendBugReport("s", " ", ""),
    InvalidRequestError,
    "the bug report is empty. Say what happened and what you expected.",
  ],
  [
    "not of the wire",
    answered(200, "{}"),
    ProtocolError,
    "GET /health was answered with what is not of the wire: `status` is not text. Check that the base URL is a svc service, and that both have about the same version.",
  ],
  [
    "another server",
    answered(404, "<h1>"),
    ProtocolError,
    "HTTP 404 came back without the wire's error body. Check that base URL and websocket URL are a svc service's, path prefix and all.",
  ],
  [
    "gateway",
    answered(502, "<h1>"),
    UpstreamError,
    "something between here and the service answered HTTP 502. Try again; if it stays, ask its admin.",
  ],
  [
    "gateway away",
    answered(504, "<h1>"),
    UnavailableError,
    "something between here and the service answered HTTP 504. Try again; if it stays, ask its admin.",
  ],
  [
    "the service's own words",
    answered(410, '{"error": {"code": "session_expired", "message": "it ended"}}'),
    SessionExpiredError,
    "it ended",
  ],
  [
    "no message",
    received(0, "{}"),
    ProtocolError,
    'malformed message on the stream (`message_type` is not text): "{}"',
  ],
  [
    "set back",
    received(5, { message_type: "query", id: "q", turn: "t", seq: 3 }),
    ProtocolError,
    "the session went back to message 3 after message 5: the service was restored to an older state. Resume the session to continue from there.",
  ],
  [
    "opened too late",
    received(5, { message_type: "result", turn: "t", seq: 6 }),
    ProtocolError,
    "message 6 answers a question that never came: the stream was opened beyond what the session had. Open it after the last seq of history().",
  ],
  [
    "query refused",
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
    "question too long",
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
    "the question is 1,048,840 bytes on the wire; the service takes 1,048,576. Attach the long part as a file and ask about it.",
  ],
  [
    "closed",
    raising(closedError(1011, "", STREAM)),
    UnreachableError,
    "wss://svc.example.org closed the stream (code 1011, no reason).",
  ],
  [
    "key revoked",
    raising(closedError(4401, "revoked", STREAM)),
    InvalidApiKeyError,
    "the key is no longer valid (revoked). Set a new one.",
  ],
  [
    "session ended",
    raising(closedError(4410, "", STREAM)),
    SessionExpiredError,
    "the session has ended (expired or deleted). Make a new session.",
  ],
  [
    "closed strangely",
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

describe("the codes of the wire", () => {
  const python = readFileSync(path.resolve(import.meta.dirname, "../../../../svc/errors.py"), "utf8");
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

  test.each(errors.CODES)("%s has a class of its own, whose name survives a minifier", (code) => {
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
