/** Which object a name stands for. The only proof, after an ambiguous answer, that what is there is one's own. */
import { constants } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasSystemError } from '../system-errors.ts';
import { quietly } from './attempt.ts';
import { refreshDirectory } from './stat-fresh.ts';

/** An object of one mount. Inode numbers of overlay and of some servers exceed what a Number holds, hence bigint. */
export interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

export function isSame(a: Identity, b: Identity): boolean {
  return a.ino === b.ino && a.dev === b.dev;
}

/** Neither a symbolic link nor a FIFO in the place may lead the look elsewhere or hold it up. */
const LOOK = constants.O_RDONLY | (process.platform === 'win32' ? 0 : constants.O_NOFOLLOW | constants.O_NONBLOCK);

/** Whether `path` stands for `own` at this moment, by asking the server: parent opened anew, then open and fstat. A stat may be 19 s old. */
export async function standsFor(path: string, own: Identity): Promise<boolean> {
  const there = await freshStats(path);
  return there !== undefined && isSame(there, own);
}

async function freshStats(path: string): Promise<BigIntStats | undefined> {
  try {
    await refreshDirectory(dirname(path));
    const handle = await open(path, LOOK);
    try {
      return await handle.stat({ bigint: true });
    } finally {
      await quietly(handle.close());
    }
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ENOTDIR', 'ESTALE', 'ELOOP')) return undefined;
    // No permission to read it, a socket, or a directory on Windows: the name is there, and its stat is the best to be had.
    return lstat(path, { bigint: true }).catch(() => undefined);
  }
}
