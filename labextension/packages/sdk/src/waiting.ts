/** Waiting that an AbortSignal, or a time limit, ends. */

/** What a time limit rejects with; whoever set the limit says what was waited for. */
export class TimeLimitError extends Error {
  override name = "TimeLimitError";

  constructor(readonly seconds: number) {
    super(`nothing came for ${seconds} s`);
  }
}

/** Resolves after so many seconds; rejects with the signal's reason. */
export function pause(seconds: number, signal?: AbortSignal): Promise<void> {
  return abortable(signal, (resolve) => {
    const timer = setTimeout(resolve, seconds * 1000);
    return () => {
      clearTimeout(timer);
    };
  });
}

/** A promise that also ends with the signal: `start` gives what undoes it. */
export function abortable<T>(
  signal: AbortSignal | undefined,
  start: (resolve: (value: T) => void, reject: (error: Error) => void) => () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    let undo = (): void => undefined;
    const finish = (): void => {
      signal?.removeEventListener("abort", abort);
      undo();
    };
    const abort = (): void => {
      finish();
      reject(signal?.reason as Error);
    };
    signal?.addEventListener("abort", abort, { once: true });
    undo = start(
      (value) => {
        finish();
        resolve(value);
      },
      (error) => {
        finish();
        reject(error);
      },
    );
  });
}

/**
 * Runs `work` with a signal that also ends it with TimeLimitError when it was idle for so many seconds.
 *
 * `work` calls `touch` when something moved.
 */
export async function limited<T>(
  idleSeconds: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal, touch: () => void) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const own = new AbortController();
  const give = (): void => {
    own.abort(signal?.reason);
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const touch = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      own.abort(new TimeLimitError(idleSeconds));
    }, idleSeconds * 1000);
  };
  signal?.addEventListener("abort", give, { once: true });
  touch();
  try {
    return await work(own.signal, touch);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", give);
  }
}
