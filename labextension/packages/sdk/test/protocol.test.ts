/** The stream's state machine, checked against the golden transcripts in tests/wire (format: its README). */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { describe, expect, test } from "vitest";

import { ProtocolError, ServiceError, TooLargeError } from "../src/errors.js";
import { type Message, MessageType, newMessage } from "../src/messages.js";
import { StreamProtocol } from "../src/protocol.js";

type Line = Record<string, unknown> & { message?: Partial<Message> };

interface Transcript {
  name: string;
  after: number;
  seen?: string[];
  query: { id: string; turn: string; content: string; files?: string[] };
  earlier?: { turn: string; is_cancelled: boolean };
  frames: Line[];
  expect: {
    yielded: string[];
    after: number;
    answer_status?: string;
    error?: { code: string | null; status: number; message: string; retry_after?: number };
  };
}

const FOLDER = path.resolve(import.meta.dirname, "../../../../tests/wire");
const TRANSCRIPTS = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".json"))
  .map((name) => JSON.parse(readFileSync(path.join(FOLDER, name), "utf8")) as Transcript)
  .filter((script) => "query" in script);

/** Plays a transcript's frames through the protocol and checks what the client does after each. */
class Player {
  readonly protocol: StreamProtocol;
  readonly query: Message;
  readonly yielded: string[] = [];
  answerStatus: string | null = null;
  error: Error | null = null;
  #turn: string;
  #sent: Message[] = [];
  #isLeaving = false;

  constructor({ after, seen = [], earlier, query }: Transcript) {
    this.protocol = new StreamProtocol(after, seen);
    this.query = newMessage({ message_type: MessageType.QUERY, ...query });
    this.#turn = query.turn;
    if (earlier?.is_cancelled) this.protocol.cancel(earlier.turn);
    this.protocol.ask(this.query, earlier?.turn ?? null);
  }

