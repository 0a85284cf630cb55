/** Waiting that ends at once when its `AbortSignal` does, and always with the signal's own reason. */

/**
 * Calls `callback` when the signal aborts, until the returned function is called. However many calls share a signal, it has
 * one listener: Node warns of a leak from the eleventh on, and a lock file has more providers than that.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => undefined;
  const following = followings.get(signal) ?? listen(signal);
  following.callbacks.add(callback);
  return () => {
    following.callbacks.delete(callback);
    if (following.callbacks.size > 0) return;
    signal.removeEventListener('abort', following.listener);
    if (followings.get(signal) === following) followings.delete(signal);
  };
}

interface Following {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

const followings = new WeakMap<AbortSignal, Following>();

function listen(signal: AbortSignal): Following {
  const callbacks = new Set<() => void>();
  const listener = (): void => {
    for (const callback of [...callbacks]) callback();
  };
  const following = { callbacks, listener };
  followings.set(signal, following);
  signal.addEventListener('abort', listener, { once: true });
  return following;
}

/** Resolves after `milliseconds` of the monotonic clock; rejects with `signal.reason` at once when it aborts. */
export async function delay(milliseconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      unfollow();
      resolve();
    }, milliseconds);
    const unfollow = onAbort(signal, () => {
      clearTimeout(timer);
      reject(abortReason(signal));
    });
  });
}

/**
 * Settles with `work`, or rejects with `signal.reason` as soon as the signal aborts. The work itself is not
 * stopped: whoever started it releases what it later yields (through `onLate`).
 */
export async function raceAbort<T>(work: Promise<T>, signal: AbortSignal | undefined, onLate?: (value: T) => void): Promise<T> {
  if (signal === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    let left = false;
    const leave = (): void => {
      left = true;
      reject(abortReason(signal));
    };
    const unfollow = onAbort(signal, leave);
    if (signal.aborted) leave();
    work.then(
      (value) => {
        unfollow();
        if (left) onLate?.(value);
        else resolve(value);
      },
      (error: unknown) => {
        unfollow();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}

/** The reason of an aborted signal as an `Error`, so that a rejection always carries one. */
export function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new DOMException(String(reason), 'AbortError');
}
