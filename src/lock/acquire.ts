/** The two calls that take a lock, and the check of what they are given. */
import { resolve } from 'node:path';
import { InvalidOptionError } from '../errors.ts';
import { acquireKernelLock } from './kernel-lock.ts';
import { acquireLease } from './lease-lock.ts';
import { onClusterOrLocal, onNetworkFileSystem } from './network.ts';
import type { Lock, LockOptions } from './types.ts';
import { checkTimeout } from './wait.ts';

const DEFAULT_TERM_MS = 30_000;
/** The lease's heartbeat cannot run more often than once a second (proper-lockfile), and a term must hold three of them. */
const SHORTEST_TERM_MS = 3000;
/** A crashed holder's lease is waited for so long. */
const LONGEST_TERM_MS = 3_600_000;

/**
 * Waits for the lock of `path` and takes it. Between processes, and between all hosts that mount it; two calls in one process exclude each
 * other as well. A network mount that keeps its locks on this host (`nolock`, `local_lock`, `nobrl`, a FUSE file system that is not known to
 * do better; {@link probeLocking} tells) is refused, unless `strategy` says `'kernel'`.
 *
 * `path` is the lock's own file, in a directory that exists. It is made (0666 before the umask) when it is missing, is never removed, and holds the
 * name of its holder, 256 bytes. A file with other content is locked and left as it is. Do not remove or replace it while it is in use:
 * who then comes locks another file.
 *
 * *kernel*: an open-file-description lock. It excludes POSIX `fcntl` locks (OpenTofu's), and on NFSv4 `flock` as well; it ends with its process. On a
 * local file system waiters are served in turn. On a network file system they poll, 50 to 200 ms; the holder writes and syncs three times in
 * each term (`leaseMs`), which the server of NFSv4.1 refuses once it has given the lock away.
 *
 * *lease*: the directory `<path>.lease`, renewed three times a term. Taken over when a waiter has seen it unchanged for longer than the term on its own monotonic
 * clock. Loading it patches `process.emit` (signal-exit, through proper-lockfile), so that an orderly end of the process gives leases back.
 *
 * A lock is not a fence: a holder that is cut off between `assertHeld()` and its next step may still take that step after the lock has gone to
 * another. What the lock guards must be right without it.
 *
 * @param path - The lock file.
 * @returns The lock, held.
 * @throws LockTimeoutError when it was not free within `timeoutMs`; it names the holder.
 * @throws LockUnsupportedError where the mount, the platform or a missing addon gives no such lock, and, with `'auto'`, where it is a network
 * mount whose locks reach only this host.
 * @throws InvalidOptionError for options that do not go together.
 * @throws FileSystemError when the lock file cannot be opened or made.
 */
export async function acquireLock(path: string, options: LockOptions = {}): Promise<Lock> {
  options.signal?.throwIfAborted();
  const { strategy = 'auto', mode = 'exclusive', leaseMs = DEFAULT_TERM_MS } = options;
  check(strategy, mode, leaseMs, options.timeoutMs);
  checkPath(path);
  const full = resolve(path);
  if (strategy === 'lease') return acquireLease(full, { ...options, leaseMs });
  return acquireKernelLock(full, { ...options, mode, leaseMs }, strategy === 'auto' ? onClusterOrLocal : onNetworkFileSystem);
}

/**
 * Runs `use` while the lock of `path` is held, as {@link acquireLock} takes it, and releases it afterwards whatever happened.
 *
 * The lock can be lost while `use` runs: watch `lock.signal`, and call `lock.assertHeld()` before anything is published.
 *
 * @param path - The lock file.
 * @param use - The critical section.
 * @returns What `use` yields.
 * @throws What `use` throws, and everything that {@link acquireLock} throws.
 */
export async function withLock<T>(path: string, use: (lock: Lock) => Promise<T>, options: LockOptions = {}): Promise<T> {
  const lock = await acquireLock(path, options);
  try {
    return await use(lock);
  } finally {
    await lock.release();
  }
}

function checkPath(path: unknown): void {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) throw new InvalidOptionError('path', 'it is the path of the lock file');
}

function check(strategy: string, mode: string, leaseMs: number, timeoutMs: number | undefined): void {
  if (!['auto', 'kernel', 'lease'].includes(strategy)) throw new InvalidOptionError('strategy', `it is 'auto', 'kernel' or 'lease', not ${JSON.stringify(strategy)}`);
  if (!['exclusive', 'shared'].includes(mode)) throw new InvalidOptionError('mode', `it is 'exclusive' or 'shared', not ${JSON.stringify(mode)}`);
  if (strategy === 'lease' && mode === 'shared') throw new InvalidOptionError('mode', 'a lease is exclusive only; use kernel locks for shared ones');
  if (!(leaseMs >= SHORTEST_TERM_MS && leaseMs <= LONGEST_TERM_MS)) throw new InvalidOptionError('leaseMs', `it is a number of milliseconds between ${SHORTEST_TERM_MS} and ${LONGEST_TERM_MS}`);
  checkTimeout(timeoutMs);
}
