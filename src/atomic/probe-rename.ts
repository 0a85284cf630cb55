/** Whether a rename gets from one directory to another, found out by one. Leaves nothing behind. */
import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { attempt, quietly } from './attempt.ts';
import { systemCalls } from './calls.ts';
import type { AmbiguousCalls } from './calls.ts';
import { makeUnique } from './make-unique.ts';
import { statFresh } from './stat-fresh.ts';
import { uniqueName } from './unique-name.ts';

/**
 * Renames an empty directory of a unique name from one to the other. Device numbers do not tell: two bind mounts of one volume
 * (a Kubernetes `subPath`) have the same one, and a rename between them is EXDEV all the same.
 *
 * @returns `false` for EXDEV.
 * @throws FileSystemError when one of the two cannot be written, or does not exist.
 */
export async function canRenameBetween(fromDirectory: string, toDirectory: string): Promise<boolean> {
  return canRenameBetweenWith(systemCalls, fromDirectory, toDirectory);
}

/** @internal */
export async function canRenameBetweenWith(calls: AmbiguousCalls, fromDirectory: string, toDirectory: string): Promise<boolean> {
  const name = uniqueName();
  const from = join(fromDirectory, name);
  const to = join(toDirectory, name);
  await attempt('try a rename from', fromDirectory, makeUnique(from, 0o700, calls));
  try {
    await calls.rename(from, to);
    return true;
  } catch (error) {
    if (hasSystemError(error, 'EXDEV')) return false;
    // The answer to a request that was sent twice: the name is nobody else's, so what stands there was moved there.
    if (hasSystemError(error, 'ENOENT', 'ESTALE') && (await statFresh(to)) !== undefined) return true;
    throw fileSystemError(error, 'try a rename to', toDirectory);
  } finally {
    await quietly(rmdir(from));
    await quietly(rmdir(to));
  }
}
