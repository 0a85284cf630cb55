/**
 * One directory, whole or not at all, and the first writer wins. Publishes by one `rename`; never creates, empties or removes
 * the target, and copies nothing.
 */
import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { InvalidOptionError, StagingLostError } from '../errors.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { attempt, finishOrAbandon, quietly } from './attempt.ts';
import { systemCalls } from './calls.ts';
import type { AmbiguousCalls } from './calls.ts';
import { isSame, standsFor } from './identity.ts';
import type { Identity } from './identity.ts';
import { provenExistingWith } from './proven-existing.ts';
import { renamePatiently } from './rename.ts';
import { openDirectory, syncOpenDirectory } from './sync.ts';
import type { Published } from './write-file-atomic.ts';

/** Options of {@link publishDirectory}. */
export interface PublishDirectoryOptions {
  /** Whether the name survives a power cut once the call has resolved. The tree itself must be durable before: {@link syncTree}. Default `true`. */
  readonly durable?: boolean | undefined;
  /** The published directory's own permission bits; the umask plays no part. Default `0o755`. */
  readonly mode?: number | undefined;
  /** Ends the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** How often the rename is tried while it says "there" and nothing is there: each time somebody took it away in between. */
const ROUNDS = 4;

/** What Windows answers where a directory is in the place already. */
const TAKEN_ON_WINDOWS: readonly string[] = process.platform === 'win32' ? ['EPERM', 'EACCES'] : [];

/**
 * Renames a staged directory into its place. Of any number of processes and hosts exactly one publishes; each of the
 * others gets `published: false` and adopts what is there (its own staged directory stays where it was, and is its own to remove).
 * With `false` the target is visible to this client's `stat`, and its name is durable.
 *
 * - The staged directory may be 0700; it gets `mode` just before the rename, and keeps it when it loses.
 * - An **empty** directory in the place is replaced (that is what `rename` does); on Windows it counts as there.
 *   So never make the target beforehand.
 * - A file or symbolic link in the place: ENOTDIR, nothing changes.
 * - Staged on another mount: EXDEV, nothing changes. Stage on the target's own mount ({@link canRenameBetween} finds out).
 * - An ambiguous answer (ENOENT when the staged directory is gone) is decided by the inode: is the one in the place ours, this call
 *   has published; else the staging was lost to somebody else.
 * - An abort is obeyed until the rename is issued.
 *
 * @throws FileSystemError ENOENT (no parent directory), ENOTDIR, EXDEV, EACCES, …, naming `target`.
 * @throws StagingLostError when `staged` is not there any more.
 */
export async function publishDirectory(staged: string, target: string, options: PublishDirectoryOptions = {}): Promise<Published> {
  return publishDirectoryWith(systemCalls, staged, target, options);
}

/** @internal */
export async function publishDirectoryWith(calls: AmbiguousCalls, staged: string, target: string, options: PublishDirectoryOptions): Promise<Published> {
  const { durable = true, mode = 0o755, signal } = options;
  signal?.throwIfAborted();
  if (!(Number.isInteger(mode) && mode >= 0 && mode <= 0o777)) throw new InvalidOptionError('mode', `${mode} is not within 0 to 0o777`);
  return finishOrAbandon(publish(), signal);

  async function publish(): Promise<Published> {
    const own = await prepare(staged, target, mode, durable);
    const parent = durable ? await attempt('publish', target, openDirectory(dirname(target), own.dev)) : undefined;
    try {
      signal?.throwIfAborted();
      const published = await moveOrAdopt(calls, staged, target, own, signal);
      await attempt('make durable, after it was published,', target, syncOpenDirectory(parent));
      return { published };
    } finally {
      await parent?.close().catch(() => undefined);
    }
  }
}

/**
 * Its inode, for what may have to be decided later, and its final mode: once renamed it is public, and a mode set after that could be
 * missed. The mode is synced too: an entry that is 0700 after a power cut is there and of use to nobody else.
 */
async function prepare(staged: string, target: string, mode: number, durable: boolean): Promise<Identity> {
  try {
    // A directory that has its mode already is not opened: on NFS that would be a round trip. Windows opens none and has no such modes.
    const seen = await lstat(staged, { bigint: true });
    if (process.platform === 'win32' || (seen.isDirectory() && Number(seen.mode & 0o7777n) === mode)) return seen;
    const handle = await open(staged, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      const own = await handle.stat({ bigint: true });
      await handle.chmod(mode);
      if (durable) await syncOpenDirectory(handle);
      return own;
    } finally {
      await quietly(handle.close());
    }
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ESTALE')) throw new StagingLostError(staged, error);
    throw fileSystemError(error, `publish as ${target}`, staged);
  }
}

async function moveOrAdopt(calls: AmbiguousCalls, staged: string, target: string, own: Identity, signal: AbortSignal | undefined): Promise<boolean> {
  for (let round = 1; ; round += 1) {
    try {
      await renamePatiently(calls, staged, target, signal);
      return true;
    } catch (error) {
      if (!hasSystemError(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT', 'ESTALE', ...TAKEN_ON_WINDOWS)) throw fileSystemError(error, 'publish', target);
      if (await standsFor(target, own)) return true;
      if (hasSystemError(error, 'ENOENT', 'ESTALE')) {
        if (!(await standsFor(staged, own))) throw new StagingLostError(staged, error);
        if (hasSystemError(error, 'ESTALE') && round < ROUNDS) continue;
      } else {
        const there = await provenExistingWith(calls, target, signal);
        if (there !== undefined) return isSame(there, own);
        if (round < ROUNDS) continue;
      }
      throw fileSystemError(error, 'publish', target);
    }
  }
}
