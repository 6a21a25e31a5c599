/**
 * HTTP calls and websocket connections: the only module that uses the network; it translates network errors.
 *
 * `requests` decides what is sent and how replies read, `retry` what is retried, `protocol` what a frame means. The key
 * is sent in headers only, over plain http as a text that only the service can read (`proof`); in browsers, which cannot
 * set a websocket's headers, a ticket opens the stream.
 */
import { PLATFORM } from "#platform";

import type { Config } from "./config.js";
import {
  InvalidApiKeyError,
  ProtocolError,
  ServiceError,
  SessionExpiredError,
  SvcError,
  UnreachableError,
} from "./errors.js";
import {
  type FileBody,
  UpgradeRefusedError,
  type Socket,
  type SocketRequest,
  type UploadProgress,
} from "./platform.js";
import { Proofs, UnprovenError } from "./proof.js";
import { type Call, parseRetryAfter, pathOf, readError, readReply, type Reply, ticket } from "./requests.js";
import { CALL_LIMIT_SECONDS, closeMeaning, isRetriedStatus, Backoff } from "./retry.js";
import { limited, pause, TimeLimitError } from "./waiting.js";

const CONNECT_SECONDS = 10;
/** Time without a reply or upload progress after which a request fails. */
const REPLY_SECONDS = 60;
/** Node's error codes if no connection was made, so nothing was sent. Browsers do not say. */
const NOTHING_SENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;
const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/;

type HeaderFields = Record<string, string>;

/**
 * A connection could not be opened or was lost; retrying may help.
 *
 * `refusal` is the service's own error, if it gave one: it is thrown when retrying did not help.
 */
export class LostConnectionError extends UnreachableError {
  constructor(
    message: string,
    readonly refusal: ServiceError | null = null,
  ) {
    super(message);
    this.name = "UnreachableError"; // the public class
  }
}

/** Options of every call that waits. */
export interface AbortOptions {
  /** Aborting it rejects the call with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** One service, over HTTP and websocket. Keeps no open connection. */
export class Transport {
  readonly #proofs: Proofs;

  constructor(readonly config: Config) {
    this.#proofs = new Proofs(config.apiKey(), { tunnelTo: config.tunnelTo, isBrowser: PLATFORM.needsTicket });
  }

  /** Send, retry if allowed, and read the reply. Rejects with ServiceError, UnreachableError or ProtocolError. */
  call<T>(call: Call<T>, { signal }: AbortOptions = {}): Promise<T> {
    return this.#retried(call, signal, () => this.#fetch(call, signal));
  }

  /** `call` with a file as its body. */
  upload<T>(
    call: Call<T>,
    body: FileBody,
    { signal, onprogress }: AbortOptions & { onprogress?: ((progress: UploadProgress) => void) | undefined },
  ): Promise<T> {
    const send = async (ownSignal: AbortSignal, touch: () => void): Promise<Reply> =>
      PLATFORM.upload({
        address: this.config.baseUrl + call.target,
        headers: await this.#headers(call, ownSignal),
        body,
        onprogress: (progress) => {
          touch();
          onprogress?.(progress);
        },
        signal: ownSignal,
      });
    return this.#retried(call, signal, () => this.#translated(call, signal, send));
  }

