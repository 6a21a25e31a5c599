// @vitest-environment node
/** The page's side of the golden messages in tests/wire/panel (format: tests/wire/README.md). The Python tests play the
 * same files with the kernel's side. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { ChannelTransport } from "../src/channel.js";
import type { Channel } from "../src/channel.js";
import type { ChatMessage } from "../src/transport.js";

const FOLDER = join(import.meta.dirname, "../../../../tests/wire/panel");

interface PageMessage {
  readonly id: string;
  readonly do: string;
  readonly [field: string]: unknown;
}

interface KernelMessage {
  readonly id?: string;
  readonly got?: boolean;
  readonly part?: readonly Partial<ChatMessage>[];
  readonly ok?: unknown;
  readonly error?: { readonly code: string; readonly text: string };
  readonly event?: string;
  readonly session?: { readonly id: string } | null;
  readonly messages?: readonly Partial<ChatMessage>[];
  readonly for?: string | null;
  readonly is_busy?: boolean;
  readonly text?: string;
}

interface Step {
  readonly page?: PageMessage;
  readonly buffers?: readonly string[];
  readonly kernel?: KernelMessage;
  readonly in_any_order?: readonly KernelMessage[];
  readonly cell?: string;
}

/** A channel whose other end is the file. */
class GoldenChannel implements Channel {
  readonly sent: { message: PageMessage; buffers: ArrayBuffer[] }[] = [];
  #listener: ((message: unknown, buffers: ArrayBuffer[]) => void) | undefined;
  send(message: object, buffers: ArrayBuffer[] = []): void {
    this.sent.push({ message: message as PageMessage, buffers });
  }
  onMessage(listener: (message: unknown, buffers: ArrayBuffer[]) => void): void {
    this.#listener = listener;
  }
  close(): void {
    this.#listener = undefined;
  }
  deliver(message: KernelMessage): void {
    this.#listener?.(structuredClone(message), []);
  }
}

/** What the page does to send this request: the transport's method if there is one. */
function call(transport: ChannelTransport, page: PageMessage, step: Step, signal: AbortSignal): Promise<unknown> {
  const operation = page.do;
  const fields = Object.fromEntries(Object.entries(page).filter(([name]) => name !== "id" && name !== "do"));
  const text = (name: string) => fields[name] as string;
  switch (operation) {
    case "open":
      return fields["history"] === false ? transport.state() : transport.open({ id: text("session_id") }, signal);
    case "send":
      return transport.send(text("content"), signal);
    case "cancel":
      return transport.cancel(text("turn"));
    case "user":
      return transport.user(signal);
    case "list":
      return transport.list(signal);
    case "update":
      return transport.update(fields);
    case "feedback":
      return transport.feedback(fields["score"] as number, text("comment"), text("group"));
    case "confirm":
      return transport.confirm(
        text("message_id"),
        fields["is_allowed"] ? (fields["is_once"] ? "once" : "session") : "deny",
      );
    case "detach":
      return transport.detach(fields["index"] as number);
    case "attach": {
      const content = (step.buffers ?? []).join("");
      if (fields["offset"] !== 0 || fields["size"] !== content.length) break; // one of several parts, or a path
      const file = new File([content], text("name"), { type: text("mime") });
      return transport.attach(file, { signal, onProgress: () => undefined });
    }
  }
  const buffers = step.buffers?.map((part) => new TextEncoder().encode(part).buffer);
  return transport.request(operation, fields, { signal, ...(buffers && { buffers }) });
}

/** Plays a file; returns what the page sent, what its calls came to, and what it was shown. */
async function play(steps: readonly Step[]) {
  const channel = new GoldenChannel();
  const events: unknown[] = [];
  const transport = new ChannelTransport(channel, {
    session: (session, model) => events.push({ event: "session", session, model }),
    waiting: (holder) => events.push({ event: "waiting", for: holder }),
    message: (message) => events.push(message.id),
    busy: (isBusy) => events.push({ event: "busy", is_busy: isBusy }),
  });
  const ids = new Map<string, string>(); // the file's request IDs, and those of this run
  const results = new Map<string, unknown>();
  const aborts = new Map<string, AbortController>();
  for (const step of steps) {
    const { page } = step;
    if (page) {
      const count = channel.sent.length;
      const abort = new AbortController();
      aborts.set(page.id, abort);
      if (typeof page["request"] === "string") aborts.get(page["request"])?.abort();
      else {
        call(transport, page, step, abort.signal).then(
          (value) => results.set(page.id, { ok: value }),
          (error: unknown) => results.set(page.id, { error }),
        );
      }
      await vi.waitFor(() => {
        expect(channel.sent).toHaveLength(count + 1);
      });
      const { message, buffers } = channel.sent.at(-1) as (typeof channel.sent)[number];
      ids.set(page.id, message.id);
      expect(message).toEqual({
        ...page,
        id: message.id,
        ...("request" in page && { request: ids.get(page["request"] as string) }),
        ...("upload" in page && { upload: message["upload"] }),
      });
      expect(buffers.map((part) => new TextDecoder().decode(part))).toEqual(step.buffers ?? []);
    }
    for (const message of step.in_any_order ?? (step.kernel ? [step.kernel] : [])) {
      channel.deliver(message.id === undefined ? message : { ...message, id: ids.get(message.id) ?? message.id });
    }
    await new Promise((resolve) => setTimeout(resolve));
  }
  return { events, results };
}

function kernelMessages(steps: readonly Step[]): readonly KernelMessage[] {
  return steps.flatMap((step) => step.in_any_order ?? (step.kernel ? [step.kernel] : []));
}

describe("the golden messages of the panel", () => {
  for (const name of readdirSync(FOLDER)) {
    it(`are sent and understood: ${name}`, async () => {
      const { messages: steps } = JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as { messages: Step[] };
      const { events, results } = await play(steps);
      const expected = kernelMessages(steps);
      for (const { id, ok, error } of expected) {
        const request = steps.find(({ page }) => page?.id === id)?.page;
        if (id === undefined || request === undefined || "request" in request) continue; // sent by aborting a request
        const result = results.get(id) as { ok?: unknown; error?: { code: string; message: string } } | undefined;
        if (error?.code === "cancelled") expect(result?.error?.code).toBe("cancelled");
        else if (error) expect(result?.error).toMatchObject({ code: error.code, message: error.text });
        else if (request.do === "open" && ok !== undefined) {
          const parts = expected.flatMap((message) => (message.id === id ? (message.part ?? []) : []));
          const state = ok as { session: unknown };
          expect(result?.ok).toMatchObject({ session: state.session, messages: parts });
        } else if (Array.isArray(ok) || (ok !== undefined && Object.keys(ok as object).length > 0)) {
          expect(result?.ok).toEqual(ok);
        }
      }
      const reported = expected.filter(({ event }) => event !== undefined && event !== "note");
      expect(events).toEqual(
        reported.flatMap((message): unknown[] =>
          message.event === "messages" ? (message.messages ?? []).map((one) => one.id) : [message],
        ),
      );
    });
  }
});
