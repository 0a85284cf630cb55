/**
 * Marks: what processes put up for one another to see. A mark is an empty directory, `<presence>.<unique>`, in a directory of its subject; it ends with the process
 * that its presence stands for, by SIGKILL too.
 *
 * Who puts up a mark of one kind and then looks for the other kind's, while others do the same the other way round, rests on this: at least one of
 * two sees the other, and no lock has to be believed for it. On a network file system no look may be answered from a cache, whatever the
 * mount's options and however coarse the server's change attribute is: whether there are marks is asked by `rmdir` of their
 * directory, which only the server can answer, and which does nothing where there are any. (A listing was no proof: it may be cached, and one that
 * takes several replies may leave out a name while others are being removed.)
 */
import { mkdir, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectories, removeTree, stagingOwner, statFresh, uniqueName } from '../atomic/index.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { presenceOf } from './presence.ts';

/** Where no lock tells whether its process lives, a mark counts for nothing when this process has seen it for so long: a removal takes no time. */
const DOUBTED_AFTER_MS = 30_000;

/** As often as a directory may be removed again between the calls that make it and the mark in it. */
const TRIES = 100;

/** Puts up a mark, in a directory that others remove as soon as it is empty. */
export async function placeMark(directory: string, owner: string): Promise<string> {
  const mark = join(directory, `${owner}.${uniqueName()}`);
  for (let tries = 1; ; tries += 1) {
    try {
      await mkdir(mark, { mode: 0o755 });
      return mark;
    } catch (error) {
      // The name is nobody else's: this is the answer to a request that was sent twice.
      if (hasSystemError(error, 'EEXIST')) return mark;
      if (!hasSystemError(error, 'ENOENT', 'ESTALE') || tries === TRIES) throw fileSystemError(error, 'make the mark', mark);
    }
    await makeDirectories(directory, { durable: false });
  }
}

/** Takes a mark down; one that is gone already is as good. */
export async function removeMark(mark: string): Promise<void> {
  try {
    await rmdir(mark);
  } catch (error) {
    if (!hasSystemError(error, 'ENOENT', 'ESTALE')) throw error;
  }
}

/**
 * Whether there are no marks in a directory at this moment. The `mkdir` first, because an `rmdir` of a name that was missing a moment ago is not sent at all;
 * with it, every answer of the `rmdir` is the server's own.
 */
export async function isEmpty(marks: string): Promise<boolean> {
  try {
    await mkdir(marks);
  } catch (error) {
    if (hasSystemError(error, 'ENOENT')) {
      await makeDirectories(marks, { durable: false });
    } else if (!hasSystemError(error, 'EEXIST')) {
      throw fileSystemError(error, 'make the directory of marks', marks);
    }
  }
  try {
    await rmdir(marks);
    return true;
  } catch (error) {
    // Gone: somebody else asked the same just now, and was told that it is empty.
    if (hasSystemError(error, 'ENOENT')) return true;
    if (hasSystemError(error, 'ENOTEMPTY', 'EEXIST', 'ESTALE')) return false;
    throw fileSystemError(error, 'ask for marks in', marks);
  }
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ENOTDIR', 'ESTALE')) return [];
    throw fileSystemError(error, 'list', directory);
  }
}

/** How often the dead are cleared away, and the server asked again, before "not empty" is believed. */
const ROUNDS = 3;

/** Whether no process that lives, or may, has a mark in a directory. */
export async function isUnmarked(marks: string, presence: string): Promise<boolean> {
  for (let round = 0; round < ROUNDS; round += 1) {
    if (await isEmpty(marks)) return true;
    if ((await livingMarks(marks, presence)).size > 0) return false;
  }
  return isEmpty(marks);
}

/** The marks of processes that live, or may. Those of the dead, and whatever else lies there, are removed on the way. */
export async function livingMarks(marks: string, presence: string): Promise<Map<string, 'present' | 'unknown'>> {
  const living = new Map<string, 'present' | 'unknown'>();
  for (const name of await namesIn(marks)) {
    const owner = stagingOwner(name);
    const state = owner === undefined ? 'absent' : await presenceOf(presence, owner);
    if (state === 'absent') await removeTree(join(marks, name));
    else living.set(name, state);
  }
  return living;
}

/** Whether a mark is there and counts. That of the dead is removed on the way. */
export async function stands(mark: string, presence: string, owner: string, seenForMs: number): Promise<boolean> {
  if ((await statFresh(mark)) === undefined) return false;
  const state = await presenceOf(presence, owner);
  if (state === 'present' || (state === 'unknown' && seenForMs <= DOUBTED_AFTER_MS)) return true;
  await removeTree(mark);
  return false;
}

/** The names in a directory by a listing that no cache answers: a client forgets what it knew of a directory when it has changed that itself. */
export async function namesNow(directory: string): Promise<string[]> {
  const own = join(directory, uniqueName());
  try {
    await mkdir(own);
    await removeMark(own);
  } catch (error) {
    if (!hasSystemError(error, 'ENOENT', 'EEXIST')) throw fileSystemError(error, 'look for marks in', directory);
  }
  return namesIn(directory);
}

/** Removes the marks that `isLeftover` says are, and the directories that hold none. */
export async function sweepMarks(pins: string, isLeftover: (mark: string, owner: string | undefined) => Promise<boolean>): Promise<void> {
  for (const key of await namesIn(pins)) {
    const directory = join(pins, key);
    for (const name of await namesIn(directory)) {
      const mark = join(directory, name);
      if (await isLeftover(mark, stagingOwner(name))) await removeTree(mark);
    }
    // Whoever is about to put one up makes the directory again.
    await rmdir(directory).catch(() => undefined);
  }
}
