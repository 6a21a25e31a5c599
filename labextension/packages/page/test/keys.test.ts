import { afterEach, expect, test, vi } from "vitest";
import { Keys, RefusedError } from "../src/keys.js";

const signal = new AbortController().signal;

function answer(status: number, body: unknown): ReturnType<typeof vi.fn> {
  const fetched = vi.fn(() => Promise.resolve(new Response(JSON.stringify(body), { status })));
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

afterEach(() => {
  vi.unstubAllGlobals();
});

test("the key is sent in the header, never in the URL", async () => {
  const fetched = answer(200, { keys: [] });
  expect(await new Keys("https://svc.example.org/a", "svc_secret").list(signal)).toEqual([]);
  const [address, request] = fetched.mock.calls[0] as [string, RequestInit];
  expect(address).toBe("https://svc.example.org/a/key/list");
  expect(request.headers).toMatchObject({ Authorization: "Bearer svc_secret" });
  expect(request.credentials).toBe("omit");
});

test("a refusal has the status and the service's message", async () => {
  answer(400, { error: { message: "you have 50 keys" } });
  const refused = new Keys("", "k").create("a", 0, signal);
  await expect(refused).rejects.toMatchObject({ status: 400, message: "you have 50 keys" });
});

test("a reply that is not JSON is reported with its status", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("<html>", { status: 502 })));
  await expect(new Keys("", "k").list(signal)).rejects.toThrow("The service answered 502.");
});

test("an unreachable service is reported", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("failed")));
  await expect(new Keys("", "k").list(signal)).rejects.toThrow(RefusedError);
});

test("an aborted request stays aborted", async () => {
  const leaving = new AbortController();
  leaving.abort();
  vi.stubGlobal("fetch", () => Promise.reject(new DOMException("aborted", "AbortError")));
  await expect(new Keys("", "k").list(leaving.signal)).rejects.toThrow("aborted");
});

test("the client's JSON does not contain the key", () => {
  expect(JSON.stringify(new Keys("https://svc.example.org", "svc_secret"))).not.toContain("svc_secret");
});
