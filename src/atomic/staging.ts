/** Private directories to prepare things in, named so that a dead process's can be told and swept. Touches only the directory it made. */
import { rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { InvalidOptionError, StagingLostError } from '../errors.ts';
import { logger } from '../diagnostics.ts';
import { hasSystemError } from '../system-errors.ts';
import { attempt, finishOrAbandon } from './attempt.ts';
import { systemCalls } from './calls.ts';
import type { AmbiguousCalls } from './calls.ts';
import { inDirectory } from './in-directory.ts';
import { makeUnique } from './make-unique.ts';
import { removeTree } from './remove-tree.ts';
import { statFresh } from './stat-fresh.ts';
import { UNIQUE, uniqueName } from './unique-name.ts';

const log = logger('atomic');

/** Options of {@link withStagingDirectory}. */
export interface StagingOptions {
  /** Who is at work, as {@link sweepDirectory} will ask: letters, digits, `_` and `-`. */
  readonly owner?: string | undefined;
  /** Ends the call; it then rejects with the signal's reason. `use` has to watch it too: the directory goes when `use` has ended. */
  readonly signal?: AbortSignal | undefined;
}

const OWNER = /^[\w-]+$/u;
const STAGING_NAME = new RegExp(`^(?:([\\w-]+)\\.)?${UNIQUE}$`, 'u');

/** A name for something private: `<owner>.<unique>`, or `<unique>` without an owner. */
export function stagingName(owner?: string): string {
  if (owner === undefined) return uniqueName();
  if (!OWNER.test(owner)) throw new InvalidOptionError('owner', `${JSON.stringify(owner)} has other characters than letters, digits, "_" and "-"`);
  return `${owner}.${uniqueName()}`;
}

/** The owner in a name that {@link withStagingDirectory} made; `undefined` for a name without one, or of another form. */
export function stagingOwner(name: string): string | undefined {
  return STAGING_NAME.exec(name)?.[1];
}

/** Whether a name has the form of a staging directory's, with or without an owner. */
export function isStagingName(name: string): boolean {
  return STAGING_NAME.test(name);
}

/**
 * Makes a private directory (mode 0700) in `directory`, gives it to `use`, and removes it when `use` has ended, however it did.
 * The removal never fails the call: what it has to leave (open files on NFS) is swept later. `use` may publish the directory
 * itself, or anything in it; then there is less to remove.
 *
 * @param directory - Must exist, on the file system on which the result is to be published.
 * @returns what `use` returned.
 * @throws StagingLostError when `use` failed with ENOENT or ESTALE because the directory itself is gone: another host took this
 *   process for dead. Start again.
 * @throws FileSystemError when the directory cannot be made. Every other error of `use` passes through.
 */
export async function withStagingDirectory<T>(directory: string, use: (path: string) => Promise<T>, options: StagingOptions = {}): Promise<T> {
  return withStagingDirectoryWith(systemCalls, directory, use, options);
}

/** @internal */
export async function withStagingDirectoryWith<T>(calls: AmbiguousCalls, directory: string, use: (path: string) => Promise<T>, options: StagingOptions): Promise<T> {
  options.signal?.throwIfAborted();
  const path = join(directory, stagingName(options.owner));
  return finishOrAbandon(stage(calls, path, use, options.signal), options.signal);
}

async function stage<T>(calls: AmbiguousCalls, path: string, use: (path: string) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  await attempt('make the staging directory', path, inDirectory(dirname(path), () => makeUnique(path, 0o700, calls)));
  try {
    signal?.throwIfAborted();
    return await use(path);
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ESTALE') && (await isGone(path))) throw new StagingLostError(path, error);
    throw error;
  } finally {
    // What it held has been published or removed, mostly: then one call does it.
    await rmdir(path).catch(() =>
      removeTree(path).catch((error: unknown) => {
        log('left %s for the next sweep: %o', path, error);
      }),
    );
  }
}

async function isGone(path: string): Promise<boolean> {
  return (await statFresh(path, { followLinks: false }).catch(() => null)) === undefined;
}
