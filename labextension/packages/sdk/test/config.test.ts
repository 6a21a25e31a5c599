/** Resolving the service, and rejecting addresses that would expose the key. */
import { expect, test } from "vitest";

import { DEFAULT_BASE_URL, DEFAULT_WS_URL, type ConnectionOptions, isLoopback, resolve } from "../src/config.js";

const KEY = "svc_secret";
const HERE = "https://svc.example.org";

test.each<[string, ConnectionOptions, Record<string, string>, string, string]>([
  ["the default", {}, {}, DEFAULT_BASE_URL, DEFAULT_WS_URL],
  ["an address", { baseUrl: `${HERE}/prefix/` }, {}, `${HERE}/prefix`, "wss://svc.example.org/prefix"],
  ["two addresses", { baseUrl: HERE, wsUrl: "wss://ws.example.org" }, {}, HERE, "wss://ws.example.org"],
  ["the environment", {}, { SVC_BASE_URL: HERE, SVC_WS_URL: "wss://b" }, HERE, "wss://b"],
  ["no foreign stream", { baseUrl: HERE }, { SVC_WS_URL: "wss://b" }, HERE, "wss://svc.example.org"],
  ["this machine", { baseUrl: "http://[::1]:1" }, {}, "http://[::1]:1", "ws://[::1]:1"],
  ["capitals", { baseUrl: "HTTP://localhost" }, {}, "HTTP://localhost", "ws://localhost"],
])("the service is resolved: %s", (_, given, environ, baseUrl, wsUrl) => {
  const config = resolve({ apiKey: KEY, ...given }, environ);

  expect([config.baseUrl, config.wsUrl, config.apiKey()]).toEqual([baseUrl, wsUrl, KEY]);
});

test("a key may come from the environment, and whitespace is trimmed", () => {
  expect(resolve({}, { SVC_API_KEY: ` ${KEY}\n` }).apiKey()).toBe(KEY);
});

test.each([
  ["127.0.0.1", true],
  ["127.9.9.9", true],
  ["[::1]", true],
  ["localhost.", true],
  ["a.localhost", true],
  ["127.0.0.1.example.org", false],
  ["10.0.0.1", false],
  ["notlocalhost", false],
])("%s is this machine: %s", (host, isLocal) => {
  expect(isLoopback(host)).toBe(isLocal);
});

test.each(["https://u:hunter2@a.example.org", "https://a.example.org/?key=hunter2", "https://a.example.org/#hunter2"])(
  "a possible secret in an address is not repeated: %s",
  (baseUrl) => {
    expect(() => resolve({ apiKey: KEY, baseUrl })).toThrow(/contains a password, a query or a fragment/);
    expect(() => resolve({ apiKey: KEY, baseUrl })).not.toThrow(/hunter2/);
  },
);
