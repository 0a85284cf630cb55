/**
 * A lock file that this process has locked: opening it, waiting for the grant, making sure that the file still is the one at its path, and letting go.
 * On a local file system the wait is the kernel's own fair queue. On a network file system it never is: the server forgets a
 * waiter after one lease, and the grant then came 11 to 18 s late (measured); there the lock is asked for again and again.
 */
import { fstatSync, statSync, type BigIntStats } from 'node:fs';
import { stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { abortReason, delay } from '../abort.ts';
import { quietly } from '../atomic/attempt.ts';
import { isSame, standsFor } from '../atomic/identity.ts';
import { refreshDirectory } from '../atomic/stat-fresh.ts';
import { LockUnsupportedError } from '../errors.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { openLockFile, type LockFileRequest, type OpenLockFile } from './lock-file.ts';
import { isContention, isPassing, lockFailure, nativeLocks, type NativeLocks } from './native.ts';
import type { NetworkTest } from './network.ts';
import { tryLockOnThread } from './try-lock.ts';
import type { LockMode } from './types.ts';
import type { Wait } from './wait.ts';

/** What is asked for. */
export interface HoldRequest extends LockFileRequest {
  readonly mode: LockMode | 'exclusive-or-shared';
  readonly isNetwork: NetworkTest;
  /** Whether a granted lock has to be that of the file which stands at the path; without that a round trip is saved on a network, and a file that was replaced may be locked. */
  readonly byName: boolean;
}

/** A lock file, open and locked. */
export interface HeldFile {
  readonly path: string;
  readonly handle: FileHandle;
  readonly writable: boolean;
  readonly mode: LockMode;
  readonly network: boolean;
  /** The file's state right after the grant. */
  readonly stats: BigIntStats;
}

/** Whoever drops a lock object keeps the lock: without this, the collector would close its descriptor. */
const held = new Set<HeldFile>();

const SHORTEST_POLL_MS = 50;
/** With it the lock changes hands within 300 ms; a waiter asks eight times a second, one round trip each. */
const LONGEST_POLL_MS = 200;
/** How often a call that does not wait is made again after an error that means nothing by itself. */
const TRIES = 4;

/**
 * Locks the file, waiting as long as it takes; `undefined` where it is missing and not to be made, or, without a `wait`, where somebody
 * else holds it. The signal of the wait is watched; a descriptor that the kernel's queue or a lock call still names is closed only
 * after their answer.
 *
 * @throws LockUnsupportedError
 * @throws FileSystemError
 */
export async function holdFile(path: string, request: HoldRequest, wait: Wait | undefined): Promise<HeldFile | undefined> {
  const locks = await nativeLocks(path);
  for (let attempts = 1; ; attempts += 1) {
    const file = await openLockFile(path, request);
    if (file === undefined) return undefined;
    const mode = request.mode === 'exclusive-or-shared' ? (file.writable ? 'exclusive' : 'shared') : request.mode;
    let keep = false;
    try {
      const network = await request.isNetwork(path);
      const stats = network ? await holdOnNetwork(path, file, mode, request, wait) : await holdLocally(path, locks, file, mode, wait);
      if (stats === 'refused') return undefined;
      if (wait?.signal?.aborted === true) throw abortReason(wait.signal);
      if (stats !== 'replaced') {
        keep = true;
        const result: HeldFile = { path, ...file, mode, network, stats };
        held.add(result);
        return result;
      }
    } finally {
      if (!keep) await quietly(file.handle.close());
    }
    // Someone has replaced the file between our open and our grant, so this lock excludes nobody: once more, with the new one.
    if (attempts > 3) await delay(attempts, wait?.signal);
  }
}

/** Lets go of the lock. Never rejects: after this call the descriptor is gone, whatever the file system said about it. */
export async function letGo(file: HeldFile): Promise<void> {
  held.delete(file);
  if (!file.network) {
    // Closing does it as well, but later: on a thread, and only when a child that is just being started has let go of its copy.
    const locks = await nativeLocks(file.path);
    try {
      locks.unlock(file.handle.fd);
    } catch {
      // The close that follows releases it in any case.
    }
  }
  await quietly(file.handle.close());
}

/** Whether the locked file is still the one that a newcomer would open. */
export async function isInPlace(file: HeldFile): Promise<boolean> {
  if (file.network) return standsFor(file.path, file.stats);
  const there = await statIfPresent(file.path);
  return there !== undefined && isSame(there, file.stats);
}

type Held = BigIntStats | 'refused' | 'replaced';

async function holdLocally(path: string, locks: NativeLocks, file: OpenLockFile, mode: LockMode, wait: Wait | undefined): Promise<Held> {
  if ((await queueForGrant(path, locks, file, mode === 'shared', wait)) === 'refused') return 'refused';
  // Both answers are in memory, for the file was opened by this path: 5 µs here, 60 and more by way of libuv's threads (measured).
  const stats = checkLockable(path, fstatSync(file.handle.fd, { bigint: true }));
  const there = statSync(path, { bigint: true, throwIfNoEntry: false });
  return there !== undefined && isSame(stats, there) ? stats : 'replaced';
}

/**
 * An NFS client opens a name that it has cached by the file's handle: after a rename elsewhere that is another file, as long as anything keeps it (measured). So
 * the name is asked for before the lock is, and once more when there was a wait.
 */
async function holdOnNetwork(path: string, file: OpenLockFile, mode: LockMode, { byName }: HoldRequest, wait: Wait | undefined): Promise<Held> {
  const stats = await statsInPlace(path, file.handle, byName);
  if (stats === undefined) return 'replaced';
  const granted = await pollForGrant(path, file, mode === 'shared', stats.dev, wait);
  if (granted === 'refused') return 'refused';
  return granted === 'at-once' ? stats : ((await statsInPlace(path, file.handle, true)) ?? 'replaced');
}

/** `undefined`: what was opened is not the file at the path any more, and the next open will find that one. */
async function statsInPlace(path: string, handle: FileHandle, byName: boolean): Promise<BigIntStats | undefined> {
  try {
    const stats = checkLockable(path, await handle.stat({ bigint: true }));
    return !byName || (await standsFor(path, stats)) ? stats : undefined;
  } catch (error) {
    if (!hasSystemError(error, 'ESTALE')) throw fileSystemError(error, 'look at the lock file', path);
    await refreshDirectory(dirname(path));
    return undefined;
  }
}

function checkLockable(path: string, stats: BigIntStats): BigIntStats {
  if (!stats.isFile()) throw new LockUnsupportedError(path, 'it is not a regular file; give the lock a file of its own');
  return stats;
}

async function statIfPresent(path: string): Promise<BigIntStats | undefined> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ENOTDIR', 'ESTALE')) return undefined;
    throw error;
  }
}

