/**
 * Pins, and the marks of those who prune: `state/pins/<key>/` holds a mark for each pin of a package, `state/pins/<key>.doom/` one for
 * each process that is about to take it away. A mark is an empty directory, `<presence>.<unique>`, and ends with the process that its
 * presence stands for, by SIGKILL too.
 *
 * Who pins puts up its mark and then looks for the others'; who prunes does the same the other way round. So at least one of the two sees
 * the other, and no lock has to be believed for it. On a network file system no look may be answered from a cache, whatever the
 * mount's options and however coarse the server's change attribute is: whether there are marks is asked by `rmdir` of their
 * directory, which only the server can answer, and which does nothing where there are any. (A listing was no proof: it may be cached, and one that
 * takes several replies may leave out a name while others are being removed.)
 */
import { mkdir, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { delay } from '../abort.ts';
import { makeDirectories, refreshDirectory, removeTree, stagingOwner, statFresh, uniqueName } from '../atomic/index.ts';
import { logger } from '../diagnostics.ts';
import { LockTimeoutError } from '../errors.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { presenceOf } from './presence.ts';
import { packageKey } from './records.ts';

const log = logger('cache');

/** Keeps one package from being pruned, until it is released or its process ends. Each pin counts for itself: a package is free when all of its pins are released. */
export interface Pin extends AsyncDisposable {
  /** The package's path below `providers/`. */
  readonly package: string;
  /** Gives the package free, also after the cache was closed; a second call does nothing. */
  release(): Promise<void>;
}

/** Where marks lie, and whose this process's are. */
export interface MarkContext {
  /** `state/pins`. */
  readonly pins: string;
  /** `state/presence`. */
  readonly presence: string;
  /** The presence mark of this process. */
  readonly owner: string;
}

/** How long {@link createPin} waits for a process that is about to prune the package. */
export interface PinWait {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Pins a package. When it resolves, nobody is about to prune it, and nobody will; whether it is still there has to be looked at after that.
 *
 * @throws LockTimeoutError when a process that lives, and is about to prune it, did not get done in time.
 */
export async function createPin(packagePath: string, context: MarkContext, wait: PinWait): Promise<Pin> {
  const key = packageKey(packagePath);
  const mark = await placeMark(join(context.pins, key), context.owner);
  let releasing: Promise<void> | undefined;
  const release = async (): Promise<void> => {
    releasing ??= removeMark(mark);
    try {
      await releasing;
    } catch (error) {
      // Another try may be luckier.
      releasing = undefined;
      throw fileSystemError(error, 'release the pin', mark);
    }
  };
  try {
    await untilNobodyPrunes(join(context.pins, `${key}${DOOM}`), context, wait);
  } catch (error) {
    await release().catch(() => undefined);
    throw error;
  }
  return { package: packagePath, release, [Symbol.asyncDispose]: release };
}

/** A package that nobody has pinned, and nobody will be told is pinned until {@link Doom.withdraw}. */
export interface Doom {
  /** Lets those go on who want to pin the package. Never rejects. */
  withdraw(): Promise<void>;
}

/** Announces that a package is about to be pruned; `undefined` where a process that lives, or may live, has pinned it. */
export async function doomPackage(packagePath: string, context: MarkContext): Promise<Doom | undefined> {
  const key = packageKey(packagePath);
  const dooms = join(context.pins, `${key}${DOOM}`);
  const mark = await placeMark(dooms, context.owner);
  const withdraw = async (): Promise<void> => {
    try {
      await removeMark(mark);
      await rmdir(dooms);
    } catch (error) {
      if (!hasSystemError(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST', 'ESTALE')) log('the mark %s stays until this process ends: %o', mark, error);
    }
  };
  try {
    if (await isUnmarked(join(context.pins, key), context.presence)) return { withdraw };
  } catch (error) {
    await withdraw();
    throw error;
  }
  await withdraw();
  return undefined;
}

/** Whether a process that lives, or may live, has pinned a package, as far as a look can tell: nothing follows from it. */
export async function isPinned(packagePath: string, { pins, presence }: MarkContext): Promise<boolean> {
  return (await livingMarks(join(pins, packageKey(packagePath)), presence)).size > 0;
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

const DOOM = '.doom';

/** A wait of milliseconds, as a rule: what is waited for is one rename. */
const SHORTEST_POLL_MS = 10;
const LONGEST_POLL_MS = 200;

/** Where no lock tells whether its process lives, a mark counts for nothing when this process has seen it for so long: a removal takes no time. */
const DOUBTED_AFTER_MS = 30_000;

/** Waits for those who are about to prune now. Whoever comes after them finds the pin, so that a crowd that prunes without rest holds up nobody. */
async function untilNobodyPrunes(dooms: string, { presence }: MarkContext, { signal, timeoutMs }: PinWait): Promise<void> {
  if (await isEmpty(dooms)) return;
  const begun = performance.now();
  const ahead = new Map((await namesNow(dooms)).map((name) => [name, stagingOwner(name)]));
  for (let pause = SHORTEST_POLL_MS; ; pause = Math.min(2 * pause, LONGEST_POLL_MS)) {
    signal.throwIfAborted();
    // A look that is answered from a cache says "still there" at worst.
    await refreshDirectory(dooms).catch(() => undefined);
    for (const [name, owner] of ahead) {
      if (owner === undefined || !(await stands(join(dooms, name), presence, owner, performance.now() - begun))) ahead.delete(name);
    }
    if (ahead.size === 0 || (await isEmpty(dooms))) return;
    if (performance.now() - begun > timeoutMs) throw new LockTimeoutError(dooms, timeoutMs, undefined);
    await delay(pause * (0.5 + Math.random() / 2), signal);
  }
}

/** Whether a mark is there and counts. That of the dead is removed on the way. */
async function stands(mark: string, presence: string, owner: string, seenForMs: number): Promise<boolean> {
  if ((await statFresh(mark)) === undefined) return false;
  const state = await presenceOf(presence, owner);
  if (state === 'present' || (state === 'unknown' && seenForMs <= DOUBTED_AFTER_MS)) return true;
  await removeTree(mark);
  return false;
}

/** The names in a directory by a listing that no cache answers: a client forgets what it knew of a directory when it has changed that itself. */
async function namesNow(directory: string): Promise<string[]> {
  const own = join(directory, uniqueName());
  try {
    await mkdir(own);
    await removeMark(own);
  } catch (error) {
    if (!hasSystemError(error, 'ENOENT', 'EEXIST')) throw fileSystemError(error, 'look for marks in', directory);
  }
  return namesIn(directory);
}

/** How often the dead are cleared away, and the server asked again, before "not empty" is believed. */
const ROUNDS = 3;

async function isUnmarked(marks: string, presence: string): Promise<boolean> {
  for (let round = 0; round < ROUNDS; round += 1) {
    if (await isEmpty(marks)) return true;
    if ((await livingMarks(marks, presence)).size > 0) return false;
  }
  return isEmpty(marks);
}

/** The marks of processes that live, or may. Those of the dead, and whatever else lies there, are removed on the way. */
async function livingMarks(marks: string, presence: string): Promise<Map<string, 'present' | 'unknown'>> {
  const living = new Map<string, 'present' | 'unknown'>();
  for (const name of await namesIn(marks)) {
    const owner = stagingOwner(name);
    const state = owner === undefined ? 'absent' : await presenceOf(presence, owner);
    if (state === 'absent') await removeTree(join(marks, name));
    else living.set(name, state);
  }
  return living;
}

/** As often as a directory may be removed again between the calls that make it and the mark in it. */
const TRIES = 100;

/** Puts up a mark, in a directory that others remove as soon as it is empty. */
async function placeMark(directory: string, owner: string): Promise<string> {
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

async function removeMark(mark: string): Promise<void> {
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
async function isEmpty(marks: string): Promise<boolean> {
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
