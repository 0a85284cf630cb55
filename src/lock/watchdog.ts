/** Notices, by this process's own monotonic clock, that a term has passed since the last sign of life. Knows nothing of locks or files. */

/** A running watch. */
export interface Watchdog {
  /** A sign of life was *begun* at this time of `performance.now()` and has succeeded: others may count from there. */
  renew(begunAt: number): void;
  /** Whether the term is over. It also says so when the timer has not come to run yet, because the event loop was blocked. */
  isOver(): boolean;
  /** What is left of the term, in milliseconds. */
  remainingMs(): number;
  stop(): void;
}

/** Calls `onOver` once, when `termMs` have passed since the last renewal. Its timer keeps no process alive. */
export function startWatchdog(termMs: number, begunAt: number, onOver: () => void): Watchdog {
  let last = begunAt;
  const remainingMs = (): number => last + termMs - performance.now();
  const look = (): void => {
    const remaining = remainingMs();
    if (remaining <= 0) onOver();
    else timer = setTimeout(look, remaining + 1).unref();
  };
  let timer = setTimeout(look, Math.max(remainingMs(), 0) + 1).unref();
  return {
    renew: (at) => {
      last = Math.max(last, at);
    },
    isOver: () => remainingMs() <= 0,
    remainingMs,
    stop: () => {
      clearTimeout(timer);
    },
  };
}
