/** The lock file on the disk: found behind symbolic links, read whole and within bounds. Writes nothing. */
import type { Stats } from 'node:fs';
import { readlink, realpath, type FileHandle } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, sep } from 'node:path';
import { attempt } from '../atomic/attempt.ts';
import { openToRead } from '../atomic/open-to-read.ts';
import { DependencyLocksError, FileSystemError } from '../errors.ts';
import { hasSystemError } from '../system-errors.ts';

/** Files of hundreds of providers have some 300 kB. */
const MAX_BYTES = 16 * 2 ** 20;

/** As many as Linux follows. */
const MAX_LINKS = 40;

/** What was there. */
export interface LockFileContent {
  readonly bytes: Buffer;
  readonly text: string;
  readonly stats: Stats;
}

/**
 * Reads a lock file.
 *
 * @param named - The path for messages.
 * @throws FileSystemError - it is missing, a directory, or cannot be read
 * @throws DependencyLocksError - it is no regular file, larger than 16 MiB, or no UTF-8
 */
export async function readLockFile(path: string, named: string): Promise<LockFileContent> {
  const handle = await attempt('open', named, openToRead(path));
  try {
    const { bytes, stats } = await readWhole(handle, named);
    return { bytes, stats, text: decode(bytes, named) };
  } finally {
    await handle.close();
  }
}

async function readWhole(handle: FileHandle, named: string): Promise<{ readonly bytes: Buffer; readonly stats: Stats }> {
  const stats = await attempt('inspect', named, handle.stat());
  if (stats.isDirectory()) throw new FileSystemError({ systemCode: 'EISDIR', operation: 'read', path: named });
  if (!stats.isFile()) throw new DependencyLocksError({ path: named, problem: 'it is no regular file' });
  if (stats.size > MAX_BYTES) throw new DependencyLocksError({ path: named, problem: `it has ${stats.size} bytes, and a lock file has at most ${MAX_BYTES}` });
  return { bytes: await attempt('read', named, handle.readFile()), stats };
}

function decode(bytes: Buffer, named: string): string {
  const text = bytes.toString('utf8');
  const again = Buffer.from(text);
  if (again.equals(bytes)) return text;
  const wrong = again.findIndex((byte, index) => byte !== bytes[index]);
  const before = bytes.subarray(0, wrong).toString('utf8').split('\n');
  throw new DependencyLocksError({ path: named, line: before.length, column: Array.from(before.at(-1) ?? '').length + 1, problem: 'it is not UTF-8 here' });
}

/**
 * Where the lock file really stands: symbolic links are followed, also one whose target is missing. The directory must exist.
 *
 * @throws FileSystemError ENOENT without the directory, ELOOP, …
 */
export async function locateLockFile(path: string): Promise<string> {
  let at = path;
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    const directory = await attempt('find the directory of', path, realpath(dirname(at)));
    const real = join(directory, basename(at));
    const link = await readlink(real).catch((error: unknown) => {
      // EINVAL: it is none.
      if (hasSystemError(error, 'EINVAL', 'ENOENT', 'UNKNOWN')) return undefined;
      throw error;
    });
    if (link === undefined) return real;
    // Not joined: `link/..` is another place where `link` is a link itself.
    at = isAbsolute(link) ? link : `${directory}${sep}${link}`;
  }
  throw new FileSystemError({ systemCode: 'ELOOP', operation: 'follow the links of', path });
}
