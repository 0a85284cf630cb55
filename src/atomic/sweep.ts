/**
 * Removes what dead processes left: staging directories and temporary files, told by their names. Touches nothing whose
 * name this library did not make, nothing of a living owner, and nothing young; never reads this host's clock.
 */
import { lstat, readdir, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { logger } from '../diagnostics.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { attempt, finishOrAbandon, quietly } from './attempt.ts';
import { systemCalls } from './calls.ts';
import { inDirectory } from './in-directory.ts';
import { isSillyRenamed, removeTree } from './remove-tree.ts';
import { isStagingName, stagingOwner } from './staging.ts';
import { UNIQUE, uniqueName } from './unique-name.ts';

const log = logger('atomic');

/** Options of {@link sweepDirectory}. */
export interface SweepOptions {
  /**
   * How long nothing in a leftover may have changed, in milliseconds of the file system's own clock. Well above a minute on NFS, whose
   * clients may show times that are as old as that.
   */
  readonly olderThanMs: number;
  /** Whether the process that put this owner into its names still lives. A rejection counts as alive. Names without an owner go by age alone. */
  readonly isOwnerAlive: (owner: string) => Promise<boolean>;
  /** Ends the sweep between two leftovers; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** What a sweep did. */
export interface Swept {
  /** The names that are gone, as they were before the sweep. */
  readonly removed: readonly string[];
  /** How many leftovers stay: of living owners, too young, or not to be removed now. */
  readonly kept: number;
}

const TEMPORARY_NAME = new RegExp(`^\\..*\\.${UNIQUE}\\.tmp$`, 'u');

/**
 * Sweeps one directory: names of {@link withStagingDirectory} (`<owner>.<unique>`, `<unique>`) and of {@link writeFileAtomic}
 * (`.<name>.<unique>.tmp`). A leftover goes when its owner is dead **and** the newest time stamp in it is older than `olderThanMs`, measured against
 * the time stamp of a directory made just now on the same file system.
 *
 * Any number of sweepers may be at it: each leftover is first renamed to a name of the sweeper's own, and one rename wins.
 * A leftover that cannot be removed never fails the call. A missing directory has no leftovers.
 *
 * @throws FileSystemError when the directory cannot be listed, or nothing can be made in it.
 */
export async function sweepDirectory(directory: string, options: SweepOptions): Promise<Swept> {
  const { signal } = options;
  signal?.throwIfAborted();
  return finishOrAbandon(sweep(directory, options), signal);
}

async function sweep(directory: string, options: SweepOptions): Promise<Swept> {
  const names = await leftovers(directory);
  const removed: string[] = [];
  let kept = 0;
  let now: bigint | undefined;
  for (const name of names) {
    options.signal?.throwIfAborted();
    if (await isAlive(stagingOwner(name), options)) {
      kept += 1;
      continue;
    }
    now ??= await fileSystemTime(directory);
    const outcome = await removeIfOld(directory, name, now - BigInt(Math.ceil(options.olderThanMs * 1e6)));
    if (outcome === 'removed') removed.push(name);
    if (outcome === 'kept') kept += 1;
  }
  return { removed, kept };
}

async function leftovers(directory: string): Promise<string[]> {
  try {
    const names = await inDirectory(directory, () => readdir(directory));
    return names.filter((name) => !isSillyRenamed(name) && (isStagingName(name) || TEMPORARY_NAME.test(name)));
  } catch (error) {
    if (hasSystemError(error, 'ENOENT')) return [];
    throw fileSystemError(error, 'sweep', directory);
  }
}

async function isAlive(owner: string | undefined, options: SweepOptions): Promise<boolean> {
  if (owner === undefined) return false;
  try {
    return await options.isOwnerAlive(owner);
  } catch (error) {
    log('kept the leftovers of %s: %o', owner, error);
    return true;
  }
}

/** The file system's own time, in nanoseconds: that of a directory which it makes now. */
export async function fileSystemTime(directory: string): Promise<bigint> {
  const probe = join(directory, uniqueName());
  await attempt('sweep', directory, systemCalls.mkdir(probe, 0o700));
  try {
    return (await attempt('sweep', directory, lstat(probe, { bigint: true }))).mtimeNs;
  } finally {
    await quietly(rmdir(probe));
  }
}

async function removeIfOld(directory: string, name: string, limit: bigint): Promise<'removed' | 'kept' | 'gone'> {
  const path = join(directory, name);
  const mine = join(directory, uniqueName());
  try {
    if (await isYoung(path, limit)) return 'kept';
    await rename(path, mine);
  } catch (error) {
    if (hasSystemError(error, 'ENOENT')) return 'gone';
    log('kept %s: %o', path, error);
    return 'kept';
  }
  try {
    return (await removeTree(mine)).removed ? 'removed' : 'kept';
  } catch (error) {
    log('left %s for the next sweep, as %s: %o', path, mine, error);
    return 'kept';
  }
}

/** Whether anything in it changed after `limit`: a long download changes neither the time of its directory nor that of the one above. */
async function isYoung(path: string, limit: bigint): Promise<boolean> {
  const found = await lstat(path, { bigint: true });
  if (found.mtimeNs > limit || found.ctimeNs > limit) return true;
  if (!found.isDirectory()) return false;
  for (const name of await readdir(path)) {
    // A part that vanishes is being removed: by another sweeper, or by an owner who is not dead.
    if (!isSillyRenamed(name) && (await isYoung(join(path, name), limit))) return true;
  }
  return false;
}
