/** Directories with everything above them, durably, while others make the same ones. Never removes, never changes what is there. */
import { lstat, stat } from 'node:fs/promises';
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
        continue;
      }
      const there = await whatIsThere(next);
      if (there === 'directory') missing.pop();
      else if (there === 'other') throw new FileSystemError({ systemCode: 'ENOTDIR', operation: 'make the directory', path: next, cause: error });
      // EEXIST for what is not there by now: somebody removed it, so ask again.
      else if (!hasSystemError(error, 'EEXIST') || calls >= CALLS) throw fileSystemError(error, 'make the directory', next);
    }
  }
  if (!durable) return;
  for (const directory of grown) await attempt('sync', directory, syncDirectory(directory));
}

/** Behind a refused `mkdir`: EEXIST mostly, but EROFS or EACCES from servers that check the right first, and EISDIR for `/` on macOS. */
async function whatIsThere(path: string): Promise<'directory' | 'other' | 'nothing'> {
  const found = await stat(path).catch(() => lstat(path).catch(() => undefined));
  if (found === undefined) return 'nothing';
  return found.isDirectory() ? 'directory' : 'other';
}