  /** `call` for a reply of bytes. */
  async download(call: Call<void>, { signal }: AbortOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    let bytes = new Uint8Array();
    await this.#retried(call, signal, () =>
      this.#fetch(call, signal, async (response) => {
        if (!response.ok) return response.text();
        bytes = new Uint8Array(await response.arrayBuffer());
        return "";
      }),
    );
    return bytes;
  }

  /** Open one websocket for the messages after `after`; one attempt. Rejects with LostConnectionError if it may be retried. */
  async openStream(
    sessionId: string,
    after: number,
    handlers: Pick<SocketRequest, "onframe" | "onclose">,
    signal: AbortSignal,
  ): Promise<Socket> {
    const { wsUrl } = this.config;
    const query = new URLSearchParams({ session_id: sessionId, after: String(after) });
    const protocols = PLATFORM.needsTicket ? ["svc", `svc.ticket.${await this.#ticket(sessionId, signal)}`] : [];
    const target = `/stream?${query.toString()}`;
    try {
      const authorized = PLATFORM.needsTicket ? {} : await this.#authorized(wsUrl, "GET", target, signal);
      return await PLATFORM.openSocket({
        address: wsUrl + target,
        protocols,
        headers: authorized,
        openSeconds: CONNECT_SECONDS,
        ...handlers,
        signal,
      });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SvcError) throw error;
      if (error instanceof UpgradeRefusedError) throw refusedStream(error.reply, wsUrl);
      if (UNTRUSTED.test(codeOf(error))) throw untrusted(wsUrl, error);
      throw new LostConnectionError(unreachable(wsUrl, error));
    }
  }

  /** The key's header. What goes wrong before anything was sent may always be retried. */
  async #authorized(address: string, method: string, target: string, signal: AbortSignal): Promise<HeaderFields> {
    try {
      const httpAddress = address.replace(/^ws/i, "http");
      return { Authorization: await this.#proofs.authorization(httpAddress, method, target, signal) };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof UnprovenError)) throw new LostConnectionError(unreachable(address, error));
      const text = `${address}: ${error.message}. Neither your key nor your question was sent.`;
      if (error.isPassing) throw new LostConnectionError(text);
      if (error.isKeyUnknown) {
        throw new InvalidApiKeyError(`${text} Set a key that this service knows (\`svc keys create\` creates one).`);
      }
      throw new UnreachableError(`${text} Check the address, and whether the service is older than this client.`);
    }
  }

  async #ticket(sessionId: string, signal: AbortSignal): Promise<string> {
    const call = ticket(sessionId);
    const reply = await this.#fetch(call, signal);
    if (isRetriedStatus(reply.status, true)) throw refusedStream(reply, this.config.baseUrl);
    return readReply(call, reply);
  }

  async #retried<T>(call: Call<T>, signal: AbortSignal | undefined, send: () => Promise<Reply>): Promise<T> {
    const backoff = new Backoff(CALL_LIMIT_SECONDS);
    for (;;) {
      let failure: Error;
      let retryAfter: number | null = null;
      try {
        const reply = await send();
        if (!isRetriedStatus(reply.status, call.isRepeatable)) return readReply(call, reply);
        failure = readError(reply);
        retryAfter = reply.retryAfter;
      } catch (error) {
        if (!(error instanceof LostConnectionError)) throw error;
        failure = error;
      }
      const delay = backoff.nextDelay(seconds(), Math.random(), retryAfter);
      if (delay === null) throw failure;
      await pause(delay, signal);
    }
  }

  #fetch(
    call: Call<unknown>,
    signal: AbortSignal | undefined,
    read = (response: Response): Promise<string> => response.text(),
  ): Promise<Reply> {
    return this.#translated(call, signal, async (ownSignal) => {
      const response = await fetch(this.config.baseUrl + call.target, {
        method: call.method,
        headers: await this.#headers(call, ownSignal),
        body: call.body,
        cache: "no-store",
        credentials: "omit",
        redirect: "manual",
        referrerPolicy: "no-referrer",
        signal: ownSignal,
      });
      const retryAfter = parseRetryAfter(response.headers.get("Retry-After"));
      return { status: response.status, body: await read(response), retryAfter };
    });
  }

  /** One attempt. Rejects with LostConnectionError if it may be retried, UnreachableError if that could do it twice. */
  async #translated(
    call: Call<unknown>,
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal, touch: () => void) => Promise<Reply>,
  ): Promise<Reply> {
    const { baseUrl } = this.config;
    try {
      return await limited(REPLY_SECONDS, signal, send);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof SvcError) throw error;
      if (UNTRUSTED.test(codeOf(error))) throw untrusted(baseUrl, error);
      if (call.isRepeatable || NOTHING_SENT.test(codeOf(error))) {
        throw new LostConnectionError(unreachable(baseUrl, error));
      }
      throw new UnreachableError(
        `${baseUrl} did not reply to ${call.method} ${pathOf(call)} (${describe(error)}). ` +
          "The request may have been carried out: check the session before you try again.",
      );
    }
  }

  async #headers(call: Call<unknown>, signal: AbortSignal): Promise<HeaderFields> {
    const authorization = await this.#authorized(this.config.baseUrl, call.method, call.target, signal);
    return call.method === "POST" ? { ...authorization, "Content-Type": call.contentType } : authorization;
  }
}

/** The error for a closed stream: LostConnectionError (reconnect), or one that ends the stream. */
export function closedError(code: number, reason: string, address: string): Error {
  switch (closeMeaning(code)) {
    case "lost":
      return new LostConnectionError(`${address} closed the stream (code ${code}, ${reason || "no reason"}).`);
    case "key":
      return new InvalidApiKeyError(`the key is no longer valid (${reason || "revoked or expired"}). Set a new one.`);
    case "session":
      return new SessionExpiredError(`the session has ended (${reason || "expired or deleted"}). Make a new session.`);
    case "broken":
      return new ProtocolError(`${address} closed the stream with code ${code} (${reason || "no reason"}).`);
  }
}

/** Seconds of a monotonic clock. */
export function seconds(): number {
  return performance.now() / 1000;
}

function refusedStream(reply: Reply, address: string): Error {
  const refusal = readError(reply);
  if (refusal instanceof ServiceError && isRetriedStatus(reply.status, true)) {
    return new LostConnectionError(`${address} answered HTTP ${reply.status}.`, refusal);
  }
  return refusal;
}

function unreachable(address: string, error: unknown): string {
  return `${address} does not answer (${describe(error)}). Check that the service runs and the address is right.`;
}

function untrusted(address: string, error: unknown): UnreachableError {
  return new UnreachableError(
    `the certificate of ${address} is not trusted (${describe(error)}). If your own certificate authority issued it, ` +
      "set NODE_EXTRA_CA_CERTS to the authority's certificate file.",
  );
}

/** The cause of an error, if any: Node's fetch wraps the informative one. */
function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? error.cause : error;
}

function codeOf(error: unknown): string {
  const cause = causeOf(error);
  return cause instanceof Error && "code" in cause ? String(cause.code) : "";
}

function describe(error: unknown): string {
  const cause = causeOf(error);
  if (cause instanceof TimeLimitError) return cause.message;
  const text = cause instanceof Error ? cause.message.replace(/\s+/g, " ").trim() : "";
  return text || codeOf(error) || "no reason given";
}
