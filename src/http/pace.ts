/**
 * Slows the whole process down for a host that has had enough: after a 429, or a 503 that names a time, no client in this process asks that
 * host before the time has passed; then one request goes out, and with each answer one more may be under way, until the host is forgotten.
 * Otherwise all that waited would come back at once, and most of them would use up a retry on the next 429.
 */
import { abortReason, onAbort } from '../abort.ts';
import { logger, publishEvent } from '../diagnostics.ts';

/** A request that may be sent. */
export interface Turn {
  /** Ends it, once; `answered`: the host took it without complaint. */
  end(answered: boolean): void;
}

interface SlowHost {
  /** When the pause ends, by the monotonic clock. */
  until: number;
  /** How many requests may be under way. */
  width: number;
  underWay: number;
  /** Pauses in a row. */
  strikes: number;
  /** In the order in which they came. */
  readonly waiting: Set<() => void>;
  timer: NodeJS.Timeout | undefined;
}

/** As many as a host takes at once without a word is a host like any other. */
const FORGOTTEN_WIDTH = 16;

/** A host that nobody asked for so long after its pause is one as well. */
const MEMORY_MS = 60_000;

/** The longest pause for a 429 that names no time. */
const MAX_PAUSE_MS = 10_000;

const log = logger('http');
const slowHosts = new Map<string, SlowHost>();
const FREE: Turn = { end: () => undefined };

/**
 * Waits for a turn at `host` (name and port). It waits no longer than `longestMs`, whatever others do, and then goes all the same; an abort ends
 * the wait at once with the signal's reason.
 */
export async function takeTurn(host: string, longestMs: number, signal: AbortSignal): Promise<Turn> {
  const slow = slowHosts.get(host);
  if (slow === undefined) return FREE;
  if (performance.now() - slow.until > MEMORY_MS && slow.waiting.size + slow.underWay === 0) {
    slowHosts.delete(host);
    return FREE;
  }
  await admitted(slow, longestMs, signal);
  let ended = false;
  return {
    end(answered) {
      if (ended) return;
      ended = true;
      slow.underWay -= 1;
      if (answered) slow.width += 1;
      if (slow.width >= FORGOTTEN_WIDTH && slowHosts.get(host) === slow) slowHosts.delete(host);
      admitNext(slow);
    },
  };
}

/**
 * Notes that `host` answered `status`. `askedMs`: what its `Retry-After` asked for, obeyed up to `longestMs`; without one the pause doubles
 * from `backoffMs` with each that follows another.
 */
export function slowDown(host: string, status: number, askedMs: number | undefined, { backoffMs, maxRetryAfterMs: longestMs }: { readonly backoffMs: number; readonly maxRetryAfterMs: number }): void {
  const slow = slowHosts.get(host) ?? { until: 0, width: 1, underWay: 0, strikes: 0, waiting: new Set<() => void>(), timer: undefined };
  slowHosts.set(host, slow);
  const now = performance.now();
  // Answers to what was under way together are one complaint.
  if (now >= slow.until) slow.strikes += 1;
  const delayMs = Math.min(askedMs ?? Math.min(backoffMs * 2 ** (slow.strikes - 1), MAX_PAUSE_MS), longestMs);
  slow.width = 1;
  slow.until = Math.max(slow.until, now + delayMs);
  log('%s answered %d: asked again in %d ms', host, status, Math.round(delayMs));
  publishEvent('http:slow-down', { host, status, delayMs });
}

function admitted(slow: SlowHost, longestMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      slow.waiting.delete(go);
      clearTimeout(limit);
      unfollow();
    };
    const go = (): void => {
      leave();
      // Counted here: whoever comes before the promise is heard must find it taken.
      slow.underWay += 1;
      resolve();
    };
    const limit = setTimeout(go, longestMs);
    slow.waiting.add(go);
    const unfollow = onAbort(signal, () => {
      leave();
      reject(abortReason(signal));
    });
    admitNext(slow);
  });
}

function admitNext(slow: SlowHost): void {
  clearTimeout(slow.timer);
  slow.timer = undefined;
  const pause = slow.until - performance.now();
  if (pause > 0) {
    if (slow.waiting.size > 0) slow.timer = setTimeout(admitNext, Math.ceil(pause), slow);
    return;
  }
  for (const go of slow.waiting) {
    if (slow.underWay >= slow.width) break;
    go();
  }
}
