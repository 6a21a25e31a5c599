/** Waiting that an AbortSignal or a time limit can end. */

/** A time limit was exceeded; the caller adds what it waited for. */
export class TimeLimitError extends Error {
  override name = "TimeLimitError";

  constructor(readonly seconds: number) {
    super(`nothing came for ${seconds} s`);
  }
}

/** Resolves after `seconds`; rejects with the signal's reason if it is aborted first. */
export function pause(seconds: number, signal?: AbortSignal): Promise<void> {
  return abortable(signal, (resolve) => {
    const timer = setTimeout(resolve, seconds * 1000);
    return () => {
      clearTimeout(timer);
    };
  });
}

/** A promise that rejects when the signal is aborted; `start` returns the clean-up function. */
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
 * Run `work` with a signal that also aborts, with TimeLimitError, after `idleSeconds` without progress.
 *
 * `work` calls `touch` when it makes progress.
 */
export async function limited<T>(
  idleSeconds: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal, touch: () => void) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const own = new AbortController();
  const forward = (): void => {
    own.abort(signal?.reason);
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const touch = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      own.abort(new TimeLimitError(idleSeconds));
    }, idleSeconds * 1000);
  };
  signal?.addEventListener("abort", forward, { once: true });
  touch();
  try {
    return await work(own.signal, touch);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", forward);
  }
}
