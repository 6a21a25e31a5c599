/**
 * Has a service on plain http prove that it knows the key, and hides the key in each request.
 *
 * When a service on loopback ends, any user of the machine can take its port. `fetch` cannot bind a proof to a
 * connection, so the key is sent as a text that only the service can read, for one request. Source: docs/wire.md, "Proof
 * of the service".
 */
import { hex, utf8 } from "./content.js";
import { isRetriedStatus } from "./retry.js";

/** Why the key was not sent. `isPassing`: a later attempt may succeed. */
export class UnprovenError extends Error {
  override name = "UnprovenError";

  constructor(
    reason: string,
    readonly isKeyUnknown = false,
    readonly isPassing = false,
  ) {
    super(`the program that listens there did not prove that it is your service: ${reason}`);
  }
}

interface Answer {
  readonly proof: string;
  readonly address: string;
  readonly challenge: string;
}

const NONCE_BYTES = 32;
const NAME_CHARS = 16;

/**
 * One key at one service, or at services behind a balancer whose address they prove themselves for. In browsers the
 * first proven address is kept: behind a tunnel it is not the URL's.
 */
export class Proofs {
  readonly #key: string;
  readonly #isBrowser: boolean;
  #address: string;

  /** `tunnelTo` is the address that the service listens on; `isBrowser` accepts any on first use. */
  constructor(key: string, { tunnelTo = "", isBrowser = false } = {}) {
    this.#key = key;
    this.#isBrowser = isBrowser;
    this.#address = tunnelTo;
  }

  /** The `Authorization` of one request. Rejects with UnprovenError, or with fetch's own error. */
  async authorization(baseUrl: string, method: string, target: string, signal: AbortSignal): Promise<string> {
    if (isSecure(baseUrl)) return `Bearer ${this.#key}`;
    const challenge = await this.#check(baseUrl, signal);
    const pad = await mac("SHA-512", await this.#digest(), ["svc seal 1", challenge, method, target]);
    const key = utf8(this.#key);
    if (key.length > pad.length) throw new UnprovenError("the key is too long to be one of its keys", true);
    const sealed = String.fromCharCode(...key.map((byte, at) => byte ^ (pad[at] ?? 0)));
    return `Svc-Sealed ${challenge}.${btoa(sealed).replace(/[+/=]/g, urlSafe)}`;
  }

  /** Has the service prove itself, and returns its challenge. Rejects with UnprovenError, or with fetch's own error. */
  async #check(baseUrl: string, signal: AbortSignal): Promise<string> {
    const digest = await this.#digest();
    const nonce = hex(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)));
    const url = `${baseUrl}/proof?key=${hex(digest).slice(0, NAME_CHARS)}&nonce=${nonce}`;
    const response = await fetch(url, {
      cache: "no-store",
      credentials: "omit",
      redirect: "manual",
      referrerPolicy: "no-referrer",
      signal,
    });
    const { status } = response;
    if (status === 401) throw new UnprovenError("it does not know the key", true);
    if (status !== 200) throw new UnprovenError(`it answered HTTP ${status}`, false, isRetriedStatus(status, true));
    const answers = readAnswers(await response.text());
    const wanted = this.#address ? [this.#address] : addressesOf(new URL(baseUrl));
    const other = this.#isBrowser && !this.#address ? answers[0] : null;
    const {
      proof,
      address = "",
      challenge = "",
    } = answers.find((one) => wanted.includes(one.address ?? "")) ?? other ?? {};
    if (proof !== hex(await mac("SHA-256", digest, ["svc proof 1", nonce, address]))) {
      throw new UnprovenError("its proof is wrong");
    }
    this.#address = address;
    return challenge;
  }

  async #digest(): Promise<Uint8Array<ArrayBuffer>> {
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- missing outside secure contexts
    if (crypto.subtle === undefined) {
      throw new UnprovenError("this page was not loaded over https, so the browser cannot check a proof");
    }
    return new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(this.#key)));
  }
}

function urlSafe(character: string): string {
  return { "+": "-", "/": "_" }[character] ?? "";
}

/** Whether the address is https, whose certificate proves the service. */
function isSecure(address: string): boolean {
  return !/^http:/i.test(address);
}

/** The addresses that a service may have accepted the connection on. */
function addressesOf({ hostname, port }: URL): readonly string[] {
  const at = port || "80";
  const isNumeric = /^(\d+\.){3}\d+$|^\[/.test(hostname);
  return isNumeric ? [`${hostname}:${at}`] : [`127.0.0.1:${at}`, `[::1]:${at}`];
}

/** The service's own proof, then those for the addresses of its balancers; other values have no right proof. */
function readAnswers(body: string): readonly Partial<Answer>[] {
  try {
    const own = JSON.parse(body) as { fronts?: unknown } | null;
    return [own, own?.fronts].flat().filter(Boolean) as Partial<Answer>[];
  } catch {
    return [];
  }
}

async function mac(hash: string, digest: Uint8Array<ArrayBuffer>, fields: readonly string[]): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey("raw", digest, { name: "HMAC", hash }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8(fields.join("\0"))));
}
