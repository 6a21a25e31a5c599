/** Properties and files of a session of a real local service, from Node. */
import { beforeAll, describe, expect, inject, test } from "vitest";

import {
  endsTurn,
  InvalidRequestError,
  type Message,
  type SessionFile,
  SessionFileNotFoundError,
  Svc,
} from "../src/index.js";

const { baseUrl, apiKey } = inject("service");
let svc: Svc;

beforeAll(async () => {
  svc = await Svc.create(apiKey, baseUrl);
});

describe("properties and files of a session", () => {
  test("changes are visible at once, and a new ttl counts from now", async () => {
    const session = await svc.createSession({ ttl: 300 });

    await session.update({ name: "new", description: "words", ttl: 1_000 });

    expect([session.name, session.description, session.ttl]).toEqual(["new", "words", 1_000]);
    expect(session.timeLeft).toBeGreaterThan(900);
  });

  test.each([
    ["text", "päß", undefined, 5],
    ["text with a hint", "a,b\n", "text/csv", 4],
    ["JSON", "{}", "application/json", 2],
    ["base64 of a picture", btoa("\x89PNG\r\n"), "image/png", 6],
    ["an ArrayBuffer", new Uint8Array([1, 2, 3]).buffer, undefined, 3],
    ["a view on bytes", new Uint8Array([1, 2, 3]).subarray(1), undefined, 2],
    ["a Blob", new Blob(["abcd"]), undefined, 4],
    ["nothing", "", undefined, 0],
  ])("%s is attached", async (name, content, hint, size) => {
    const session = await svc.createSession();

    const attached: SessionFile[] = [];
    await session.attachFile(name, content, hint, { onattached: (file) => attached.push(file) });

    expect(attached).toMatchObject([{ name, size }]);
    expect(session.files).toEqual(attached);
    const [file] = attached;
    expect((await session.refresh()).files).toEqual([file]);
  });

  test.each([
    ["text", "Füße\n", new TextEncoder().encode("Füße\n")],
    ["bytes that are no text", new Uint8Array([0, 255, 254, 13, 10]), new Uint8Array([0, 255, 254, 13, 10])],
    ["an empty file", "", new Uint8Array()],
    ["a megabyte", new Uint8Array(1_000_000).fill(7), new Uint8Array(1_000_000).fill(7)],
  ])("%s is read back as it was attached", async (name, content, bytes) => {
    const session = await svc.createSession();
    await session.attachFile(name, content);
    const file = session.files[0] as SessionFile;

    for (const which of [file, file.sha256]) {
      const read = await session.readFile(which);
      expect(Buffer.compare(read, bytes)).toBe(0); // toEqual takes ten seconds for a megabyte
    }
  });

  test("a file that the session does not have is not read", async () => {
    const session = await svc.createSession();

    await expect(session.readFile("0".repeat(64))).rejects.toThrow(SessionFileNotFoundError);
    await expect(session.readFile("../x&session_id=y")).rejects.toThrow(InvalidRequestError);
  });

  test("a string that is not base64 is refused for a binary type", async () => {
    const session = await svc.createSession();

    const refused = session.attachFile("a.png", "<png>", "image/png");

    await expect(refused).rejects.toThrow(InvalidRequestError);
    await expect(refused).rejects.toThrow(/is not valid base64/);
  });

  test("an upload reports its progress", async () => {
    const session = await svc.createSession();
    const seen: number[] = [];

    await session.attachFile("big.bin", new Uint8Array(3_000_000), undefined, {
      onprogress: ({ loaded, total }) => seen.push(loaded / total),
    });

    expect(seen.length).toBeGreaterThan(3);
    expect(seen.at(-1)).toBe(1);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
  });

  test("files are detached by index or by object", async () => {
    const session = await svc.createSession();
    await session.attachFile("a.txt", "a");
    await session.attachFile("b.txt", "b");

    await session.detachFile(session.files[1] as SessionFile);
    expect(session.files.map((file) => file.name)).toEqual(["a.txt"]);
    await expect(session.detachFile(7)).rejects.toThrow(SessionFileNotFoundError);
    await expect(session.detachFile(7)).rejects.toThrow("no such file: 7. The session has 1: a.txt.");
    await session.detachFile(0);
    expect(session.files).toEqual([]);
  });

  test("feedback and a bug report are accepted", async () => {
    const session = await svc.createSession();

    await session.sendFeedback(5, "good");
    await session.sendBugReport("it broke");
    await expect(session.sendBugReport(" ")).rejects.toThrow(InvalidRequestError);
  });

  test("an error in a callback does not stop the stream", async () => {
    const session = await svc.createSession();
    const faults: unknown[] = [];
    const catching = (error: unknown): void => {
      faults.push(error);
    };
    const listeners = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException").on("uncaughtException", catching);
    const ends: Message[] = [];
    const streamer = await session.streamer((message) => {
      if (endsTurn(message)) ends.push(message);
      throw new Error("mine");
    });

    await streamer.send("echo a");
    await expect.poll(() => ends).toHaveLength(1);

    streamer.close();
    process.removeListener("uncaughtException", catching);
    for (const listener of listeners) process.on("uncaughtException", listener);
    expect(faults).toHaveLength(3);
  });
});
