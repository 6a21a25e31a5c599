// Why a page cannot use a service that runs: the browser shows scripts no reply that does not allow the page's origin.
import { fill } from "./strings.js";
import type { Strings } from "./strings.js";

const PATIENCE_MS = 1_500; // a connection that is made by then needs no explanation

export class OriginError extends Error {
  /** The wire's code of this refusal, which scripts cannot read. */
  readonly code = "invalid_request";
}

/**
 * Rejects with an OriginError if the service answers, but not to pages of this origin; otherwise never settles.
 * A file that any page may load shows whether it answers.
 */
export async function refusedOrigin(baseUrl: string, strings: Strings, signal: AbortSignal): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  const reaches = (path: string, mode: RequestMode) =>
    fetch(baseUrl + path, { mode, signal, cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer" }).then(
      () => true,
      () => false,
    );
  const isRefused = !(await reaches("/health", "cors")) && (await reaches("/dist/swc.css", "no-cors"));
  if (!isRefused) return new Promise(() => undefined);
  const { origin } = globalThis;
  throw new OriginError(
    origin === "null"
      ? fill(strings.originNone, baseUrl)
      : [baseUrl, origin, origin].reduce<string>(fill, strings.originRefused),
  );
}
