/** What is retried, and for how long. */
import { expect, test } from "vitest";

import { closeMeaning, delaySeconds, isRetriedStatus, MAX_DELAY_SECONDS, Backoff } from "../src/retry.js";

test.each([
  ["done", 200, false, false],
  ["our fault", 400, false, false],
  ["conflict", 409, false, false],
  ["expired", 410, false, false],
  ["rate", 429, true, true],
  ["their fault", 500, false, false],
  ["gateway", 502, true, false],
  ["unavailable", 503, true, true],
  ["gateway timeout", 504, true, false],
])("only safe requests are retried: %s", (_, status, repeatable, once) => {
  expect(isRetriedStatus(status, true)).toBe(repeatable);
  expect(isRetriedStatus(status, false)).toBe(once);
});

test.each([
  ...[1000, 1001, 1005, 1006, 1011, 1012, 1013, 1014, 4408].map((code) => [code, "lost"] as const),
  [4401, "key"] as const,
  [4410, "session"] as const,
  ...[1002, 1003, 1007, 1008, 1009, 3000, 4000].map((code) => [code, "broken"] as const),
])("close code %i means %s", (code, meaning) => {
  expect(closeMeaning(code)).toBe(meaning);
});

test("delays double up to a cap and keep what the service asks for", () => {
  expect([1, 2, 3].map((attempt) => delaySeconds(attempt, 0.5))).toEqual([0.05, 0.1, 0.2]);
  expect(delaySeconds(10_000, 1)).toBe(MAX_DELAY_SECONDS);
  expect(delaySeconds(1, 0)).toBe(0);
  expect(delaySeconds(1, 0.5, 3)).toBe(3.05);
});

test("retrying ends a fixed time after the first failure", () => {
  const backoff = new Backoff(10);

  expect(backoff.nextDelay(1_000, 0.5)).toBe(0.05);
  expect(backoff.nextDelay(1_005, 0.5)).toBe(0.1);
  expect(backoff.nextDelay(1_009.95, 0.5)).toBeNull();
});

test("retrying starts again after progress", () => {
  const backoff = new Backoff(10);
  backoff.nextDelay(0, 0.5);
  backoff.reset();

  expect(backoff.nextDelay(1_000, 0.5)).toBe(0.05);
});

test("retrying ends at once if the service asks for more time than is left", () => {
  expect(new Backoff(10).nextDelay(0, 0.5, 30)).toBeNull();
});
