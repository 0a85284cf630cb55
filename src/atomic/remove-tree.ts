/** Removal that gets through read-only trees and leaves alone what a running program still has open. Never follows a symbolic link. */
import type { Dirent } from 'node:fs';
import { chmod, readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { delay } from '../abort.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { statFresh } from './stat-fresh.ts';

/** Options of {@link removeTree}. */
export interface RemoveTreeOptions {
  /** Ends the removal between two entries; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Pauses before another round where something keeps appearing or is busy. Whoever is closing a file needs no longer; a running plugin would need hours. */
const PAUSES_MS: readonly number[] = [5, 20, 60];

/** What an NFS client makes of a file that is removed while a process of its host has it open. It goes when that process ends. */
export function isSillyRenamed(name: string): boolean {
  return name.startsWith('.nfs');
}

/** What came of a removal. */
export interface Removal {
  /** Whether nothing is left; `false` where `.nfs*` files stay, or others go on putting files in. */
  readonly removed: boolean;
}

/**
 * Removes a file or a whole tree. What is missing already is no error, so any number of processes may remove the same
 * tree. Directories without write permission (0555) are made writable first where that is needed and allowed.
 *
 * @returns whether all of it is gone. `false`: files that a process on some NFS client still has open are left
 * (`.nfs…`, which are never touched), or others go on putting files in; try again later.
 * @throws FileSystemError EACCES, EPERM, EBUSY, EIO, … for what cannot be removed.
 */
export async function removeTree(path: string, options: RemoveTreeOptions = {}): Promise<Removal> {
  const { signal } = options;
  signal?.throwIfAborted();
  for (const pause of [...PAUSES_MS, undefined]) {
    try {
      if (await removeOnce(path, signal)) return { removed: true };
    } catch (error) {
      if (pause === undefined || !hasSystemError(error, 'EBUSY', 'EPERM')) throw error;
    }
    if (pause !== undefined) await delay(pause, signal);
  }
  return { removed: false };
}

async function removeOnce(path: string, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    // A cached miss is not believed: what another host has made there is removed in the next round.
    if (hasSystemError(error, 'ENOENT')) return (await statFresh(path, { followLinks: false })) === undefined;
    // Linux says EISDIR for a directory; POSIX, macOS and Windows say EPERM.
    if (!hasSystemError(error, 'EISDIR', 'EPERM')) throw fileSystemError(error, 'remove', path);
    return removeDirectory(path, signal, error);
  }
}

async function removeDirectory(path: string, signal: AbortSignal | undefined, refusal?: unknown): Promise<boolean> {
  const entries = await withPermission(path, () => readdir(path, { withFileTypes: true })).catch((error: unknown) => {
    if (hasSystemError(error, 'ENOENT')) return undefined;
    throw fileSystemError(hasSystemError(error, 'ENOTDIR') ? (refusal ?? error) : error, 'remove', path);
  });
  if (entries === undefined) return true;
  let isEmpty = true;
  for (const entry of entries) {
    signal?.throwIfAborted();
    if (!(await removeEntry(path, entry, signal))) isEmpty = false;
  }
  if (!isEmpty) return false;
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    if (hasSystemError(error, 'ENOENT')) return true;
    if (hasSystemError(error, 'ENOTEMPTY', 'EEXIST')) return false;
    throw fileSystemError(error, 'remove', path);
  }
}

async function removeEntry(directory: string, entry: Dirent, signal: AbortSignal | undefined): Promise<boolean> {
  if (isSillyRenamed(entry.name)) return false;
  const path = join(directory, entry.name);
  if (entry.isDirectory()) {
    const emptied = await removeDirectory(path, signal).catch(async (error: unknown) => {
      // rmdir of a child needs the right to write here, not there.
      if (!hasSystemError(error, 'EACCES')) throw error;
      await makeWritable(directory);
      return removeDirectory(path, signal);
    });
    return emptied;
  }
  try {
    await withPermission(directory, () => unlink(path));
    return true;
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'EISDIR')) return hasSystemError(error, 'ENOENT');
    throw fileSystemError(error, 'remove', path);
  }
}

/** Does `work` in `directory`; where its mode forbids it, once more with the owner's rights restored. */
async function withPermission<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!hasSystemError(error, 'EACCES')) throw error;
    await makeWritable(directory);
    return work();
  }
}

/** A refusal of the chmod itself (another owner) shows in the call that is tried again. */
async function makeWritable(directory: string): Promise<void> {
  await chmod(directory, 0o700).catch(() => undefined);
}
