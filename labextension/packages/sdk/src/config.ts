/**
 * Which service to talk to, and what is refused before a key could go astray. Does no I/O.
 *
 * Facts: docs/wire.md, "Addresses and authentication" and "Network and deployment".
 */
import { ConfigError } from "./errors.js";

/** Where `svc serve` listens by default. */
export const DEFAULT_BASE_URL = "http://127.0.0.1:8460";
export const DEFAULT_WS_URL = "ws://127.0.0.1:8460";

type Schemes = readonly [secure: string, plain: string];
const HTTP: Schemes = ["https", "http"];
const WS: Schemes = ["wss", "ws"];
const KEY = /^[!-~]+$/; // what can stand in a header: visible ASCII

/** A service that can be connected to. Addresses end without a slash; the key is in no field that shows. */
export class Config {
  readonly #apiKey: string;

  constructor(
    apiKey: string,
    readonly baseUrl: string,
    readonly wsUrl: string,
  ) {
    this.#apiKey = apiKey;
  }

  /** The value of the `Authorization` header. */
  authorization(): string {
    return `Bearer ${this.#apiKey}`;
  }
}

/** What is given, and in Node what the environment says; empty text is as good as none. */
export interface Given {
  apiKey?: string | undefined;
  baseUrl?: string | undefined;
  wsUrl?: string | undefined;
}

/**
 * The service that the arguments name, else the one that the environment names, else the default address.
 *
 * `SVC_WS_URL` counts only where no address is given, so that a question never goes to another host than its session.
 * Throws ConfigError where something cannot be used.
 */
export function resolve(given: Given, environ: Readonly<Record<string, string | undefined>> = {}): Config {
  const key = (given.apiKey || environ["SVC_API_KEY"] || "").trim();
  const base = given.baseUrl || environ["SVC_BASE_URL"];
  const stream = given.wsUrl || (given.baseUrl ? "" : environ["SVC_WS_URL"]);
  if (stream && !base) {
    throw new ConfigError("wsUrl is given without baseUrl. Give baseUrl, too; wsUrl may be left out.");
  }
  const baseUrl = address(base || DEFAULT_BASE_URL, "baseUrl", HTTP);
  const wsUrl = stream ? address(stream, "wsUrl", WS) : baseUrl.replace(/^http/i, "ws");
  return new Config(checkedKey(key, baseUrl), baseUrl, wsUrl);
}

/** Whether `host` is this machine alone: a loopback address, `localhost`, or a name below it (RFC 6761). */
export function isLoopback(host: string): boolean {
  const name = host
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  return name === "::1" || /^127(\.\d{1,3}){3}$/.test(name) || name === "localhost" || name.endsWith(".localhost");
}

function checkedKey(key: string, baseUrl: string): string {
  if (!key) throw new ConfigError(`${baseUrl} needs a key. Give one; \`svc keys create\` makes one.`);
  if (key.includes("://"))
    throw new ConfigError("apiKey holds an address. The key comes first: Svc.create(apiKey, baseUrl).");
  if (!KEY.test(key)) {
    throw new ConfigError("the key holds spaces or characters that no key has. Copy it again, alone, on one line.");
  }
  return key;
}

/** `text` without its last slash; refused where a key would be in the open, in it, or in a log. */
function address(text: string, name: string, schemes: Schemes): string {
  const [secure, plain] = schemes;
  const example = `${secure}://svc.example.org`;
  if (!text.includes("://")) {
    const hint = text.startsWith("svc_") ? " It looks like a key: the key comes first." : "";
    throw new ConfigError(`${name} is not an address.${hint} Give it whole, as ${example}.`);
  }
  const url = parsed(text, name);
  const scheme = url.protocol.slice(0, -1);
  if (!schemes.includes(scheme)) {
    throw new ConfigError(`${name} ${shown(url)} must begin with ${secure}:// or, on this machine, ${plain}://.`);
  }
  if (!url.hostname || url.port === "0" || /[\s\p{Cc}]/u.test(text)) {
    throw new ConfigError(`${name} ${shown(url)} has no usable host and port. Give it whole, as ${example}.`);
  }
  if (url.username || url.password || /[@?#]/.test(text)) {
    throw new ConfigError(
      `${name} ${shown(url)} carries a password, a query or a fragment, and addresses end up in logs. ` +
        "Give the address alone; the key is an argument of its own.",
    );
  }
  if (scheme === plain && !isLoopback(url.hostname)) {
    throw new ConfigError(
      `${name} ${shown(url)} would send the key unencrypted over the network. Use ${secure}://; ` +
        `${plain}:// is for this machine alone.`,
    );
  }
  return text.replace(/\/+$/, "");
}

function parsed(text: string, name: string): URL {
  try {
    return new URL(text);
  } catch {
    // its text shows the part it could not read, which may be a secret
    throw new ConfigError(`${name} is not an address that can be read. Check its host and port.`);
  }
}

/** The address for an error's text: its scheme, host and path, never what may be a secret. */
function shown(url: URL): string {
  return `"${url.protocol}//${url.host}${url.pathname.replace(/\/$/, "")}"`;
}
