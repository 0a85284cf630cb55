/**
 * The lease: for mounts whose kernel locks do not work. proper-lockfile runs it (the order of the claim, the heartbeat, the release at exit); this file gives it
 * a file system of ours, waits in its place, and turns a loss into an aborted signal instead of an exception from a timer.
 */
import { delay, raceAbort } from '../abort.ts';
import { quietly } from '../atomic/attempt.ts';
import { logger } from '../diagnostics.ts';
import { LockLostError, LockUnsupportedError } from '../errors.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { holds, leaseHolder, leasePlace, newToken, remove, sweep, type LeasePlace } from './lease-directory.ts';
import { leaseFileSystem, type LeaseState } from './lease-file-system.ts';
import { observeLease, type LeaseObserver } from './lease-observer.ts';
import type { Lock, WaitOptions } from './types.ts';
import { withinLimits, type Wait } from './wait.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

const log = logger('lock');
const SHORTEST_POLL_MS = 50;
const LONGEST_POLL_MS = 500;
/** The package compares this with the wall clock; for ever, so that the wall clock never says anything. */
const NEVER_MS = 1e15;

/** What {@link acquireLease} takes, checked. */
export interface LeaseOptions extends WaitOptions {
  readonly leaseMs: number;
}

/** Waits for the lease and takes it. `path` is absolute. */
export async function acquireLease(path: string, options: LeaseOptions): Promise<Lock> {
  const place = leasePlace(path);
  return withinLimits(
    path,
    options,
    () => leaseHolder(place),
    (wait) => take(path, place, options.leaseMs, wait),
    (late) => void late.release(),
  );
}

async function take(path: string, place: LeasePlace, termMs: number, wait: Wait): Promise<Lock> {
  const observer = observeLease(termMs);
  for (let longest = 2 * SHORTEST_POLL_MS; ; longest = Math.min(2 * longest, LONGEST_POLL_MS)) {
    const lock = await claimLease(path, place, termMs, observer);
    if (lock !== undefined) return lock;
    wait.contended();
    await delay(SHORTEST_POLL_MS + Math.random() * (longest - SHORTEST_POLL_MS), wait.signal);
  }
}

/** One attempt: the lock, or `undefined` where someone else has it. The observer lives as long as the wait that the attempt belongs to. */
export async function claimLease(path: string, place: LeasePlace, termMs: number, observer: LeaseObserver): Promise<Lock | undefined> {
  // Imported here and nowhere else: loading it patches process.emit for good (signal-exit 3).
  const { lock } = await import('proper-lockfile');
  const loss = new AbortController();
  let watchdog: Watchdog | undefined;
  const lose = (reason: string, cause?: unknown): void => {
    if (state.phase !== 'held') return;
    // From here on the package gets no answers, so it renews nothing that we have given up.
    state.phase = 'ended';
    watchdog?.stop();
    loss.abort(new LockLostError(path, reason, cause));
  };
  const state: LeaseState = {
    place,
    token: newToken(termMs),
    observer,
    phase: 'claiming',
    tookOver: false,
    onRenewed: (begunAt) => {
      watchdog ??= startWatchdog(termMs, begunAt, () => {
        lose(`it was not renewed for ${termMs} ms (the file system did not answer, or this process stood still)`);
      });
      watchdog.renew(begunAt);
    },
  };
  let unlock: () => Promise<void>;
  try {
    const locking = lock(`${place.held}/${state.token}`, {
      lockfilePath: place.held,
      fs: leaseFileSystem(state),
      realpath: false,
      stale: NEVER_MS,
      update: termMs / 3,
      onCompromised: (error) => {
        lose('somebody else has taken it over, or has removed it', error);
      },
    });
    unlock = await raceAbort(locking, loss.signal);
  } catch (error) {
    watchdog?.stop();
    if (loss.signal.aborted) {
      // Lost before it was ever handed out: this process stood still in the midst of the claim.
      await quietly(remove(place, [state.token]));
      return undefined;
    }
    if (hasSystemError(error, 'ELOCKED')) return undefined;
    if (hasSystemError(error, 'ENOSYS', 'ENOTSUP')) throw new LockUnsupportedError(path, 'the file system cannot rename directories', error);
    throw fileSystemError(error, 'take the lease', place.container);
  }
  if (state.tookOver) {
    log('took over a stale lease at %s', path);
    void quietly(sweep(place, state.token));
  }
  return leaseLock(path, state, loss, unlock, lose, watchdog);
}

function leaseLock(
  path: string,
  state: LeaseState,
  loss: AbortController,
  unlock: () => Promise<void>,
  lose: (reason: string, cause?: unknown) => void,
  watchdog: Watchdog | undefined,
): Lock {
  const { place, token } = state;
  let releasing: Promise<void> | undefined;

  const end = async (): Promise<void> => {
    const wasHeld = state.phase === 'held';
    state.phase = 'ended';
    watchdog?.stop();
    // The package forgets the lease and removes it through our file system, or says that it has forgotten it already.
    await quietly(unlock());
    if (!wasHeld) await quietly(remove(place, [token]));
  };
  const release = (): Promise<void> => (releasing ??= end());
  const assertHeld = async (): Promise<void> => {
    if (releasing !== undefined) throw new LockLostError(path, 'it was released by this process');
    loss.signal.throwIfAborted();
    if (watchdog?.isOver() === true) lose('it was not renewed within its term (this process stood still)');
    else await assertOurs(place, token, watchdog?.remainingMs() ?? 0, lose);
    loss.signal.throwIfAborted();
  };
  return { path, strategy: 'lease', mode: 'exclusive', signal: loss.signal, assertHeld, release, [Symbol.asyncDispose]: release };
}

/** The watchdog ends the wait for a mount that hangs: what counts is the term, whatever the file system does. */
async function assertOurs(place: LeasePlace, token: string, remainingMs: number, lose: (reason: string, cause?: unknown) => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, remainingMs, false);
  });
  try {
    if (!(await Promise.race([holds(place, token), late]))) lose('somebody else has taken it over, or the file system did not answer within the term');
  } catch (error) {
    lose('its file could not be looked at', error);
  } finally {
    clearTimeout(timer);
  }
}
