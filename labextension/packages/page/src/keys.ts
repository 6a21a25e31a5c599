// HTTP client for the user's API keys. Source: docs/wire.md, "API keys". Has no user interface.

import { Proofs, UnprovenError } from "@svc-jupyter/sdk";

/** A key as the service returns it. Times are seconds since the epoch; 0 means never. */
export interface Key {
  readonly id: string;
  readonly name: string;
  readonly create_time: number;
  readonly expire_time: number;
  readonly revoke_time: number;
  readonly is_asking: boolean;
  readonly is_page: boolean;
}

export interface NewKey {
  readonly key: Key;
  readonly api_key: string;
}

/** The service refused a request; the message says what to do. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** The key operations, authorized by one key. `baseUrl` has no trailing slash. */
export class Keys {
  readonly #proofs: Proofs;

  constructor(
    readonly baseUrl: string,
    apiKey: string,
  ) {
    this.#proofs = new Proofs(apiKey, { isBrowser: true });
  }

  /** The ID of the key's user. */
  async user(signal: AbortSignal): Promise<string> {
    const info = (await this.#call("GET", "/user/info", undefined, signal)) as { user: { id: string } };
    return info.user.id;
  }

  /** All keys of the user, oldest first. */
  async list(signal: AbortSignal): Promise<readonly Key[]> {
    return ((await this.#call("GET", "/key/list", undefined, signal)) as { keys: Key[] }).keys;
  }

  /** Creates a key. `ttl` is in seconds; 0 is the maximum for the authorizing key. */
  async create(name: string, ttl: number, signal: AbortSignal): Promise<NewKey> {
    return ((await this.#call("POST", "/key/create", { name, ttl }, signal)) as { data: NewKey }).data;
  }

  async revoke(id: string, signal: AbortSignal): Promise<void> {
    await this.#call("POST", "/key/revoke", { id }, signal);
  }

  async #call(method: "GET" | "POST", path: string, body: unknown, signal: AbortSignal): Promise<unknown> {
    const request: RequestInit = { method, signal, cache: "no-store", credentials: "omit" };
    if (body !== undefined) request.body = JSON.stringify(body);
    const reply = await this.#send(path, method, request, signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
      if (error instanceof UnprovenError) throw new RefusedError(error.isKeyUnknown ? 401 : 0, `${error.message}.`);
      throw new RefusedError(0, "The service cannot be reached. Is it running? `svc open` starts a local one.");
    });
    const read: unknown = await reply.json().catch(() => null);
    if (!reply.ok) throw new RefusedError(reply.status, messageOf(read) ?? `The service answered ${reply.status}.`);
    return read;
  }

  async #send(path: string, method: string, request: RequestInit, signal: AbortSignal): Promise<Response> {
    const authorization = await this.#proofs.authorization(this.baseUrl, method, path, signal);
    const headers = { Authorization: authorization, "Content-Type": "application/json" };
    return fetch(this.baseUrl + path, { ...request, headers });
  }
}

function messageOf(body: unknown): string | undefined {
  const error = (body as { error?: { message?: unknown } } | null)?.error;
  return typeof error?.message === "string" ? error.message : undefined;
}
