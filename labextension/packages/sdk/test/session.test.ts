/** Sessions of a real local service, from Node. */
import { inspect } from "node:util";

import { beforeAll, describe, expect, inject, test } from "vitest";

import {
  InteractiveSession,
  InvalidApiKeyError,
  InvalidRequestError,
  type Message,
  MessageTypeEnum,
  SessionExpiredError,
  SessionNotFoundError,
  Svc,
  TooLargeError,
  TurnInProgressError,
  UpstreamError,
} from "../src/index.js";
import { follow, said } from "./streaming.js";

const { baseUrl, apiKey } = inject("service");
let svc: Svc;

beforeAll(async () => {
  svc = await Svc.create(apiKey, baseUrl);
});

describe("the client", () => {
  test("the defaults of a session are a day, logged, in English", async () => {
    const session = await svc.createSession();

    expect(session).toBeInstanceOf(InteractiveSession);
    expect([session.ttl, session.logSession, session.language]).toEqual([86_400, true, "en"]);
    expect(session.sessionId).toMatch(/^[0-9a-f]{32}$/);
    expect(session.timeLeft).toBeGreaterThan(86_300);
  });

  test("a session has the requested properties", async () => {
    const session = await svc.createSession({
      ttl: 600,
      name: "triage",
      description: "of the week",
      logSession: false,
      model: { use_experimental: false },
      language: "de-CH",
    });

    const { ttl, name, description, logSession, language, model } = session;
    expect({ ttl, name, description, logSession, language }).toEqual({
      ttl: 600,
      name: "triage",
      description: "of the week",
      logSession: false,
      language: "de-CH",
    });
    expect(model.model_string).toBe("svc-1.1");
  });

  test("the user and the models can be read", async () => {
    const { user, available_models } = await svc.getUserInfo();

    expect((await svc.getUser()).email).toBe(user.email);
    expect(user.email).toBeTypeOf("string");
    expect(available_models[0]?.model_string).toBe("svc-1.1");
  });

  test("a session is resumed, with and without a client", async () => {
    const { sessionId } = await svc.createSession({ name: "again" });

    expect((await svc.resumeSession(sessionId)).name).toBe("again");
    expect((await Svc.resumeSession(sessionId)).name).toBe("again");
    expect((await Svc.resumeSession(sessionId, { apiKey, baseUrl })).name).toBe("again");
    expect((await svc.listSessions()).map((session) => session.id)).toContain(sessionId);
  });

  test("a resumed session returns its history, and only newer messages are streamed", async () => {
    const first = await svc.createSession();
    const before = await follow(first);
    await before.streamer.send("one");
    await before.ended(1);
    before.streamer.close();
    const history: Message[] = [];
    const onhistory = (messages: Message[]): unknown => history.push(...messages);
    const again = await follow(await svc.resumeSession(first.sessionId, { onhistory }));
    await again.streamer.send("two");
    await again.ended(1);
    again.streamer.close();
    expect(history).toEqual(before.messages);
    expect(again.messages[0]?.seq).toBe(history.length + 1);
  });

  test("a wrong key is refused at once", async () => {
    await expect(Svc.create("svc_wrong", baseUrl)).rejects.toThrow(InvalidApiKeyError);
  });

  test("an unreachable service is retried, then named", async () => {
    const signal = AbortSignal.timeout(200);
    await expect(Svc.create(apiKey, "http://127.0.0.1:1", undefined, { signal })).rejects.toThrow(/timeout/);
  });

  test("an unknown session is not found", async () => {
    await expect(svc.resumeSession("nothing-here")).rejects.toThrow(SessionNotFoundError);
    await expect(svc.resumeSession("")).rejects.toThrow(InvalidRequestError);
    await expect(svc.resumeSession("")).rejects.toThrow("sessionId is empty. Pass the sessionId of a session.");
  });

  test("the key is not shown anywhere", async () => {
    const session = await svc.createSession();
    const { streamer } = await follow(session);
    const refused = await Svc.create("svc_refused", baseUrl).catch((error: unknown) => error);

    for (const thing of [svc, session, streamer, refused]) {
      const shown = inspect(thing, { depth: 10, showHidden: true }) + JSON.stringify(thing) + String(thing);
      expect(shown).not.toMatch(/svc_refused|Bearer svc_\w/);
      expect(shown).not.toContain(apiKey);
    }
    streamer.close();
  });
});

