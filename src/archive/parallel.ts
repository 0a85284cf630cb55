/** Doing the same to many things, a few at a time, and never leaving one of them running behind. */
import { onAbort } from '../abort.ts';

/**
 * Calls `work` for every item, at most `limit` at once, in the items' order. On the first failure, or when `signal`
 * aborts, the signal that is handed to `work` aborts and no further item is begun; the call rejects with the first
 * failure (or the signal's reason) only after every call that was begun has settled.
 */
export async function inParallel<T>(
  items: Iterable<T>,
  limit: number,
  work: (item: T, signal: AbortSignal) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted();
  const stop = new AbortController();
  const unfollow = onAbort(signal, () => {
    stop.abort(signal?.reason);
  });
  const iterator = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    try {
      for (let next = iterator.next(); next.done !== true; next = iterator.next()) {
        stop.signal.throwIfAborted();
        await work(next.value, stop.signal);
      }
    } catch (error) {
      // Only the first reason is kept; the others follow from it.
      stop.abort(error);
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  unfollow();
  stop.signal.throwIfAborted();
}
