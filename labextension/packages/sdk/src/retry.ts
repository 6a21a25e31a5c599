/**
 * Decides which failures are retried, and after how many seconds. Pure: clock and randomness are passed in.
 *
 * What is sent again is decided in `protocol` and `requests`. Sources: docs/wire.md, "Errors" and "Close codes"; RFC 6455
 * section 7.4.1 and its registry; full jitter as in Amazon's "Exponential Backoff And Jitter" (2015).
 */

const FIRST_DELAY_SECONDS = 0.1;
export const MAX_DELAY_SECONDS = 8;
/** How long an HTTP request is retried. */
export const CALL_LIMIT_SECONDS = 10;
/** How long a stream reconnects without receiving a new message. */
export const STREAM_LIMIT_SECONDS = 60;
/** A connection that lasted this long was working, even if no message came. */
export const LASTING_SECONDS = 30;

const REFUSED_STATUSES = new Set([429, 503]); // the request was not processed: always safe to retry
const UNSURE_STATUSES = new Set([502, 504]); // a proxy answered: the service may have processed the request
const LOST_CLOSES = new Set([1000, 1001, 1005, 1006, 1011, 1012, 1013, 1014, 4408, 4409]); // an error comes before 4409

export type CloseMeaning = "lost" | "key" | "session" | "broken";

/** Whether to retry a request that was answered with `status`; 4xx is never retried, except 429. */
export function isRetriedStatus(status: number, isRepeatable: boolean): boolean {
  return REFUSED_STATUSES.has(status) || (isRepeatable && UNSURE_STATUSES.has(status));
}

/** What a close code means: reconnect (`lost`), or the key, the session or the protocol is at fault. */
export function closeMeaning(code: number): CloseMeaning {
  if (LOST_CLOSES.has(code)) return "lost";
  if (code === 4401) return "key";
  return code === 4410 ? "session" : "broken";
}

/**
 * Seconds to wait after failed attempt number `attempt` (from 1); `chance` is uniform in [0, 1).
 *
 * `retryAfter`, which the service asks for, is the minimum; jitter is added to it.
 */
export function delaySeconds(attempt: number, chance: number, retryAfter: number | null = null): number {
  const cap = Math.min(MAX_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** Math.min(attempt - 1, 30));
  return (retryAfter ?? 0) + chance * cap;
}

/** Delays between attempts; gives up `limitSeconds` after the first failure since the last progress, by any monotonic clock. */
export class Backoff {
  #failingSince: number | null = null;
  #attempts = 0;

  constructor(readonly limitSeconds: number) {}

  /** Progress was made: start over at the next failure. */
  reset(): void {
    this.#failingSince = null;
    this.#attempts = 0;
  }

  /** Seconds to wait after another failure; null if the limit would be exceeded: give up. */
  nextDelay(now: number, chance: number, retryAfter: number | null = null): number | null {
    this.#failingSince ??= now;
    this.#attempts += 1;
    const delay = delaySeconds(this.#attempts, chance, retryAfter);
    return now + delay <= this.#failingSince + this.limitSeconds ? delay : null;
  }
}