describe("a turn", () => {
  test("every message arrives once and in order, the RESULT also at onresult", async () => {
    const session = await svc.createSession();
    const { streamer, messages, results, ended } = await follow(session);

    await streamer.send("count 3");
    const [echo] = messages; // the question is stored and delivered when `send` resolves
    await ended(1);

    expect(echo).toMatchObject({ message_type: "query", content: "count 3", seq: 1 });
    expect(messages.map((message) => message.seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(said(messages)).toEqual(["1", "2", "3", "count 3 (after 0)"]);
    expect(results.map((result) => result.message_type)).toEqual([MessageTypeEnum.RESULT]);
    expect(await session.history()).toEqual(messages);
    expect([session.numMessages, session.turns, session.state]).toEqual([6, 1, "agent_done"]);
    streamer.close();
  });

  test("a question in the callback of the answer waits for the turn's end", async () => {
    const session = await svc.createSession();
    const next: Promise<void>[] = [];
    let isDone = (): void => undefined;
    const done = new Promise<void>((resolve) => {
      isDone = resolve;
    });
    const answers: (string | null)[] = [];
    const streamer = await session.streamer(
      () => undefined,
      (result) => {
        answers.push(result.content);
        if (answers.length < 3) next.push(streamer.send(`echo ${answers.length}`));
        else isDone();
      },
    );

    await streamer.send("echo 0");
    await done;

    expect(answers).toEqual(["echo 0 (after 0)", "echo 1 (after 1)", "echo 2 (after 2)"]);
    await expect(Promise.all(next)).resolves.toHaveLength(2);
    streamer.close();
  });

  test("questions sent at once are answered one after the other", async () => {
    const session = await svc.createSession();
    const { streamer, messages, ended } = await follow(session);

    await Promise.all(["echo a", "echo b", "echo c"].map((prompt) => streamer.send(prompt)));
    await ended(3);

    const echoes = messages.filter(({ message_type: type }) => type === MessageTypeEnum.QUERY);
    expect(echoes.map((echo) => echo.content)).toEqual(["echo a", "echo b", "echo c"]);
    expect(said(messages)).toEqual(["echo a (after 0)", "echo b (after 1)", "echo c (after 2)"]);
    streamer.close();
  });

  test("a failing turn ends with its ERROR, and the stream continues", async () => {
    const session = await svc.createSession();
    const { streamer, messages, ended, states } = await follow(session);

    await streamer.send("fail the model is gone");
    await ended(1);
    await streamer.send("echo next");
    await ended(2);

    const error = messages.find((message) => message.message_type === MessageTypeEnum.ERROR);
    expect(error).toMatchObject({ status_code: 502, status_message: new UpstreamError("").code, state: "end" });
    expect(states).toEqual([{ kind: "connected" }]);
    streamer.close();
  });

  test("another client's running turn causes a question to be refused; a later one is accepted", async () => {
    const session = await svc.createSession();
    const mine = await follow(session);
    const theirs = await follow(await svc.resumeSession(session.sessionId));
    await theirs.streamer.send("wait");

    await expect(mine.streamer.send("echo me")).rejects.toThrow(TurnInProgressError);

    await session.cancel();
    await mine.streamer.send("echo me");
    await mine.ended(2);
    expect(said(mine.messages)).toEqual(["waiting", "echo me (after 0)"]);
    mine.streamer.close();
    theirs.streamer.close();
  });

  test("a turn whose end was not read does not block the next question", async () => {
    const session = await svc.createSession();
    const left = await session.streamer(() => undefined);
    await left.send("count 5 40");
    left.close();

    const { streamer, messages, ended } = await follow(session);
    await streamer.send("echo next");
    await ended(2);

    expect(said(messages).at(-1)).toBe("echo next (after 1)");
    expect(messages.map((message) => message.seq)).toEqual(messages.map((_, place) => (messages[0]?.seq ?? 0) + place));
    streamer.close();
  });

  test("a session resumed in the middle of a turn sees the rest of it", async () => {
    const { sessionId } = await svc.createSession().then(async (session) => {
      const streamer = await session.streamer(() => undefined);
      await streamer.send("count 10 40");
      streamer.close();
      return session;
    });

    const session = await svc.resumeSession(sessionId);
    const before = await session.history();
    const { streamer, messages, ended } = await follow(session, { after: before.length });
    await ended(1);

    expect([...before, ...messages]).toEqual(await session.history());
    streamer.close();
  });

  test.each(["", " \n"])("an empty question is refused: %j", async (prompt) => {
    const { streamer } = await follow(await svc.createSession());

    await expect(streamer.send(prompt)).rejects.toThrow(InvalidRequestError);
    streamer.close();
  });

  test("a question over the limit is refused before it is sent", async () => {
    const { streamer } = await follow(await svc.createSession());

    await expect(streamer.send("x".repeat(1_048_577))).rejects.toThrow(TooLargeError);
    streamer.close();
  });

  test("a lone surrogate does not stop a question", async () => {
    const { streamer, messages, ended } = await follow(await svc.createSession());

    await streamer.send("echo a\ud800b");
    await ended(1);

    expect(said(messages)).toEqual(["echo a\ufffdb (after 0)"]);
    streamer.close();
  });
});

describe("ending early", () => {
  test("a cancelled turn ends with its ERROR", async () => {
    const session = await svc.createSession();
    const { streamer, messages, until } = await follow(session);
    await streamer.send("wait");
    await until((message) => message.content === "waiting");

    expect(await session.cancel()).toBe(true);

    expect(messages.at(-1)).toMatchObject({ message_type: "error", status_code: 499, status_message: "cancelled" });
    expect(await session.cancel()).toBe(false);
    streamer.close();
  });

  test("a turn is cancelled without a streamer, from another page", async () => {
    const session = await svc.createSession();
    const { streamer, ended } = await follow(session);
    await streamer.send("wait");

    expect(await (await svc.resumeSession(session.sessionId)).cancel()).toBe(true);

    await ended(1);
    streamer.close();
  });

  test("a turn can be cancelled twice at once, and again after it has ended", async () => {
    const session = await svc.createSession();
    const { streamer, messages } = await follow(session);
    await streamer.send("wait");
    const turn = messages[0]?.turn ?? "";

    await Promise.all([streamer.cancelTurn(turn), streamer.cancelTurn(turn)]);

    await streamer.cancelTurn(turn);
    streamer.close();
  });

  test("a pending cancel is rejected when its stream closes", async () => {
    const session = await svc.createSession();
    const { streamer } = await follow(session);

    const cancelling = streamer.cancelTurn("of-nobody");
    streamer.close();

    await expect(cancelling).rejects.toThrow("the streamer was closed");
  });

  test("a second streamer starts where the first one was set to", async () => {
    const session = await svc.createSession();
    const first = await follow(session);
    await first.streamer.send("echo a");
    await first.ended(1);
    first.streamer.close();
    const resumed = await svc.resumeSession(session.sessionId);
    (await follow(resumed, { after: 3 })).streamer.close();

    const { streamer, messages, ended } = await follow(resumed);
    await streamer.send("echo b");
    await ended(1);

    expect(messages[0]?.content).toBe("echo b");
    streamer.close();
  });

  test("a question aborted before its confirmation is cancelled", async () => {
    const session = await svc.createSession();
    const { streamer, messages, ended } = await follow(session);
    const controller = new AbortController();

    const sending = streamer.send("wait", { signal: controller.signal });
    controller.abort(new Error("not any more"));

    await expect(sending).rejects.toThrow("not any more");
    await streamer.send("echo next");
    await ended(1);
    expect(said(messages).at(-1)).toMatch(/^echo next/);
    streamer.close();
  });

  test("an aborted signal ends every waiting call", async () => {
    const signal = AbortSignal.abort(new Error("stop"));
    const session = await svc.createSession();
    const waits = [
      svc.createSession({ signal }),
      svc.listSessions({ signal }),
      svc.resumeSession(session.sessionId, { signal }),
      session.history({ signal }),
      session.update({ name: "x" }, { signal }),
      session.attachFile("a", "a", undefined, { signal }),
      session.detachFile(0, { signal }),
      session.sendFeedback(1, "", "", { signal }),
      session.streamer(() => undefined, null, { signal }),
      session.delete({ signal }),
    ];

    for (const wait of waits) await expect(wait).rejects.toThrow("stop");
    expect((await session.refresh()).name).not.toBe("x");
  });

  test("an aborted signal closes its streamer, and later questions are refused", async () => {
    const controller = new AbortController();
    const { streamer, states } = await follow(await svc.createSession(), { signal: controller.signal });

    controller.abort();

    expect(streamer.state).toEqual({ kind: "closed", error: null });
    expect(states.at(-1)).toEqual({ kind: "closed", error: null });
    await expect(streamer.send("echo")).rejects.toThrow("the streamer is closed");
  });

  test("a deleted session closes its stream with the reason", async () => {
    const session = await svc.createSession();
    const { streamer, states } = await follow(session);

    await session.delete();

    await expect.poll(() => states.at(-1)?.kind).toBe("closed");
    expect(streamer.state).toMatchObject({ error: expect.any(SessionExpiredError) as unknown });
    await expect(streamer.send("echo")).rejects.toThrow(SessionExpiredError);
    await expect(session.streamer(() => undefined)).rejects.toThrow(/./);
  });
});
