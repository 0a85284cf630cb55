/**
 * Removes partial downloads that nobody came for. One that a process still writes has a second name in its staging directory: only those without
 * are orphans. Removing too much costs a download its head start and nothing else. Touches names of its own form only, in this user's directory only.
 */
import { lstat, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileSystemTime } from '../atomic/sweep.ts';
import { hasSystemError } from '../system-errors.ts';

/** What orphans of one user may take in all, in bytes; the youngest stay. */
export const MOST_ORPHANED_BYTES: number = 4 * 2 ** 30;

const NAME = /^[0-9a-f]{64}\.[0-9a-f]{32}\.[0-9a-f]{32}$/u;

interface Partial {
  readonly path: string;
  readonly bytes: number;
  readonly writtenNs: bigint;
  readonly orphaned: boolean;
}

/** Removes what nothing was written to for `olderThanMs` of the file system's own clock, and the oldest orphans above `mostBytes`. Answers how many that were. */
export async function sweepPartials(directory: string, olderThanMs: number, mostBytes: number = MOST_ORPHANED_BYTES): Promise<number> {
  const partials = await listPartials(directory);
  if (partials.length === 0) return 0;
  const limit = (await fileSystemTime(directory)) - BigInt(Math.ceil(olderThanMs * 1e6));
  const old = partials.filter(({ writtenNs }) => writtenNs < limit);
  await removeAll(old);
  return old.length + (await bound(partials.filter((partial) => !old.includes(partial)), mostBytes));
}

/** Removes the oldest orphans above `mostBytes` in all. */
export async function boundOrphans(directory: string, mostBytes: number = MOST_ORPHANED_BYTES): Promise<void> {
  await bound(await listPartials(directory), mostBytes);
}

/** Removes all orphans; says whether there were any. */
export async function removeOrphans(directory: string): Promise<boolean> {
  const orphans = (await listPartials(directory)).filter(({ orphaned }) => orphaned);
  await removeAll(orphans);
  return orphans.length > 0;
}

async function bound(partials: readonly Partial[], mostBytes: number): Promise<number> {
  const youngestFirst = partials.filter(({ orphaned }) => orphaned).sort((one, other) => Number(other.writtenNs - one.writtenNs));
  let bytes = 0;
  const excess = youngestFirst.filter((partial) => {
    bytes += partial.bytes;
    return bytes > mostBytes;
  });
  await removeAll(excess);
  return excess.length;
}

/** None where the directory is missing, or is not what this user has made: nothing behind a link is removed. */
async function listPartials(directory: string): Promise<Partial[]> {
  const own = await quiet(lstat(directory));
  if (own === undefined || !own.isDirectory() || (own.mode & 0o077) !== 0) return [];
  const names = (await quiet(readdir(directory))) ?? [];
  const found = await Promise.all(names.filter((name) => NAME.test(name)).map((name) => describePartial(join(directory, name))));
  return found.filter((partial) => partial !== undefined);
}

async function describePartial(path: string): Promise<Partial | undefined> {
  const stats = await quiet(lstat(path, { bigint: true }));
  return stats === undefined ? undefined : { path, bytes: Number(stats.size), writtenNs: stats.mtimeNs, orphaned: stats.nlink === 1n };
}

async function removeAll(partials: readonly Partial[]): Promise<void> {
  for (const { path } of partials) await quiet(unlink(path));
}

/** Others remove as well. */
async function quiet<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ESTALE')) return undefined;
    throw error;
  }
}
