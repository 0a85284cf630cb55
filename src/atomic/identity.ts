/** Which object a name stands for. The only proof, after an ambiguous answer, that what is there is one's own. */
import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { refreshDirectory } from './stat-fresh.ts';

/** An object of one mount. Inode numbers of overlay and of some servers exceed what a Number holds, hence bigint. */
export interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

export function isSame(a: Identity, b: Identity): boolean {
  return a.ino === b.ino && a.dev === b.dev;
}

/**
 * Whether `path` stands for `own` at this moment, by asking the server: the directory above is opened anew, then the name is looked up. (Opening the
 * file itself tells no more: a name that is cached leads to the old file, and costs three round trips beside this one.)
 */
export async function standsFor(path: string, own: Identity): Promise<boolean> {
  const there = await freshStats(path);
  return there !== undefined && isSame(there, own);
}

async function freshStats(path: string): Promise<BigIntStats | undefined> {
  try {
    await refreshDirectory(dirname(path));
    return await lstat(path, { bigint: true });
  } catch {
    // Not there, or somewhere that does not answer: then nothing proves that it is one's own.
    return undefined;
  }
}
