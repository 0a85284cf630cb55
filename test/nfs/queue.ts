/**
 * The files that are to run, as a directory on the host: machines that share it take one after the other. Taking is `unlink`, which succeeds once,
 * also through the guests' file system (its exclusive create would not: that does not reach the host as one).
 */
import { mkdtempSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasSystemError } from '../../src/system-errors.ts';
import { sharedTmpdir } from '../support/machine/machine.ts';

/** The exit code of a guest that asks for a new machine in its place: a file that hung may have left a client cut off, or a server stopped. */
export const UNFIT = 75;

/** Makes the directory; the files are taken in this order. */
export function makeQueue(files: readonly string[]): string {
  const queue = mkdtempSync(join(sharedTmpdir(), 'rwx-cache-queue-'));
  for (const [index, file] of files.entries()) writeFileSync(join(queue, `${String(index).padStart(3, '0')} ${file}`), '');
  return queue;
}

/** Takes the next file; `undefined` when all are taken. */
export function takeFile(queue: string): string | undefined {
  const taken = readdirSync(queue).sort().find((name) => {
    try {
      unlinkSync(join(queue, name));
      return true;
    } catch (error) {
      if (hasSystemError(error, 'ENOENT')) return false;
      throw error;
    }
  });
  return taken?.slice(taken.indexOf(' ') + 1);
}