type Grant = 'at-once' | 'after-a-wait' | 'refused';

async function queueForGrant(path: string, locks: NativeLocks, { handle }: OpenLockFile, shared: boolean, wait: Wait | undefined): Promise<Grant> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      if (locks.tryLock(handle.fd, { shared })) return 'at-once';
      if (wait === undefined) return 'refused';
      wait.contended();
      // The queue cannot be left, so whoever does not wait must not enter it.
      if (wait.signal?.aborted === true) throw abortReason(wait.signal);
      await locks.waitForLock(handle.fd, { shared });
      return 'after-a-wait';
    } catch (error) {
      if (!isContention(error) && !isPassing(error)) throw lockFailure(error, path);
      if (wait === undefined && attempts === TRIES) return 'refused';
    }
    await delay(Math.min(attempts, LONGEST_POLL_MS), wait?.signal);
  }
}

async function pollForGrant(path: string, { handle }: OpenLockFile, shared: boolean, device: bigint, wait: Wait | undefined): Promise<Grant> {
  let attempts = 1;
  for (let longest = 2 * SHORTEST_POLL_MS; ; longest = Math.min(2 * longest, LONGEST_POLL_MS)) {
    try {
      if (await tryLockOnThread(device, handle.fd, shared)) return attempts === 1 ? 'at-once' : 'after-a-wait';
      if (wait === undefined) return 'refused';
    } catch (error) {
      if (!isContention(error) && !isPassing(error)) throw lockFailure(error, path);
      if (wait === undefined && attempts === TRIES) return 'refused';
    }
    attempts += 1;
    wait?.contended();
    await delay(SHORTEST_POLL_MS + Math.random() * (longest - SHORTEST_POLL_MS), wait?.signal);
  }
}
