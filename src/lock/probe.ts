/** Finds out what kernel locks a directory's mount gives, by taking one and by reading the mount's options. Leaves nothing behind. */
import { constants } from 'node:fs';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { raceAbort } from '../abort.ts';
import { quietly } from '../atomic/attempt.ts';
import { fileSystemKind } from '../atomic/file-system-kind.ts';
import { uniqueName } from '../atomic/unique-name.ts';
import { LockUnsupportedError } from '../errors.ts';
import { fileSystemError } from '../system-errors.ts';
import { isOfThisHost, lockReach, mountOf } from './mount-options.ts';
import { isContention, lockFailure, nativeLocks } from './native.ts';
import { tryLockOnThread } from './try-lock.ts';
import { checkTimeout } from './wait.ts';

/** What {@link probeLocking} found. */
export interface LockingSupport {
  /** `'cluster'`: kernel locks hold between all hosts that mount it. `'host'`: between the processes of this host. `'none'`: there are none. */
  readonly kernel: 'cluster' | 'host' | 'none';
  /** What limits or weakens them, mount option by mount option. */
  readonly reason?: string;
}

/** Options of {@link probeLocking}. */
export interface ProbeOptions {
  /** How long the mount has to answer, in milliseconds. Default 10 000. */
  readonly timeoutMs?: number | undefined;
  /** Ends the probe; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * Tells what kernel locks are worth in `directory`, which must exist and be writable: takes a lock on a file of its own there, sees that a second
 * descriptor is refused, and reads what the mount's options make of it.
 *
 * A `'cluster'` may have a reason, too: `soft`, `nocto`, NFSv3 and 4.0 leave the locks cluster-wide and weaken what rests on them. On a network
 * file system {@link acquireLock} with `'auto'` takes locks only where the answer is `'cluster'`, or nothing is known of the mount. All of it:
 * [File systems](../../documentation/file-systems.md).
 *
 * @param directory - The directory that lock files will lie in.
 * @returns What was found; `'none'` also when the mount does not answer within `timeoutMs`.
 * @throws FileSystemError when no file can be made there.
 */
export async function probeLocking(directory: string, options: ProbeOptions = {}): Promise<LockingSupport> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, signal } = options;
  signal?.throwIfAborted();
  checkTimeout(timeoutMs);
  const full = resolve(directory);
  const limit = AbortSignal.timeout(Math.min(timeoutMs, 2 ** 31 - 1));
  try {
    return await raceAbort(probe(full), signal === undefined ? limit : AbortSignal.any([signal, limit]));
  } catch (error) {
    if (error === limit.reason && signal?.aborted !== true) return { kernel: 'none', reason: `the mount did not answer within ${timeoutMs} ms` };
    throw error;
  }
}

async function probe(directory: string): Promise<LockingSupport> {
  const path = join(directory, `.rwx-cache-probe-${uniqueName()}`);
  const { network } = await fileSystemKind(directory);
  try {
    await nativeLocks(directory);
    const conflicts = await lockTwice(path);
    if (!conflicts) return { kernel: 'none', reason: 'a second lock was granted beside the first: the file system only pretends' };
  } catch (error) {
    if (error instanceof LockUnsupportedError) return { kernel: 'none', reason: error.reason };
    throw error;
  }
  const mount = await mountOf(directory);
  if (!network || (mount !== undefined && isOfThisHost(mount))) return { kernel: 'host', reason: 'it is a local file system' };
  if (mount === undefined) return { kernel: 'host', reason: 'it is not known what is mounted there' };
  const { kernel, reason } = lockReach(mount);
  return reason === undefined ? { kernel } : { kernel, reason };
}

/** Whether the second of two descriptors is refused. */
async function lockTwice(path: string): Promise<boolean> {
  const flags = constants.O_RDWR | constants.O_CREAT;
  const handles: FileHandle[] = [];
  try {
    handles.push(await open(path, flags | constants.O_EXCL, 0o600));
    handles.push(await open(path, flags, 0o600));
    const results: boolean[] = [];
    for (const handle of handles) {
      const { dev } = await handle.stat({ bigint: true });
      results.push(await tryOnce(dev, handle.fd, path));
    }
    return results[0] === true && results[1] === false;
  } catch (error) {
    throw fileSystemError(error, 'make a file to try locks on', path);
  } finally {
    for (const handle of handles) await quietly(handle.close());
    // An own file that is still open would stay behind on NFS as .nfsXXXX, so it goes last.
    if (handles.length > 0) await quietly(unlink(path));
  }
}

async function tryOnce(device: bigint, fd: number, path: string): Promise<boolean> {
  try {
    return await tryLockOnThread(device, fd, false);
  } catch (error) {
    if (isContention(error)) return false;
    throw lockFailure(error, path);
  }
}
