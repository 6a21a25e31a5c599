/** Lost and silent connections, and services that crash: no message is lost or repeated. */
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";

import { type Message, MessageType, SessionExpiredError, Svc, TooLargeError, UnreachableError } from "../src/index.js";
import { FaultProxy } from "./fault-proxy.js";
import { LocalService } from "./local-service.js";
import { follow, said } from "./streaming.js";

const { baseUrl, apiKey } = inject("service");

function counted(number: number): string[] {
  return Array.from({ length: number }, (_, place) => String(place + 1));
}

function checkWhole(messages: Message[], history: Message[]): void {
  expect(messages.map((message) => message.seq)).toEqual(history.map((_, place) => place + 1));
  expect(messages).toEqual(history);
}

describe("over a failing network", () => {
  let proxy: FaultProxy;
  let svc: Svc;

  beforeEach(async () => {
    proxy = await FaultProxy.start(baseUrl);
    svc = await Svc.create(apiKey, proxy.baseUrl);
  });

  afterEach(() => {
    proxy.close();
  });

  test("a turn whose connection is cut continues", async () => {
    const session = await svc.createSession();
    const { streamer, messages, states, until, ended } = await follow(session);
    await streamer.send("count 20 20");

    for (const word of ["5", "12"]) {
      await until((message) => message.content === word);
      proxy.cutAll();
    }
    await ended(1);

    expect(said(messages)).toEqual([...counted(20), "count 20 20 (after 0)"]);
    expect(states.map((state) => state.kind)).toEqual([
      "connected",
      ...["reconnecting", "connected"],
      ...["reconnecting", "connected"],
    ]);
    checkWhole(messages, await session.history());
    streamer.close();
  });

  test("a turn that is cut again and again is answered once and completely", async () => {
    const session = await svc.createSession();
    const { streamer, messages, ended } = await follow(session);
    let pieces = 0;
    proxy.cuts = () => (pieces += 1) % 4 === 0;

    for (const turn of [0, 1, 2]) {
      await streamer.send("count 15 2");
      await ended(turn + 1);
    }
    proxy.cuts = () => false;

    const history = await session.history();
    expect(history.filter((message) => message.message_type === MessageType.QUERY)).toHaveLength(3);
    expect(history.filter((message) => message.message_type === MessageType.RESULT)).toHaveLength(3);
    checkWhole(messages, history);
    expect(proxy.connections).toBeGreaterThan(4);
    streamer.close();
  });

  test("turns of several sessions through dozens of cuts end with one answer each", async () => {
    let dice = 1;
    let cuts = 0;
    const sessions = await Promise.all([1, 2, 3, 4].map(() => svc.createSession()));
    proxy.cuts = () => {
      dice = (dice * 48_271) % 2_147_483_647; // the same sequence in every run (Park and Miller's generator)
      const isCut = dice % 8 === 0;
      if (isCut) cuts += 1;
      return isCut;
    };
    const asking = sessions.map(async (session) => {
      const { streamer, messages, ended } = await follow(session);
      for (let turns = 0; cuts < 60; turns += 1) {
        await streamer.send("count 25 2");
        await ended(turns + 1);
      }
      streamer.close();
      return messages;
    });
    const seen = await Promise.all(asking);
    proxy.cuts = () => false;

    for (const [place, session] of sessions.entries()) {
      const history = await session.history();
      const number = (kind: string): number => history.filter((message) => message.message_type === kind).length;
      checkWhole(seen[place] ?? [], history);
      expect([number(MessageType.RESULT), number(MessageType.ERROR)]).toEqual([number(MessageType.QUERY), 0]);
    }
  }, 60_000);

  test("a question on a silently lost connection is sent again on a new one", async () => {
    const session = await svc.createSession();
    const { streamer, messages, ended } = await follow(session);
    proxy.isSilent = true;

    const sending = streamer.send("echo there?");
    setTimeout(() => {
      proxy.isSilent = false;
    }, 4_000);
    await sending;
    await ended(1);

    expect(said(messages)).toEqual(["echo there? (after 0)"]);
    streamer.close();
  });

  test("an idle stream whose connection is cut receives other clients' questions", async () => {
    const session = await svc.createSession();
    const { streamer, messages, ended } = await follow(session);
    proxy.cutAll();

    const other = await follow(await svc.resumeSession(session.sessionId));
    await other.streamer.send("echo theirs");
    await ended(1);

    expect(said(messages)).toEqual(["echo theirs (after 0)"]);
    streamer.close();
    other.streamer.close();
  });
});

