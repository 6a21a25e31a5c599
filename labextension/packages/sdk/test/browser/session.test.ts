/** Sessions of a real local service, from a page of another origin: tickets, upload progress, no key in URLs. */
import { beforeAll, expect, inject, test } from "vitest";

import {
  InvalidApiKeyError,
  MessageType,
  SessionExpiredError,
  SessionNotFoundError,
  Svc,
  TooLargeError,
  UnreachableError,
} from "../../src/index.js";
import { follow, said } from "../streaming.js";

const { baseUrl, apiKey } = inject("service");
let svc: Svc;

beforeAll(async () => {
  svc = await Svc.create(apiKey, baseUrl);
});

test("a question is answered over a stream that a ticket opened", async () => {
  const session = await svc.createSession();
  const { streamer, messages, results, ended } = await follow(session);

  await streamer.send("count 3");
  await ended(1);

  expect(said(messages)).toEqual(["1", "2", "3", "count 3 (after 0)"]);
  expect(results).toHaveLength(1);
  expect(messages).toEqual(await session.history());
  streamer.close();
});

test("no URL that the page requested contains the key", async () => {
  const { streamer, ended } = await follow(await svc.createSession());
  await streamer.send("echo a");
  await ended(1);
  streamer.close();

  const addresses = performance.getEntriesByType("resource").map((entry) => entry.name);
  expect(addresses.filter((address) => address.startsWith(baseUrl)).length).toBeGreaterThan(2);
  expect(addresses.filter((address) => address.includes(apiKey))).toEqual([]);
});

test("a running turn is cancelled", async () => {
  const session = await svc.createSession();
  const { streamer, messages, until } = await follow(session);
  await streamer.send("wait");
  await until((message) => message.content === "waiting");

  expect(await session.cancel()).toBe(true);

  expect(messages.at(-1)).toMatchObject({ message_type: MessageType.ERROR, status_code: 499 });
  streamer.close();
});

test("a page reloaded during a turn sees all of it once", async () => {
  const first = await svc.createSession();
  const left = await first.streamer(() => undefined);
  await left.send("count 12 40");
  left.close();

  const session = await svc.resumeSession(first.sessionId);
  const history = await session.history();
  const { streamer, messages, ended } = await follow(session, { after: history.length });
  await ended(1);

  expect([...history, ...messages]).toEqual(await session.history());
  expect(said([...history, ...messages]).at(-1)).toBe("count 12 40 (after 0)");
  streamer.close();
});

test("an upload reports its progress", async () => {
  const session = await svc.createSession();
  const seen: number[] = [];

  await session.attachFile("big.bin", new Blob([new Uint8Array(20_000_000)]), undefined, {
    onprogress: ({ loaded, total }) => seen.push(loaded / total),
  });

  expect(seen.at(-1)).toBe(1);
  expect(session.files).toMatchObject([{ name: "big.bin", size: 20_000_000 }]);
});

test("a file is read back", async () => {
  const session = await svc.createSession();
  await session.attachFile("a.bin", new Uint8Array([0, 255, 10]));

  expect(await session.readFile(session.files[0]?.sha256 ?? "")).toEqual(new Uint8Array([0, 255, 10]));
});

test("an upload is aborted", async () => {
  const session = await svc.createSession();
  const controller = new AbortController();

  const uploading = session.attachFile("big.bin", new Uint8Array(20_000_000), undefined, {
    signal: controller.signal,
    onprogress: () => {
      controller.abort(new Error("not this one"));
    },
  });

  await expect(uploading).rejects.toThrow("not this one");
});

test.each([
  ["a wrong key", () => Svc.create("svc_wrong", baseUrl), InvalidApiKeyError],
  ["an unknown session", () => svc.resumeSession("nothing-here"), SessionNotFoundError],
])("%s has its own error class", async (_, act, cls) => {
  await expect(act()).rejects.toThrow(cls);
});

test("deleting a session closes its open stream with the reason", async () => {
  const session = await svc.createSession();
  const { streamer, states } = await follow(session);

  await session.delete();

  await expect.poll(() => states.at(-1)?.kind).toBe("closed");
  expect(streamer.state).toMatchObject({ error: expect.any(SessionExpiredError) as unknown });
});

test("a question over the limit is refused before it is sent", async () => {
  const { streamer } = await follow(await svc.createSession());

  await expect(streamer.send("x".repeat(1_048_577))).rejects.toThrow(TooLargeError);
  streamer.close();
});

test("a stream to an address without a service fails and names it", async () => {
  const session = await (await Svc.create(apiKey, baseUrl, "ws://127.0.0.1:1")).createSession();

  const opening = session.streamer(() => undefined);

  await expect(opening).rejects.toThrow(UnreachableError);
  await expect(opening).rejects.toThrow(/^ws:\/\/127\.0\.0\.1:1 does not answer/);
});
