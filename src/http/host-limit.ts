/** How many requests of one client are under way to one host at once. */
import { abortReason, onAbort } from '../abort.ts';

/** Hands out places, in the order in which they were asked for. */
export interface HostLimit {
  /** Waits for a place; the function that it gives returns it, once. Rejects at once with the signal's reason. */
  enter(host: string, signal: AbortSignal): Promise<() => void>;
}

/** A limit of `most` for each host. undici's own counts by origin, and does not let an abort leave its queue. */
export function createHostLimit(most: number): HostLimit {
  const hosts = new Map<string, { taken: number; readonly queue: Set<() => void> }>();

  return {
    async enter(name, signal) {
      signal.throwIfAborted();
      const host = hosts.get(name) ?? { taken: 0, queue: new Set<() => void>() };
      hosts.set(name, host);
      if (host.taken < most) host.taken += 1;
      else await queued(host.queue, signal);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        const [next] = host.queue;
        // A place is handed over, not given back and fought for.
        if (next !== undefined) next();
        else host.taken -= 1;
        if (host.taken === 0) hosts.delete(name);
      };
    },
  };
}

function queued(queue: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = (): void => {
      queue.delete(go);
      unfollow();
      resolve();
    };
    queue.add(go);
    const unfollow = onAbort(signal, () => {
      queue.delete(go);
      reject(abortReason(signal));
    });
  });
}