  play(line: Line): void {
    if (line["connect"] !== undefined) {
      expect(line["connect"]).toEqual({ after: this.protocol.after });
      this.protocol.connected();
    } else if (line["from"] === "client") {
      const { sends, turn = this.query.turn, answers } = line as Record<string, string>;
      this.#expectSent(sends as string, turn, answers);
    } else if (line["from"] === "service") {
      this.receive((line["raw"] as string | undefined) ?? JSON.stringify(line.message));
    } else if (line["caller"] === "cancel") {
      this.protocol.cancel(this.#turn);
    } else if (line["caller"] === "answer") {
      this.protocol.answer(newMessage(line.message as Message));
    } else if (line["client_leaves"] === true) {
      expect(this.#isLeaving).toBe(true);
      this.#isLeaving = false;
    } else {
      expect(line["close"]).toBeTypeOf("number");
      expect(this.protocol.waitsFor).not.toBeNull();
    }
  }

  receive(frame: string): void {
    expect(this.#sent).toEqual([]);
    expect(this.protocol.outgoing(), "the client sends more than the transcript has").toEqual([]);
    const step = this.protocol.receive(frame);
    if (step.kind === "message") this.#take(step.message);
    if (step.kind === "refused" || step.kind === "fail") this.error = step.error;
    if (step.kind === "come_back" || step.kind === "lost") this.#isLeaving = true;
  }

  /** A streamer delivers every message; a transcript lists only those of its own turn. */
  #take(message: Message): void {
    if (message.id === this.query.id) this.#turn = message.turn;
    else if (message.turn !== this.#turn) return;
    else if (message.message_type !== MessageType.ERROR) {
      this.yielded.push(message.id);
      this.answerStatus ??= message.answer_status;
    } else {
      this.error = new ServiceError(message.content ?? "", {
        code: message.status_message,
        status: message.status_code,
      });
    }
  }

  #expectSent(kind: string, turn: string, answers: string | undefined): void {
    this.#sent.push(...this.protocol.outgoing().map((frame) => JSON.parse(frame) as Message));
    const message = this.#sent.shift();
    expect(message).toMatchObject({ message_type: kind, turn, ...(answers && { parent_id: answers }) });
    if (kind === "query") {
      expect(message).toMatchObject({ id: this.query.id, content: this.query.content });
      expect((message as unknown as Message).files).toEqual(this.query.files);
    }
  }
}

describe("a turn is followed as in the transcript", () => {
  test.each(TRANSCRIPTS.map((script) => [script.name, script] as const))("%s", (_, script) => {
    const player = new Player(script);

    for (const line of script.frames) player.play(line);

    expect(player.yielded).toEqual(script.expect.yielded);
    expect(player.protocol.after).toBe(script.expect.after);
    expect(player.protocol.outgoing()).toEqual([]);
    expect(player.answerStatus).toBe(script.expect.answer_status ?? null);
    checkError(player.error, script.expect.error);
    expect(player.protocol.waitsFor === null || player.error !== null).toBe(true);
  });
});

function checkError(error: Error | null, expected: Transcript["expect"]["error"]): void {
  if (expected === undefined) {
    expect(error).toBeNull();
  } else if (expected.code === null) {
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error?.message).toContain(expected.message);
  } else {
    expect(error).toBeInstanceOf(ServiceError);
    const { retry_after: retryAfter = null, ...details } = expected;
    expect(error).toMatchObject({ ...details, retryAfter });
  }
}

describe("a cut after any frame changes nothing for the caller", () => {
  const names = ["plain_turn", "other_readers_turn", "turn_renamed"];
  test.each(names.flatMap((name) => [1, 2, 3, 4, 5].map((cut) => [name, cut] as const)))("%s, %i", (name, cut) => {
    const script = TRANSCRIPTS.find((transcript) => transcript.name === name) as Transcript;
    const frames = script.frames.filter((line) => line["from"] === "service").map((line) => line.message);
    const player = new Player(script);
    const receive = (some: typeof frames): void => {
      for (const message of some) {
        player.protocol.outgoing();
        player.receive(JSON.stringify(message));
      }
    };
    player.protocol.connected();
    receive(frames.slice(0, cut));

    player.protocol.connected();
    receive(frames.slice(Math.max(0, cut - 2))); // the service may even send two again

    expect(player.yielded).toEqual(script.expect.yielded);
  });
});

test("a question that does not fit into a frame is refused before it is sent", () => {
  const query = newMessage({ message_type: MessageType.QUERY, turn: "t1", content: "a".repeat(1_048_577) });

  expect(() => {
    new StreamProtocol(0).ask(query);
  }).toThrow(TooLargeError);
});

function stored(seq: number, messageType: string, turn: string, state = "undefined"): string {
  return JSON.stringify({ message_type: messageType, turn, seq, state, id: `m${seq}` });
}

function kindsOf(frames: string[]): [string, string][] {
  return frames.map((frame) => JSON.parse(frame) as Message).map((message) => [message.message_type, message.turn]);
}

test("a cancel is repeated on every connection until its turn has ended", () => {
  const protocol = new StreamProtocol(2);
  protocol.cancel("t1");
  protocol.connected();
  expect(kindsOf(protocol.outgoing())).toEqual([["cancel", "t1"]]);

  protocol.receive(stored(3, "info", "t0", "end"));
  protocol.connected();
  expect(kindsOf(protocol.outgoing())).toEqual([["cancel", "t1"]]);

  protocol.receive(stored(4, "error", "t1", "end"));
  protocol.connected();
  expect(protocol.outgoing()).toEqual([]);
});

test("a query that arrives after its cancel is cancelled again", () => {
  const protocol = new StreamProtocol(0);
  protocol.cancel("t1");
  protocol.outgoing();

  protocol.receive(stored(1, "query", "t1", "query"));

  expect(kindsOf(protocol.outgoing())).toEqual([["cancel", "t1"]]);
});

test("an abandoned query is cancelled and not sent again", () => {
  const protocol = new StreamProtocol(0);
  protocol.ask(newMessage({ message_type: MessageType.QUERY, turn: "t1", content: "?" }));

  protocol.abandon();

  expect(kindsOf(protocol.outgoing())).toEqual([["cancel", "t1"]]);
  protocol.connected();
  expect(kindsOf(protocol.outgoing())).toEqual([["cancel", "t1"]]);
});
