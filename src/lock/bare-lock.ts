/**
 * Kernel locks with nothing round them: no holder's name, no heartbeat, no write. For files whose content is not ours (OpenTofu's own
 * `<os_arch>.lock` stays empty) and for marks that say "this process lives". A file that was replaced just now may be locked as the old one on a network, which
 * saves a round trip: marks have names of their own, and nothing rests on a lock beside an entry.
 */
import { resolve } from 'node:path';
import { LockLostError } from '../errors.ts';
import { holdFile, letGo, type HeldFile } from './held-file.ts';
import { readHolder } from './holder.ts';
import { onNetworkFileSystem, type NetworkTest } from './network.ts';
import type { LockMode, WaitOptions } from './types.ts';
import { checkTimeout, withinLimits } from './wait.ts';

/** `'exclusive-or-shared'`: exclusive where the file may be written, else shared on a read-only descriptor. */
export type BareLockMode = LockMode | 'exclusive-or-shared';

/** Options of {@link acquireBareLock}. */
export interface BareLockOptions extends WaitOptions {
  readonly mode: BareLockMode;
  /** The mode of the file where it has to be made, before the umask. Default 0o644, as OpenTofu makes it. */
  readonly createMode?: number | undefined;
}

/** Options of {@link tryBareLock}. */
export interface TryBareLockOptions {
  readonly mode: BareLockMode;
  /** Whether a missing file is made. Default `false`. */
  readonly create?: boolean | undefined;
  /** The mode of the file where it has to be made, before the umask. Default 0o644. */
  readonly createMode?: number | undefined;
}

/** A kernel lock. Ends with `release()` or with the process, and by nothing else. */
export interface BareLock {
  /** The lock file, as an absolute path. */
  readonly path: string;
  /** How it is held. */
  readonly mode: LockMode;
  /** May be called again. Never rejects. */
  release(): Promise<void>;
}

const CREATE_MODE = 0o644;

/**
 * Waits for a kernel lock on `path` and takes it; the file is made where it is missing.
 *
 * @throws LockTimeoutError, LockUnsupportedError, FileSystemError; rejects with the signal's reason when it aborts
 */
export async function acquireBareLock(path: string, options: BareLockOptions, isNetwork: NetworkTest = onNetworkFileSystem): Promise<BareLock> {
  checkTimeout(options.timeoutMs);
  const full = resolve(path);
  const request = { mode: options.mode, readOnlyToo: options.mode !== 'exclusive', createMode: options.createMode ?? CREATE_MODE, isNetwork, byName: false };
  return withinLimits(
    full,
    options,
    () => readHolder(full),
    async (wait) => {
      const file = await holdFile(full, request, wait);
      // It makes a missing file and waits for a held one, so it always has one.
      if (file === undefined) throw new LockLostError(full, 'its file could not be made');
      return bareLock(file);
    },
    (late) => void late.release(),
  );
}

/**
 * Takes a kernel lock on `path` if nobody holds one that conflicts. `undefined` where somebody does, or where the file is missing and `create` is not given.
 *
 * @throws LockUnsupportedError, FileSystemError
 */
export async function tryBareLock(path: string, options: TryBareLockOptions, isNetwork: NetworkTest = onNetworkFileSystem): Promise<BareLock | undefined> {
  const createMode = options.create === true ? (options.createMode ?? CREATE_MODE) : undefined;
  const file = await holdFile(resolve(path), { mode: options.mode, readOnlyToo: options.mode !== 'exclusive', createMode, isNetwork, byName: false }, undefined);
  return file === undefined ? undefined : bareLock(file);
}

function bareLock(file: HeldFile): BareLock {
  let releasing: Promise<void> | undefined;
  return { path: file.path, mode: file.mode, release: () => (releasing ??= letGo(file)) };
}
