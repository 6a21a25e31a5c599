// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ChannelTransport } from "../src/channel.js";
import type { Channel } from "../src/channel.js";
import type { ChatMessage, ChatSession, Connection } from "../src/transport.js";

interface Posted {
  id: string;
  do: string;
  session_id?: string;
  request?: string;
  name?: string;
  offset?: number;
}

/** A kernel that is controlled by the test. */
class Kernel implements Channel {
  posted: Posted[] = [];
  bytes: number[] = [];
  #listener: ((message: unknown, buffers: ArrayBuffer[]) => void) | undefined;
  send(message: object, buffers: ArrayBuffer[] = []): void {
    this.posted.push(message as Posted);
    this.bytes.push(buffers.reduce((sum, part) => sum + part.byteLength, 0));
  }
  onMessage(listener: (message: unknown, buffers: ArrayBuffer[]) => void): void {
    this.#listener = listener;
  }
  close(): void {
    this.#listener = undefined;
  }
  say(event: object): void {
    this.#listener?.(event, []);
  }
  /** Replies to the last request for that operation. */
  answer(operation: string, reply: object): void {
    const request = this.posted.findLast((one) => one.do === operation);
    if (!request) throw new Error(`no request for ${operation}`);
    this.say({ id: request.id, ...reply });
  }
}

const session: ChatSession = {
  id: "s1",
  name: "One",
  description: "",
  expire_time: 0,
  ttl: 300,
  can_log: true,
  files: [],
};

function state(held: ChatSession | null) {
  return { ok: { session: held, messages: [], model: "svc-1.1", is_busy: false, ipykernel: 7 } };
}

const info = (seq: number) => ({ id: `m${seq}`, turn: "t", seq, message_type: "info", actor: "a", created_at: 1 });

function listening() {
  const kernel = new Kernel();
  const transport = new ChannelTransport(kernel);
  const heard = {
    messages: [] as ChatMessage[],
    notices: [] as string[],
    sessions: [] as (string | null)[],
    connections: [] as Connection[],
  };
  transport.listen({
    onMessage: (message) => heard.messages.push(message),
    onConnection: (connection) => heard.connections.push(connection),
    onNotice: (text) => heard.notices.push(text),
    onSession: (held) => heard.sessions.push(held?.id ?? null),
  });
  return { kernel, transport, heard };
}

const signal = () => new AbortController().signal;
const settled = () => new Promise<void>((resolve) => setTimeout(resolve));

/** A transport that shows the kernel's session. */
async function opened() {
  const all = listening();
  all.kernel.answer("open", state(session));
  await settled();
  const opening = all.transport.open({ id: "s1" }, signal());
  all.kernel.answer("open", state(session));
  await opening;
  await settled();
  return all;
}

describe("the kernel's session", () => {
  it("is reported as soon as there is one, and shown on request", async () => {
    const { heard, kernel } = await opened();
    expect(heard.sessions).toEqual(["s1"]);
    expect(kernel.posted.map((one) => one.do)).toEqual(["open", "open"]);
  });

  it("gets the first question, if a cell created it meanwhile", () => {
    const { kernel, transport } = listening();
    kernel.answer("open", state(null));
    kernel.say({ event: "session", session, model: "svc-1.1" });
    void transport.open({ name: "New Session" }, signal());
    expect(kernel.posted.at(-1)).toMatchObject({ do: "open", session_id: "s1" });
  });

  it("gets a first question that is sent before the kernel has replied", async () => {
    const { kernel, transport } = listening();
    void transport.open({ name: "New Session" }, signal());
    expect(kernel.posted).toHaveLength(1);
    kernel.answer("open", state(session));
    await vi.waitFor(() => {
      expect(kernel.posted.at(-1)).toMatchObject({ do: "open", session_id: "s1" });
    });
  });

  it("is a new one after the user starts a new session, without the default name", async () => {
    const { kernel, transport } = await opened();
    void transport.open({ name: "New Session" }, signal());
    expect(kernel.posted.at(-1)).toMatchObject({ do: "new" });
    expect(kernel.posted.at(-1)?.name).toBeUndefined();
  });
});

