/** Directories with everything above them, durably, while others make the same ones. Never removes, never changes what is there. */
import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { FileSystemError } from '../errors.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { attempt } from './attempt.ts';
import { systemCalls } from './calls.ts';
import { syncDirectory } from './sync.ts';

/** Options of {@link makeDirectories}. */
export interface MakeDirectoriesOptions {
  /** Whether what was made survives a power cut once the call has resolved. Default `true`. */
  readonly durable?: boolean | undefined;
  /** Permission bits of every directory that is made, of which the umask is taken off. Default `0o777`. */
  readonly mode?: number | undefined;
}

/** Somebody who removes directories as fast as they are made is not waited for longer than this many calls. */
const CALLS = 1000;

/**
 * Makes `path` and what is missing above it, like `mkdir -p`. Asks for the deepest first, so it costs one `mkdir` where the
 * parent exists, and no round trip more than that where `path` exists itself (the server's EEXIST is never a cached miss).
 * Any number of processes may make overlapping paths at once; each call resolves when its own path is there. What another
 * process made is durable when that process's call has resolved.
 *
 * @throws FileSystemError ENOTDIR when something that is no directory stands in the way, EACCES, ENOSPC, EROFS, ….
 */
export async function makeDirectories(path: string, options: MakeDirectoriesOptions = {}): Promise<void> {
  const { durable = true, mode = 0o777 } = options;
  const missing = [resolve(path)];
  const grown = new Set<string>();
  for (let calls = 1, next = missing.at(-1); next !== undefined; calls += 1, next = missing.at(-1)) {
    try {
      await systemCalls.mkdir(next, mode);
      grown.add(dirname(next));
      missing.pop();
    } catch (error) {
      if (hasSystemError(error, 'ENOENT') && dirname(next) !== next && calls < CALLS) {
        missing.push(dirname(next));
      } else if (await isDirectory(next, error)) {
        missing.pop();
      } else {
        throw fileSystemError(error, 'make the directory', next);
      }
    }
  }
  if (!durable) return;
  for (const directory of grown) await attempt('sync', directory, syncDirectory(directory));
}

/** Whether a refused `mkdir` is none: EEXIST mostly, EROFS or EACCES from servers that check the right first, EISDIR for `/` on macOS. */
async function isDirectory(path: string, refusal: unknown): Promise<boolean> {
  if (!hasSystemError(refusal, 'EEXIST', 'EROFS', 'EACCES', 'EPERM', 'EISDIR')) return false;
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return true;
  if (!hasSystemError(refusal, 'EEXIST')) return false;
  throw new FileSystemError({ systemCode: 'ENOTDIR', operation: 'make the directory', path, cause: refusal });
}