describe("a separate service", () => {
  let service: LocalService;

  afterEach(async () => {
    await service.remove();
  });

  test("a service that is killed during a turn finishes it after a restart", async () => {
    service = await LocalService.start();
    const svc = await Svc.create(service.apiKey, service.baseUrl);
    const session = await svc.createSession();
    const { streamer, messages, results, until, ended } = await follow(session);
    await streamer.send("count 30 30");
    await until((message) => message.content === "7");

    await service.kill();
    await service.startAgain();
    await ended(1);

    expect(results.map((result) => result.content)).toEqual(["count 30 30 (after 0)"]);
    checkWhole(messages, await session.history());
    streamer.close();
  }, 40_000);

  test("a file over the limit is refused with both figures during its upload", async () => {
    service = await LocalService.start("--max-upload-bytes", "100000");
    const session = await (await Svc.create(service.apiKey, service.baseUrl)).createSession();

    const refused = session.attachFile("big.bin", new Uint8Array(30_000_000));

    await expect(refused).rejects.toThrow(TooLargeError);
    await expect(refused).rejects.toThrow(/100,000/);
    expect((await session.refresh()).files).toEqual([]);
  });

  test("an expired session closes its stream with the reason", async () => {
    service = await LocalService.start("--min-ttl-seconds", "1");
    const svc = await Svc.create(service.apiKey, service.baseUrl);
    const session = await svc.createSession({ ttl: 2 });
    const { streamer, states } = await follow(session);

    await expect.poll(() => states.at(-1)?.kind, { timeout: 8_000 }).toBe("closed");

    expect(streamer.state).toMatchObject({ error: expect.any(SessionExpiredError) as unknown });
    expect(session.timeLeft).toBe(0);
    await expect(svc.resumeSession(session.sessionId)).rejects.toThrow(SessionExpiredError);
  });

  test("a call to a stopped service fails after ten seconds and names its address", async () => {
    service = await LocalService.start();
    const svc = await Svc.create(service.apiKey, service.baseUrl);
    await service.kill();

    await expect(svc.listSessions()).rejects.toThrow(UnreachableError);
  });
});

test("a session whose service was restored to an older state goes on, and shows nothing twice", async () => {
  const service = await LocalService.start();
  try {
    const svc = await Svc.create(service.apiKey, service.baseUrl);
    const session = await svc.createSession();
    const { streamer, messages, ended } = await follow(session);
    await streamer.send("count 2 0");
    await ended(1);
    const kept = messages.length;
    await service.kill();
    service.backUp();
    await service.startAgain();
    await streamer.send("count 9 0");
    await ended(2);
    const seen = messages.length;
    await service.kill();
    service.restore();
    await service.startAgain();
    await streamer.send("count 3 0");
    await ended(3);
    const history = await session.history();
    const { numMessages, turns } = session;
    await streamer.send("count 1 0");
    await ended(4);

    expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
    expect(history.map(({ seq }) => seq)).toEqual(history.map((_, place) => place + 1));
    const shown = [...messages.slice(0, kept), ...messages.slice(seen)].slice(0, history.length);
    expect(shown.map(({ id }) => id)).toEqual(history.map(({ id }) => id));
    expect([numMessages, turns]).toEqual([history.length, 2]);
    streamer.close();
  } finally {
    await service.remove();
  }
}, 120_000);
