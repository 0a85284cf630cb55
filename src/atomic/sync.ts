/** Making names and trees survive a power cut. Only syncs; never creates, renames or removes. */
import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { hasSystemError } from '../system-errors.ts';
import { attempt, finishOrAbandon } from './attempt.ts';
import { isOnNfs } from './nfs.ts';

/** Windows opens no directories, and its file systems journal names by themselves. */
const DIRECTORIES_OPEN = process.platform !== 'win32';
const READ_DIRECTORY = constants.O_RDONLY | (DIRECTORIES_OPEN ? constants.O_DIRECTORY : 0);

/** libuv's pool has four threads; one stays free for the rest of the process while the disk works. */
const PARALLEL = 3;

/**
 * A handle to sync `directory` with after something in it was renamed; `undefined` where that would do nothing. Taken before the rename, so that whatever
 * forbids the sync (no read permission, no free descriptor) shows while nothing is published yet. `device` is the directory's, where the caller has it
 * already: after something in the directory has changed, asking for it is a round trip.
 */
export async function openDirectory(directory: string, device?: bigint): Promise<FileHandle | undefined> {
  return DIRECTORIES_OPEN && !(await isOnNfs(directory, device)) ? open(directory, READ_DIRECTORY) : undefined;
}

/** Syncs an open directory. Some FUSE and SMB servers have no such call and answer EINVAL or ENOTSUP: they take names at once or not at all. */
export async function syncOpenDirectory(handle: FileHandle | undefined): Promise<void> {
  try {
    await handle?.sync();
  } catch (error) {
    if (!hasSystemError(error, 'EINVAL', 'ENOTSUP')) throw error;
  }
}

/** Makes the names in `directory` durable. */
export async function syncDirectory(directory: string, device?: bigint): Promise<void> {
  const handle = await openDirectory(directory, device);
  try {
    await syncOpenDirectory(handle);
  } finally {
    await handle?.close();
  }
}

/**
 * Makes a whole tree durable: every regular file and every directory in `directory`, and itself. Symbolic links are
 * kept by the sync of their directory and not followed. Three calls are outstanding at most.
 *
 * Call it on a staged tree whose writers are done, before {@link publishDirectory}. Concurrent removal of parts of the tree
 * makes it fail with ENOENT: what was removed cannot be promised.
 *
 * @throws FileSystemError when a file or directory cannot be opened or synced.
 */
export async function syncTree(directory: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
  const { signal } = options;
  signal?.throwIfAborted();
  await finishOrAbandon(syncAll(directory, signal), signal);
}

async function syncAll(root: string, signal: AbortSignal | undefined): Promise<void> {
  const found = [root];
  const files: string[] = [];
  // Grows while it is walked.
  for (const directory of found) {
    signal?.throwIfAborted();
    for (const entry of await attempt('list', directory, readdir(directory, { withFileTypes: true }))) {
      if (entry.isDirectory()) found.push(join(directory, entry.name));
      else if (entry.isFile()) files.push(join(directory, entry.name));
    }
  }
  await inParallel(files, (file) => attempt('sync', file, syncFile(file)), signal);
  await inParallel(found, (directory) => attempt('sync', directory, syncDirectory(directory)), signal);
}

async function inParallel(paths: readonly string[], work: (path: string) => Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const queue = paths.values();
  let failed = false;
  const workers = Array.from({ length: PARALLEL }, async () => {
    for (const path of queue) {
      if (failed) return;
      signal?.throwIfAborted();
      try {
        await work(path);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  });
  await Promise.all(workers);
}

/** fsync takes a read-only descriptor everywhere but on Windows, where a read-only file stays unsynced. */
async function syncFile(path: string): Promise<void> {
  const handle = await open(path, DIRECTORIES_OPEN ? 'r' : 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
