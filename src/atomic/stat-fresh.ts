/**
 * Fresh look-ups. An NFS client answers a name that it has once missed from its cache for 30 s (measured, file and
 * directory alike, `stat` and `open` alike); opening the directory above makes it ask. Only reads; never creates.
 */
import { constants } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { lstat, open, readlink, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { attempt, finishOrAbandon, quietly } from './attempt.ts';

/** Options of {@link statFresh}. */
export interface StatFreshOptions {
  /** Whether a symbolic link at the path is followed (as by `stat`) or described (as by `lstat`). Default `true`. */
  readonly followLinks?: boolean | undefined;
  /** Ends the look-up; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** How often an ESTALE is answered by another look. Each look starts from the root again, so a second one nearly always does. */
const LOOKS = 4;
/** Links that lead to links: as many as Linux follows. */
const LINKS = 40;

/**
 * What stands at `path`, or `undefined` when nothing does. A cached miss is never believed: when the plain `stat` finds
 * nothing, the directories above are opened anew, from the nearest one that exists downwards, and asked again. (Opening only
 * the parent misses for ever when more than one level was missing.) Where the parent exists, a miss costs four
 * calls, on NFSv4.1 one GETATTR.
 *
 * A hit is the file system's own answer and may be old: on NFS up to 19 s after another host replaced or removed the
 * entry. Call {@link refreshDirectory} first where that matters; opening the file does not help where this host has the old one open still
 * (the name leads to it, and its fstat says ESTALE, measured).
 *
 * A file in the place of a directory above is a miss as well (`undefined`): nothing can stand at such a path.
 * Three things it cannot see through: a directory above that may be entered and not read, a mount with `nocto`, and a
 * server whose change attribute is only the ctime; there {@link provenExisting} helps.
 *
 * @throws FileSystemError for anything but absence (EACCES, EIO, ELOOP; ESTALE that persists).
 */
export async function statFresh(path: string, options: StatFreshOptions = {}): Promise<BigIntStats | undefined> {
  const { signal, followLinks = true } = options;
  signal?.throwIfAborted();
  return finishOrAbandon(look(path, followLinks, signal), signal);
}

/**
 * Makes an NFS client ask the server again about the names in `directory` (it opens and closes it: one GETATTR).
 * Afterwards a `stat` of a name in it is no older than this call.
 *
 * A directory that may be entered and not read cannot be refreshed, and none on Windows: that is no error.
 *
 * @throws FileSystemError when there is no such directory (ENOENT, ENOTDIR, ESTALE) or it cannot be asked.
 */
export async function refreshDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  try {
    const handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    await quietly(handle.close());
  } catch (error) {
    if (!hasSystemError(error, 'EACCES')) throw fileSystemError(error, 'open the directory', directory);
  }
}

async function look(path: string, followLinks: boolean, signal: AbortSignal | undefined): Promise<BigIntStats | undefined> {
  for (let looks = 1; ; looks += 1) {
    signal?.throwIfAborted();
    try {
      const hit = await statOrMiss(path, followLinks);
      return hit ?? (await walk(path, followLinks, LINKS, signal));
    } catch (error) {
      if (!hasSystemError(error, 'ESTALE') || looks === LOOKS) throw fileSystemError(error, 'look up', path);
    }
  }
}

/** Climbs to the nearest directory that opens, then comes down again, each level looked up in the freshly opened one above it. */
async function walk(path: string, followLinks: boolean, links: number, signal: AbortSignal | undefined): Promise<BigIntStats | undefined> {
  const below = [path];
  let directory = dirname(path);
  while (!(await opens(directory))) {
    signal?.throwIfAborted();
    below.push(directory);
    const above = dirname(directory);
    if (above === directory) return undefined;
    directory = above;
  }
  for (let next = below.pop(); next !== undefined; next = below.pop()) {
    signal?.throwIfAborted();
    const found = await statOrMiss(next, false);
    if (found === undefined) return undefined;
    const isTarget = below.length === 0;
    if (found.isSymbolicLink() && (followLinks || !isTarget)) {
      const led = await followLink(next, links, signal);
      if (led === undefined || isTarget) return led;
    } else if (isTarget) {
      return found;
    }
    if (!(await opens(next))) return undefined;
  }
  return undefined;
}

/** A link that is there may still lead to a cached miss, in a directory that this walk has not passed. */
async function followLink(link: string, links: number, signal: AbortSignal | undefined): Promise<BigIntStats | undefined> {
  const found = await statOrMiss(link, true);
  if (found !== undefined || links === 0) return found;
  const text = await readlink(link).catch(() => undefined);
  return text === undefined ? undefined : walk(resolve(dirname(link), text), true, links - 1, signal);
}

/** @internal One plain look. */
export async function statOrMiss(path: string, followLinks: boolean): Promise<BigIntStats | undefined> {
  try {
    return await (followLinks ? stat : lstat)(path, { bigint: true });
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

async function opens(directory: string): Promise<boolean> {
  try {
    await attempt('open the directory', directory, refreshDirectory(directory));
    return true;
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}
