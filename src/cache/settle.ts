/**
 * Waits until something that another program may still be writing has stayed unchanged for a while, by this process's
 * own monotonic clock. "Unchanged" says nothing about "whole": a killed `terraform` leaves a short binary that never
 * changes again. It only says that nobody is at it.
 */
import { lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { delay } from '../abort.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';

/** Often enough to tell the caller about it, rarely enough to be cheap on a network. */
const LOOK_EVERY_MS = 250;

/** Resolves when what is at `path` has not changed for `settleMs`, or is gone. */
export async function waitUntilSettled(path: string, settleMs: number, options: { readonly signal: AbortSignal; onLook(unchangedMs: number): void }): Promise<void> {
  let seen = await outline(path);
  let since = performance.now();
  while (seen !== '') {
    const unchangedMs = performance.now() - since;
    options.onLook(Math.floor(unchangedMs));
    if (unchangedMs >= settleMs) return;
    await delay(Math.min(LOOK_EVERY_MS, settleMs - unchangedMs), options.signal);
    const now = await outline(path);
    if (now !== seen) {
      seen = now;
      since = performance.now();
    }
  }
}

/** Everything about a tree that writing to it would change; `''` when nothing is there. */
async function outline(path: string): Promise<string> {
  try {
    const stats = await lstat(path, { bigint: true });
    if (stats.isDirectory()) {
      const names = (await readdir(path)).sort();
      const inside = await Promise.all(names.map(async (name) => `${name}{${await outline(join(path, name))}}`));
      return [stats.ino, stats.mtimeNs, ...inside].join(' ');
    }
    const { size, mtimeNs } = stats.isFile() ? await openedStat(path) : stats;
    return [stats.ino, size, mtimeNs].join(' ');
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ESTALE', 'ENOTDIR')) return '';
    throw fileSystemError(error, 'watch', path);
  }
}

/** By open and fstat: a bare stat is cached for up to 30 s on NFS. What cannot be opened is looked at from outside. */
async function openedStat(path: string): Promise<{ readonly size: bigint; readonly mtimeNs: bigint }> {
  let handle;
  try {
    handle = await open(path, 'r');
  } catch (error) {
    if (!hasSystemError(error, 'EACCES', 'EPERM')) throw error;
    return lstat(path, { bigint: true });
  }
  try {
    return await handle.stat({ bigint: true });
  } finally {
    await handle.close();
  }
}
