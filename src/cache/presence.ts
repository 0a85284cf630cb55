/**
 * The presence of this process in a cache: a file under `state/presence/` that it holds a kernel lock on for as long
 * as it lives. Staging and pins carry the file's name; what a dead process left behind is known by that lock being
 * free, on whatever host it ran. Made when it is first needed: a process that only hits writes nothing.
 */
import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectories, statFresh, uniqueName, writeFileAtomic } from '../atomic/index.ts';
import { publishEvent } from '../diagnostics.ts';
import { LockUnsupportedError } from '../errors.ts';
import { tryBareLock, type BareLock } from '../lock/bare-lock.ts';
import { onClusterOrLocal } from '../lock/network.ts';
import { fileSystemError } from '../system-errors.ts';

/** This process's mark in one cache. */
export interface Presence {
  /** The mark's name: 128 random bits. */
  readonly id: string;
  /** Renews the mark, and answers what time it is by the file system's own clock, in milliseconds. */
  touch(): Promise<number>;
  /** Removes the mark. */
  leave(): Promise<void>;
}

/** Makes the mark. */
export async function enterPresence(directory: string): Promise<Presence> {
  const id = uniqueName();
  const path = join(directory, id);
  await makeDirectories(directory);
  await writeFileAtomic(path, '', { durable: false, ifExists: 'keep', mode: 0o644 });
  const lock = await lockMark(path);
  return {
    id,
    touch: () => touchMark(path),
    leave: async () => {
      await unlink(path).catch(() => undefined);
      await lock?.release();
    },
  };
}

/**
 * Whether the process that made a mark still lives: `'present'`, `'absent'`, or `'unknown'` where the mount gives no kernel
 * lock to tell it by, or one that other hosts do not see.
 */
export async function presenceOf(directory: string, id: string): Promise<'present' | 'absent' | 'unknown'> {
  const path = join(directory, id);
  if ((await statFresh(path)) === undefined) return 'absent';
  try {
    // Another user's mark can only be read, and a shared lock tells as well.
    const lock = await tryBareLock(path, { mode: 'exclusive-or-shared' }, onClusterOrLocal);
    await lock?.release();
    return lock === undefined ? 'present' : 'absent';
  } catch (error) {
    if (error instanceof LockUnsupportedError) return 'unknown';
    throw error;
  }
}

async function lockMark(path: string): Promise<BareLock | undefined> {
  try {
    return await tryBareLock(path, { mode: 'exclusive' }, onClusterOrLocal);
  } catch (error) {
    if (!(error instanceof LockUnsupportedError)) throw error;
    publishEvent('cache:presence-unlocked', { path, reason: error.reason });
    return undefined;
  }
}

/** A write gives the file the server's time; `utimes` would give it this host's. */
async function touchMark(path: string): Promise<number> {
  try {
    const handle = await open(path, 'r+');
    try {
      await handle.write('.', 0);
      await handle.datasync();
      return (await handle.stat()).mtimeMs;
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw fileSystemError(error, 'touch the presence mark', path);
  }
}
