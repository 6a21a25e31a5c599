/**
 * Which failures are tried again, and after how many seconds. Pure: clock and chance come in as values.
 *
 * Decides nothing about what is sent again (`protocol` and `requests` do). Facts: docs/wire.md, "Errors" and
 * "Close codes"; RFC 6455 section 7.4.1 and its registry; full jitter as in Amazon's "Exponential Backoff And Jitter"
 * (2015).
 */

const FIRST_DELAY_SECONDS = 0.1;
export const MAX_DELAY_SECONDS = 8;
/** Of failures of one HTTP operation, before it is given up. */
export const CALL_LIMIT_SECONDS = 10;
/** Of failures without a message that is new, before a stream is given up. */
export const STREAM_LIMIT_SECONDS = 60;
/** A connection that held this long was a working one, though the turn was silent. */
export const LASTING_SECONDS = 30;

const REFUSED_STATUSES = new Set([429, 503]); // nothing was done: any request may come again
const UNSURE_STATUSES = new Set([502, 504]); // something in between answered: the service may have done it
const LOST_CLOSES = new Set([1000, 1001, 1005, 1006, 1011, 1012, 1013, 1014, 4408]);

export type CloseMeaning = "lost" | "key" | "session" | "broken";

/** Whether a request that was answered with `status` is sent again; 4xx but 429 never is. */
export function isRetriedStatus(status: number, isRepeatable: boolean): boolean {
  return REFUSED_STATUSES.has(status) || (isRepeatable && UNSURE_STATUSES.has(status));
}

/** What a close of a stream means: come back, or the key, the session or the protocol is at fault. */
export function closeMeaning(code: number): CloseMeaning {
  if (LOST_CLOSES.has(code)) return "lost";
  if (code === 4401) return "key";
  return code === 4410 ? "session" : "broken";
}

/**
 * How long to wait before attempt number `attempt` (from 1) is repeated; `chance` is uniform in [0, 1).
 *
 * What the service asks for (`retryAfter`) is the least; jitter comes on top of it.
 */
export function delaySeconds(attempt: number, chance: number, retryAfter: number | null = null): number {
  const cap = Math.min(MAX_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** Math.min(attempt - 1, 30));
  return (retryAfter ?? 0) + chance * cap;
}

/** How long failures are borne: `limitSeconds` from the first one since the last progress, by any monotonic clock. */
export class Patience {
  #failingSince: number | null = null;
  #attempts = 0;

  constructor(readonly limitSeconds: number) {}

  /** Something new arrived: the count and the time begin again at the next failure. */
  progressed(): void {
    this.#failingSince = null;
    this.#attempts = 0;
  }

  /** Seconds to wait after one more failure; null where the next try would come too late: give up. */
  nextDelay(now: number, chance: number, retryAfter: number | null = null): number | null {
    this.#failingSince ??= now;
    this.#attempts += 1;
    const delay = delaySeconds(this.#attempts, chance, retryAfter);
    return now + delay <= this.#failingSince + this.limitSeconds ? delay : null;
  }
}
