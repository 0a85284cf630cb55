/**
 * The `fs` that proper-lockfile is given: it thinks that it makes, stats, re-stamps and removes one directory. Behind each call stands the one
 * operation of lease-directory.ts that means this holder's token and nobody else's, and the answers keep its clock out of every decision:
 *
 * - `stat` of somebody's lease has a time stamp that is always fresh, or, once this process has watched it for its term, always stale;
 * - `stat` of one's own answers with the stamp that was written, if the token is still there. Precision and rounding have no say;
 * - after the end of the lease no call is answered any more: the package would throw from its callback.
 */
import { hasSystemError } from '../system-errors.ts';
import { claim, holds, look, remove, removeSync, renew, type LeasePlace } from './lease-directory.ts';
import type { LeaseObserver } from './lease-observer.ts';

type Callback<T> = (error: Error | null, result?: T) => void;

/** The calls that proper-lockfile makes. */
export interface LeaseFileSystem {
  mkdir(path: string, done: Callback<void>): void;
  stat(path: string, done: Callback<{ readonly mtime: Date }>): void;
  utimes(path: string, atime: Date, mtime: Date, done: Callback<void>): void;
  rmdir(path: string, done: Callback<void>): void;
  rmdirSync(path: string): void;
}

/** One attempt at a lease, and the lease that comes of it. */
export interface LeaseState {
  readonly place: LeasePlace;
  readonly token: string;
  readonly observer: LeaseObserver;
  /** `'ended'`: released, or known to be lost. */
  phase: 'claiming' | 'held' | 'ended';
  /** Whether a stale lease was removed on the way. */
  tookOver: boolean;
  /** Called with the time of `performance.now()` at which a successful claim or renewal was begun. */
  onRenewed(begunAt: number): void;
}

const FRESH = { mtime: new Date(8.64e15) };
const STALE = { mtime: new Date(-8.64e15) };

/** A new object for each lock: proper-lockfile keeps what it has found out about the file system on it. */
export function leaseFileSystem(state: LeaseState): LeaseFileSystem {
  const { place, token } = state;
  let stamp = new Date(0);
  let stale: readonly string[] = [];

  const statOther = async (): Promise<{ readonly mtime: Date }> => {
    const sight = await look(place);
    if (sight === undefined) throw named('ENOENT');
    if (!state.observer.isStale(sight)) return FRESH;
    stale = sight.tokens;
    return STALE;
  };
  const statOwn = async (): Promise<{ readonly mtime: Date }> => {
    if (!(await holds(place, token))) throw named('ENOENT');
    return { mtime: stamp };
  };

  return {
    mkdir: (_path, done) => {
      answer(done, async () => {
        const begun = performance.now();
        if (!(await claim(place, token))) throw named('EEXIST');
        state.phase = 'held';
        state.onRenewed(begun);
      });
    },
    stat: (_path, done) => {
      if (state.phase !== 'ended') answer(done, state.phase === 'held' ? statOwn : statOther, state);
    },
    utimes: (_path, _atime, mtime, done) => {
      if (state.phase === 'ended') return;
      answer(done, async () => {
        const begun = performance.now();
        await renew(place, token, mtime);
        stamp = mtime;
        state.onRenewed(begun);
      }, state);
    },
    rmdir: (_path, done) => {
      if (state.phase === 'claiming') state.tookOver = true;
      answer(done, () => remove(place, state.phase === 'claiming' ? stale : [token]));
    },
    rmdirSync: () => {
      removeSync(place, token);
    },
  };
}

/** Answers a callback; with `unlessEnded`, only while that lease has not ended. */
function answer<T>(done: Callback<T>, work: () => Promise<T>, unlessEnded?: LeaseState): void {
  const isEnded = (): boolean => unlessEnded?.phase === 'ended';
  work().then(
    (result) => {
      if (!isEnded()) done(null, result);
    },
    (error: unknown) => {
      if (isEnded()) return;
      // A lease that was removed on another host is ESTALE as well as ENOENT here; the package knows only the one.
      if (hasSystemError(error, 'ESTALE', 'ENOENT', 'ENOTDIR')) done(named('ENOENT'));
      else done(error instanceof Error ? error : new Error(String(error)));
    },
  );
}

function named(code: string): Error {
  return Object.assign(new Error(code), { code });
}
