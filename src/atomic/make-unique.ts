/** Making a directory whose name nobody else makes. */
import { hasSystemError } from '../system-errors.ts';
import { systemCalls } from './calls.ts';
import type { AmbiguousCalls } from './calls.ts';

/**
 * Makes a directory that is this process's own by its name: one with 128 random bits, or any inside of a private directory. There, EEXIST is the answer
 * to a request that was sent twice and carried out the first time.
 */
export async function makeUnique(path: string, mode: number, calls: Pick<AmbiguousCalls, 'mkdir'> = systemCalls): Promise<void> {
  try {
    await calls.mkdir(path, mode);
  } catch (error) {
    if (!hasSystemError(error, 'EEXIST')) throw error;
  }
}
