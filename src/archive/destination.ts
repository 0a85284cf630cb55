/** The private directory that a package is unpacked or copied into: made, filled with directories, and made durable. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { attempt } from '../atomic/attempt.ts';
import { makeUnique } from '../atomic/make-unique.ts';
import { syncDirectory } from '../atomic/sync.ts';
import { InvalidOptionError } from '../errors.ts';
import { hasSystemError } from '../system-errors.ts';
import { makeEntryDirectory } from './entry-writer.ts';

/** One that was just made is empty without a look (three round trips on NFS). Answers the device that it lies on. */
export async function prepareDestination(destination: string): Promise<bigint> {
  try {
    return await makeEntryDirectory(destination);
  } catch (error) {
    if (!hasSystemError(error, 'EEXIST')) throw error;
    if ((await attempt('list', destination, readdir(destination))).length > 0) throw new InvalidOptionError('destination', `${destination} is not empty`);
    return (await attempt('inspect', destination, stat(destination, { bigint: true }))).dev;
  }
}

/** Where an entry goes, by its name with '/' between the segments. */
export function placeOf(name: string, destination: string): string {
  return join(destination, ...name.split('/'));
}

/** Makes the directories, which come parents first. */
export async function makeDirectories(directories: readonly string[], destination: string, signal: AbortSignal | undefined): Promise<void> {
  for (const directory of directories) {
    signal?.throwIfAborted();
    await makeEntryDirectory(placeOf(directory, destination), makeUnique);
  }
}

/** Deepest first, and the destination last: whoever finds a name durable finds all below it durable. */
export async function syncDirectories(directories: readonly string[], destination: string, device: bigint, signal: AbortSignal | undefined): Promise<void> {
  for (const directory of [...directories].reverse()) {
    signal?.throwIfAborted();
    const path = placeOf(directory, destination);
    await attempt('sync', path, syncDirectory(path, device));
  }
  signal?.throwIfAborted();
  await attempt('sync', destination, syncDirectory(destination, device));
}