describe("messages", () => {
  it("that arrive while the history is read are shown after it, each once", async () => {
    const { heard, kernel, transport } = listening();
    kernel.answer("open", state(session));
    await settled();
    const opening = transport.open({ id: "s1" }, signal());
    kernel.say({ event: "messages", session_id: "s1", messages: [info(2), info(3)] });
    kernel.answer("open", { part: [info(1), info(2)] });
    kernel.answer("open", state(session));
    expect((await opening).messages.map((one) => one.seq)).toEqual([1, 2]);
    await settled();
    expect(heard.messages.map((one) => one.seq)).toEqual([3]);
  });

  it("get defaults for omitted fields", async () => {
    const { heard, kernel } = await opened();
    kernel.say({ event: "message", message: info(1) });
    expect(heard.messages[0]).toMatchObject({ mime_type: "text/plain", status_code: 200, state: "undefined" });
  });

  it("of another session are not shown", async () => {
    const { heard, kernel } = await opened();
    kernel.say({ event: "messages", session_id: "s2", messages: [info(1)] });
    expect(heard.messages).toEqual([]);
  });
});

describe("what a question waits for", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is shown if the kernel does not reply for a second, until it does", () => {
    const { heard, kernel, transport } = listening();
    kernel.answer("open", { got: true });
    void transport.send("hello", signal());
    vi.advanceTimersByTime(999);
    expect(heard.notices).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(heard.notices).toEqual(["Queued: the kernel is busy."]);
    kernel.answer("send", { got: true });
    expect(heard.notices.at(-1)).toBe("");
  });

  it("is the asking cell", () => {
    const { heard, kernel } = listening();
    kernel.say({ event: "waiting", for: "In [12]" });
    kernel.say({ event: "waiting", for: null });
    expect(heard.notices).toEqual(["Waiting for In [12] to finish: the kernel asks one question at a time.", ""]);
  });
});

describe("a request", () => {
  it("that is aborted is cancelled in the kernel, too", async () => {
    const { kernel, transport } = await opened();
    const controller = new AbortController();
    const sending = transport.send("hello", controller.signal);
    controller.abort();
    await expect(sending).rejects.toMatchObject({ code: "cancelled" });
    const asked = kernel.posted.find((one) => one.do === "send");
    expect(kernel.posted.at(-1)).toMatchObject({ do: "cancel", request: asked?.id });
  });

  it("that fails has the wire's code, except the one that makes the element ask for a key", async () => {
    const { kernel, transport } = await opened();
    const list = transport.list(signal());
    kernel.answer("list", { error: { code: "rate_limited", text: "slower" } });
    await expect(list).rejects.toMatchObject({ code: "rate_limited", message: "slower" });
    const user = transport.user(signal());
    kernel.answer("user", { error: { code: "invalid_api_key", text: "%svc key asks for one" } });
    await expect(user).rejects.toMatchObject({ code: "", message: "%svc key asks for one" });
  });

  it("is rejected with the reason once the kernel is gone, like pending ones", async () => {
    const { heard, transport } = await opened();
    const sending = transport.send("hello", signal());
    transport.fail("the kernel has ended");
    await expect(sending).rejects.toThrow("the kernel has ended");
    await expect(transport.send("again", signal())).rejects.toThrow("the kernel has ended");
    expect(heard.connections.at(-1)).toBe("closed");
    expect(heard.notices.at(-1)).toBe("the kernel has ended");
  });
});

describe("a file", () => {
  const options = (shares: number[] = []) => ({ signal: signal(), onProgress: (share: number) => shares.push(share) });

  it("is sent in parts of one megabyte, each after the previous one was read", async () => {
    const { kernel, transport } = await opened();
    const shares: number[] = [];
    const attaching = transport.attach(new File([new Uint8Array(2_500_000)], "big.bin"), options(shares));
    for (const size of [1_048_576, 1_048_576, 402_848]) {
      await vi.waitFor(() => {
        expect(kernel.bytes.at(-1)).toBe(size);
      });
      kernel.answer("attach", { ok: { name: "big.bin", size: 2_500_000 } });
      await settled();
    }
    expect(await attaching).toEqual({ name: "big.bin", size: 2_500_000 });
    expect(shares.at(-1)).toBe(1);
    expect(kernel.posted.filter((one) => one.do === "attach").map((one) => one.offset)).toEqual([
      0, 1_048_576, 2_097_152,
    ]);
  });

  it("over 64 MiB is refused with a suggestion", async () => {
    const { transport } = await opened();
    const file = new File([], "huge.bin");
    Object.defineProperty(file, "size", { value: 70_000_000 });
    await expect(transport.attach(file, options())).rejects.toThrow("huge.bin is larger than 64 MiB. Save it");
  });
});
