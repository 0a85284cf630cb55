/**
 * One call's wait for a lock, whatever the lock is made of: its limit in time, its abort, and what it tells while it lasts.
 * The work itself is never stopped from outside; it watches the signal, and what it yields too late is given back.
 */
import { abortReason, onAbort, raceAbort } from '../abort.ts';
import { InvalidOptionError, LockTimeoutError, type LockHolder } from '../errors.ts';
import type { WaitOptions } from './types.ts';

/** What the work is given. */
export interface Wait {
  /** Aborts when the call has ended for its caller; `undefined` when nothing can end it. */
  readonly signal: AbortSignal | undefined;
  /** The work calls it each time it finds the lock held by someone else. */
  contended(): void;
}

const NOTICE_MS = 1000;
/** A call tries at least once: until the first answer the file system has so long, even where `timeoutMs` is shorter. */
const FIRST_ANSWER_MS = 2000;
/** How long a call that has timed out may still look for the holder's name. */
const NAME_MS = 50;
/** Longer ones make Node's timers fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Says inside this file that the limit was reached. One for all calls: making an error costs more than the rest of a wait. */
const TIMED_OUT = new Error('the limit was reached');

/** @throws InvalidOptionError for a `timeoutMs` that is no duration. */
export function checkTimeout(timeoutMs: number | undefined): void {
  if (timeoutMs !== undefined && !(timeoutMs >= 0)) throw new InvalidOptionError('timeoutMs', 'it is a number of milliseconds, 0 or more');
}

/**
 * Settles with `work`, or rejects when the caller's signal aborts, when `timeoutMs` is over, or when `onWait` throws. What the work yields
 * after that goes to `onLate`.
 *
 * @throws LockTimeoutError
 */
export async function withinLimits<T>(
  path: string,
  options: WaitOptions,
  holder: () => Promise<LockHolder | undefined>,
  work: (wait: Wait) => Promise<T>,
  onLate: (value: T) => void,
): Promise<T> {
  const { signal: callers, timeoutMs, onWait } = options;
  callers?.throwIfAborted();
  // The common call has no limit and tells nobody: it costs no timer and no controller.
  if (timeoutMs === undefined && onWait === undefined) return raceAbort(work({ signal: callers, contended: () => undefined }), callers, onLate);

  const begun = performance.now();
  const limit = new AbortController();
  let known: LockHolder | undefined;
  let limitTimer: NodeJS.Timeout | undefined;
  let noticeTimer: NodeJS.Timeout | undefined;
  let isContended = false;
  let isOver = false;

  const unfollow = onAbort(callers, () => {
    limit.abort(abortReason(callers));
  });
  const onLimit = (): void => {
    const grace = isContended ? 0 : FIRST_ANSWER_MS - (performance.now() - begun);
    if (grace > 0) limitTimer = setTimeout(onLimit, grace);
    else limit.abort(TIMED_OUT);
  };
  if (timeoutMs !== undefined && timeoutMs <= LONGEST_TIMER_MS) limitTimer = setTimeout(onLimit, timeoutMs);

  const notify = async (tell: (info: { path: string; holder: LockHolder | undefined; waitedMs: number }) => void): Promise<void> => {
    known = (await holder()) ?? known;
    if (isOver || limit.signal.aborted) return;
    try {
      tell({ path, holder: known, waitedMs: Math.round(performance.now() - begun) });
    } catch (error) {
      limit.abort(error);
      return;
    }
    noticeTimer = setTimeout(() => void notify(tell), NOTICE_MS).unref();
  };
  const contended = (): void => {
    if (timeoutMs !== undefined && performance.now() - begun >= timeoutMs) limit.abort(TIMED_OUT);
    if (isContended) return;
    isContended = true;
    if (onWait !== undefined) void notify(onWait);
  };

  try {
    return await raceAbort(work({ signal: limit.signal, contended }), limit.signal, onLate);
  } catch (error) {
    if (error !== TIMED_OUT) throw error;
    throw new LockTimeoutError(path, timeoutMs ?? 0, (await inTime(holder(), NAME_MS)) ?? known);
  } finally {
    isOver = true;
    clearTimeout(limitTimer);
    clearTimeout(noticeTimer);
    unfollow();
  }
}

/** What `work` yields within so many milliseconds, else `undefined`. Its failure counts as nothing. */
async function inTime<T>(work: Promise<T>, milliseconds: number): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds, undefined);
    const settle = (value: T | undefined): void => {
      clearTimeout(timer);
      resolve(value);
    };
    work.then(settle, () => {
      settle(undefined);
    });
  });
}
