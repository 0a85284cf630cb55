/** For callers whose result is right without a lock: a kernel lock where the mount gives one, and a lease everywhere else. */
import { LockUnsupportedError } from '../errors.ts';
import { acquireLock } from './acquire.ts';
import type { Lock, LockOptions } from './types.ts';

/**
 * Waits for the lock of `path` and takes it: as `'auto'` does, or, where that is refused, as a lease. Who meets here
 * comes to the same kind of lock as long as all of them are on one host, or on hosts that mount the directory alike.
 *
 * @param onFallback - Called before a lease is taken, with the reason.
 * @throws LockTimeoutError, FileSystemError; rejects with the signal's reason when it aborts
 */
export async function acquireKernelOrLease(path: string, options: Omit<LockOptions, 'strategy' | 'mode'>, onFallback: (refusal: LockUnsupportedError) => void): Promise<Lock> {
  try {
    return await acquireLock(path, options);
  } catch (error) {
    if (!(error instanceof LockUnsupportedError)) throw error;
    onFallback(error);
    return acquireLock(path, { ...options, strategy: 'lease' });
  }
}
