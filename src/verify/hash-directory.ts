/** The `h1:` hash of an unpacked package, as the reference's `PackageHashV1` and `sumdb/dirhash` HashDir compute it. Only reads. */
import type { Dirent } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { inParallel } from '../archive/parallel.ts';
import { raceAbort } from '../abort.ts';
import { attempt } from '../atomic/attempt.ts';
import { openToRead } from '../atomic/open-to-read.ts';
import { RwxCacheError, UnreadableDirectoryError } from '../errors.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { digestOf } from './file-digest.ts';
import { packageHashFromFiles, type HashedFile } from './package-hash.ts';

/** Hashing is the main thread's; with three files under way their opening and reading does not keep it waiting. */
const PARALLEL = 3;
const SEPARATOR = Buffer.from('/');

/**
 * The `h1:` hash of all files below `path`. A symbolic link at `path` itself is resolved first. Hidden files count;
 * directories, modes and times do not. A symbolic link to a file is hashed by the file's content. Names are taken as the
 * bytes that they are, and sorted by them.
 *
 * Leftovers that an NFS client keeps of removed open files (`.nfs…`) count as well: the reference counts them, so an
 * entry that has one is no longer the package that a lock file names, and saying otherwise here would only move the failure
 * into `terraform`.
 *
 * The directory must not change meanwhile. It is read in pieces: about 6 MiB of memory at any size.
 *
 * @throws UnreadableDirectoryError - it holds a dangling link, a link to a directory, a device or the like, or a name with a line break; or `path` is no directory
 * @throws FileSystemError - it is not there, or cannot be read
 */
export async function hashDirectory(path: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<string> {
  const { signal } = options;
  signal?.throwIfAborted();
  // Reading changes nothing, so an abort need not wait for a hanging mount.
  return raceAbort(hashTree(path, signal), signal);
}

async function hashTree(path: string, signal: AbortSignal | undefined): Promise<string> {
  const root = Buffer.from(await attempt('resolve', path, realpath(path)));
  const names = await listFiles(root, path, signal);
  const files: HashedFile[] = [];
  await inParallel(
    names,
    PARALLEL,
    async (name, stop) => {
      files.push({ name, sha256: await hashFile(Buffer.concat([root, SEPARATOR, name]), stop) });
    },
    signal,
  );
  return packageHashFromFiles(files);
}

/** Paths below the root of everything that is no directory. Links are listed and not followed, as in Go's `filepath.Walk`. */
async function listFiles(root: Buffer, given: string, signal: AbortSignal | undefined): Promise<Buffer[]> {
  const names: Buffer[] = [];
  const waiting: (Buffer | undefined)[] = [undefined];
  while (waiting.length > 0) {
    signal?.throwIfAborted();
    const parent = waiting.pop();
    const directory = parent === undefined ? root : Buffer.concat([root, SEPARATOR, parent]);
    for (const entry of await list(directory, given)) {
      const name = parent === undefined ? entry.name : Buffer.concat([parent, SEPARATOR, entry.name]);
      if (name.includes(0x0a)) throw new UnreadableDirectoryError(JSON.stringify(`${root.toString()}/${name.toString()}`), 'its name has a line break, which h1 hashes cannot express');
      if (entry.isDirectory()) waiting.push(name);
      else names.push(name);
    }
  }
  return names;
}

async function list(directory: Buffer, given: string): Promise<Dirent<Buffer>[]> {
  try {
    return await readdir(directory, { withFileTypes: true, encoding: 'buffer' });
  } catch (error) {
    if (hasSystemError(error, 'ENOTDIR')) throw new UnreadableDirectoryError(given, 'it is no directory', error);
    throw fileSystemError(error, 'list', directory.toString());
  }
}

async function hashFile(path: Buffer, signal: AbortSignal): Promise<string> {
  const shown = path.toString();
  try {
    const handle = await openToRead(path);
    try {
      const stats = await handle.stat();
      if (stats.isDirectory()) throw new UnreadableDirectoryError(shown, 'it is a symbolic link to a directory, which h1 hashes cannot express');
      if (!stats.isFile()) throw new UnreadableDirectoryError(shown, 'it is neither a file nor a directory');
      return await digestOf(handle, stats.size, signal);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof RwxCacheError || signal.aborted) throw error;
    // It was listed a moment ago: a link that leads nowhere (or in a circle), or a file that somebody is removing.
    if (hasSystemError(error, 'ENOENT', 'ELOOP', 'ENOTDIR')) throw new UnreadableDirectoryError(shown, 'it is a symbolic link that leads nowhere, or was removed meanwhile', error);
    // What Linux answers to opening a socket.
    if (hasSystemError(error, 'ENXIO')) throw new UnreadableDirectoryError(shown, 'it is neither a file nor a directory', error);
    throw fileSystemError(error, 'read', shown);
  }
}
