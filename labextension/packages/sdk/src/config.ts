/**
 * Decides which service to connect to, and rejects addresses that would expose the key. Does no I/O.
 *
 * Source: docs/wire.md, "Addresses and authentication" and "Network and deployment".
 */
import { ConfigError } from "./errors.js";

/** Default address of `svc serve`. */
export const DEFAULT_BASE_URL = "http://127.0.0.1:8460";
export const DEFAULT_WS_URL = "ws://127.0.0.1:8460";

type Schemes = readonly [secure: string, plain: string];
const HTTP: Schemes = ["https", "http"];
const WS: Schemes = ["wss", "ws"];
const KEY = /^[!-~]+$/; // visible ASCII: what an HTTP header may contain

/** The address and key of a service. Addresses have no trailing slash; the key is private, so nothing prints it. */
export class Config {
  readonly #apiKey: string;

  constructor(
    apiKey: string,
    readonly baseUrl: string,
    readonly wsUrl: string,
    /** The numeric address that the service itself listens on, if baseUrl is a tunnel's end on this machine. */
    readonly tunnelTo = "",
  ) {
    this.#apiKey = apiKey;
  }

  /** The key; a method, so that nothing prints it. */
  apiKey(): string {
    return this.#apiKey;
  }
}

/** The key and addresses that a caller passes. An empty string counts as omitted. */
export interface ConnectionOptions {
  apiKey?: string | undefined;
  baseUrl?: string | undefined;
  wsUrl?: string | undefined;
}

/**
 * Resolve the service from the options, then the environment, then the default address.
 *
 * `SVC_WS_URL` is ignored if `baseUrl` is given, so that a question never goes to a different host than its session.
 * Throws ConfigError if a value cannot be used.
 */
export function resolve(
  options: ConnectionOptions,
  environ: Readonly<Record<string, string | undefined>> = {},
): Config {
  const key = (options.apiKey || environ["SVC_API_KEY"] || "").trim();
  const base = options.baseUrl || environ["SVC_BASE_URL"];
  const stream = options.wsUrl || (options.baseUrl ? "" : environ["SVC_WS_URL"]);
  if (stream && !base) {
    throw new ConfigError("wsUrl was given without baseUrl. Set baseUrl as well; wsUrl is optional.");
  }
  const baseUrl = address(base || DEFAULT_BASE_URL, "baseUrl", HTTP);
  const wsUrl = stream ? address(stream, "wsUrl", WS) : baseUrl.replace(/^http/i, "ws");
  return new Config(checkedKey(key, baseUrl), baseUrl, wsUrl, environ["SVC_TUNNEL_TO"]);
}

/** Whether `host` is this machine: a loopback address, `localhost`, or a subdomain of it (RFC 6761). */
export function isLoopback(host: string): boolean {
  const name = host
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  return name === "::1" || /^127(\.\d{1,3}){3}$/.test(name) || name === "localhost" || name.endsWith(".localhost");
}

function checkedKey(key: string, baseUrl: string): string {
  if (!key) {
    throw new ConfigError(
      `baseUrl ${JSON.stringify(baseUrl)} needs a key. Pass apiKey (\`svc keys create\` creates one).`,
    );
  }
  if (key.includes("://"))
    throw new ConfigError("apiKey is a URL. The key is the first argument: Svc.create(apiKey, baseUrl).");
  if (!KEY.test(key)) {
    throw new ConfigError("the API key contains spaces or invalid characters. Copy it again, on one line.");
  }
  return key;
}

/** `text` without its trailing slash. Throws if the address would expose the key: in itself, in a log, or unencrypted. */
function address(text: string, name: string, schemes: Schemes): string {
  const [secure, plain] = schemes;
  const example = `${secure}://svc.example.org`;
  if (!text.includes("://")) {
    const hint = text.startsWith("svc_") ? " It looks like a key, which is the first argument." : "";
    throw new ConfigError(`${name} is not a URL.${hint} Use a complete URL such as ${example}.`);
  }
  const url = parsed(text, name);
  const scheme = url.protocol.slice(0, -1);
  if (!schemes.includes(scheme)) {
    throw new ConfigError(`${name} ${shown(url)} must start with ${secure}:// or, for this machine only, ${plain}://.`);
  }
  if (!url.hostname || url.port === "0" || /[\s\p{Cc}]/u.test(text)) {
    throw new ConfigError(`${name} ${shown(url)} has no valid host and port. Use a complete URL such as ${example}.`);
  }
  if (url.username || url.password || /[@?#]/.test(text)) {
    throw new ConfigError(
      `${name} ${shown(url)} contains a password, a query or a fragment, and URLs end up in logs. ` +
        "Remove it; the key belongs in apiKey.",
    );
  }
  if (scheme === plain && !isLoopback(url.hostname)) {
    throw new ConfigError(
      `${name} ${shown(url)} would send the key unencrypted over the network. Use ${secure}://; ` +
        `${plain}:// is for this machine only.`,
    );
  }
  return text.replace(/\/+$/, "");
}

function parsed(text: string, name: string): URL {
  try {
    return new URL(text);
  } catch {
    // the error's own text quotes the part that cannot be parsed, which may be a secret
    throw new ConfigError(`${name} is not a valid URL. Check its host and port.`);
  }
}

/** The address as shown in errors: scheme, host and path only; the rest may be a secret. */
function shown(url: URL): string {
  return `"${url.protocol}//${url.host}${url.pathname.replace(/\/$/, "")}"`;
}
