/**
 * Exclusion round one entry. Ours first (`state/locks`), inside it OpenTofu's own `<os_arch>.lock` beside the entry, so
 * that one of us and a `tofu` never download the same package at once. Losing every lock costs a second download,
 * never a broken entry: that is what the renames are for.
 */
import { dirname, join } from 'node:path';
import { makeDirectories } from '../atomic/index.ts';
import { logger, publishEvent } from '../diagnostics.ts';
import { FileSystemError, LockUnsupportedError } from '../errors.ts';
import { acquireBareLock, type BareLock } from '../lock/bare-lock.ts';
import { acquireLock, type Lock, type LockOptions, type WaitInfo } from '../lock/index.ts';
import { acquireKernelOrLease } from '../lock/kernel-or-lease.ts';
import { hasSystemError } from '../system-errors.ts';
import type { EntryPlace } from './entry.ts';
import { packageKey } from './records.ts';

const log = logger('cache');

/** How locks are taken: `'auto'` is kernel locks, and leases where the mount has none or only locks of this host. */
export type CacheLockStrategy = 'auto' | 'kernel' | 'lease';

/** What {@link lockEntry} needs. */
export interface EntryLockOptions {
  /** The directory of our own lock files. */
  readonly locks: string;
  readonly strategy: CacheLockStrategy;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onWait: (info: WaitInfo) => void;
}

/** Both locks, held. */
export interface EntryLock {
  /** Aborts when the lock is lost. */
  readonly signal: AbortSignal;
  /** Whether somebody has held it before, and may have left an entry. */
  readonly usedBefore: boolean;
  /** @throws LockLostError */
  assertHeld(): Promise<void>;
  release(): Promise<void>;
}

/**
 * Locks one entry for this process.
 *
 * @throws LockTimeoutError when it was not free in time; it names the holder.
 */
export async function lockEntry(place: EntryPlace, options: EntryLockOptions): Promise<EntryLock> {
  const own = await lockOwn(join(options.locks, `${packageKey(place.package)}.lock`), options);
  try {
    const client = await lockForClients(place, options);
    return {
      signal: own.signal,
      usedBefore: own.usedBefore ?? true,
      assertHeld: () => own.assertHeld(),
      release: async () => {
        await client?.release();
        await own.release();
      },
    };
  } catch (error) {
    await own.release();
    throw error;
  }
}

async function lockOwn(path: string, { strategy, timeoutMs, signal, onWait }: EntryLockOptions): Promise<Lock> {
  const common: LockOptions = { timeoutMs, signal, onWait };
  if (strategy !== 'auto') return acquireLock(path, { ...common, strategy });
  return acquireKernelOrLease(path, common, ({ reason }) => {
    log('no kernel locks at %s (%s): falling back to a lease', path, reason);
    publishEvent('cache:lease-fallback', { path, reason });
  });
}

/** OpenTofu's lock: exclusive where its file may be written, else shared, which blocks tofu all the same (measured). */
async function lockForClients(place: EntryPlace, options: EntryLockOptions, attempts = 3): Promise<BareLock | undefined> {
  const { timeoutMs, signal, onWait } = options;
  const path = `${place.path}.lock`;
  try {
    return await acquireBareLock(path, { mode: 'exclusive-or-shared', timeoutMs, signal, onWait });
  } catch (error) {
    if (hasSystemError(error, 'ENOENT') && attempts > 1) {
      // The version's first platform.
      await makeDirectories(dirname(path));
      return lockForClients(place, options, attempts - 1);
    }
    if (!(error instanceof LockUnsupportedError) && !(error instanceof FileSystemError && ['EACCES', 'EPERM', 'EROFS', 'ENOLCK'].includes(error.systemCode))) throw error;
    log('OpenTofu is not excluded at %s: %s', path, error.message);
    publishEvent('cache:client-lock-unavailable', { path, reason: error.message });
    return undefined;
  }
}
