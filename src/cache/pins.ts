/**
 * Pins, and those who prune: `state/pins/<key>/` holds a mark for each pin of a package, `state/pins/<key>.doom/` one for each process that is about to
 * take it away. Who pins puts up its mark and then looks for the others'; who prunes does the same the other way round. What a mark is, and why
 * both may believe what they see, is said in `marks.ts`.
 */
import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { delay } from '../abort.ts';
import { refreshDirectory, stagingOwner } from '../atomic/index.ts';
import { logger } from '../diagnostics.ts';
import { LockTimeoutError } from '../errors.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { isEmpty, isUnmarked, livingMarks, namesNow, placeMark, removeMark, stands } from './marks.ts';
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

const DOOM = '.doom';

/** A wait of milliseconds, as a rule: what is waited for is one rename. */
const SHORTEST_POLL_MS = 10;
const LONGEST_POLL_MS = 200;

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
