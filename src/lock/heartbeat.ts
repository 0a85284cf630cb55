/**
 * The heartbeat of a kernel lock on a network file system. A server that has given a lock away fences its former holder, and only a write
 * that is synced finds out: fstat, read, fsync of nothing, futimes, ftruncate and a write alone all succeed (measured).
 */
import { startWatchdog } from './watchdog.ts';

/** What a heartbeat needs. */
export interface HeartbeatOptions {
  /** One sign of life: a write and its sync through the locked descriptor. */
  readonly beat: () => Promise<void>;
  readonly termMs: number;
  /** When the first sign of life was begun, by `performance.now()`. */
  readonly begunAt: number;
  /** Called once, with how the loss was noticed. */
  readonly onLost: (reason: string, cause?: unknown) => void;
}

/** A running heartbeat. */
export interface Heartbeat {
  /** Gives one sign of life now. Resolves when it got through or when the lock is lost, whichever is first; never rejects. */
  beatNow(): Promise<void>;
  stop(): void;
}

/** Beats three times in each term. A beat that hangs counts as none; the next waits for it, so that a dead mount takes one thread of libuv's four. */
export function startHeartbeat({ beat, termMs, begunAt, onLost }: HeartbeatOptions): Heartbeat {
  let ended = false;
  const waiting = new Set<() => void>();
  let running: Promise<void> | undefined;

  const stop = (): void => {
    ended = true;
    clearInterval(timer);
    watchdog.stop();
    for (const wake of waiting) wake();
  };
  const lose = (reason: string, cause?: unknown): void => {
    if (ended) return;
    stop();
    onLost(reason, cause);
  };
  const watchdog = startWatchdog(termMs, begunAt, () => {
    lose(`no heartbeat got through for ${termMs} ms (the file system did not answer, or this process stood still)`);
  });
  const run = async (): Promise<void> => {
    const begun = performance.now();
    try {
      await beat();
      watchdog.renew(begun);
    } catch (error) {
      lose('its heartbeat failed, so the server may have given it to someone else', error);
    } finally {
      running = undefined;
    }
  };
  const timer = setInterval(() => {
    running ??= run();
  }, termMs / 3).unref();

  return {
    beatNow: async () => {
      if (ended) return;
      if (watchdog.isOver()) {
        lose(`no heartbeat got through for ${termMs} ms (this process stood still)`);
        return;
      }
      // A beat that is under way may have been begun before the loss; only a later one tells about now.
      const beats = (running ?? Promise.resolve()).then(() => (running ??= run()));
      await new Promise<void>((resolve) => {
        waiting.add(resolve);
        void beats.then(resolve).finally(() => waiting.delete(resolve));
      });
    },
    stop,
  };
}
