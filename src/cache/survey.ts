/** What is in the tree, how large and how old: for whoever decides what may go. Reads only. */
import { lstat, readdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasSystemError } from '../system-errors.ts';
import type { CacheDirectories } from './directories.ts';
import { inspectEntry, type EntryPlace } from './entry.ts';
import { listEntries } from './listing.ts';
import { identityPath, type PackageIdentity } from './provider-package.ts';
import type { EntryBinding } from './records.ts';

/** One entry. */
export interface SurveyedEntry {
  readonly identity: PackageIdentity;
  readonly place: EntryPlace;
  /** What its directory looks like from outside; its mtime is when it was installed. */
  readonly binding: EntryBinding;
  readonly recorded: boolean;
  readonly bytes: number;
  /** When something in it changed last, in nanoseconds of the file system's clock; known where it has no record. */
  readonly changedNs: bigint;
}

/**
 * All entries that stand in the tree itself. What is reached through a symbolic link is left out: it stands somewhere else, perhaps
 * under another name in this very tree. So is what this user may not read.
 */
export async function surveyEntries({ providers, records, network }: CacheDirectories, signal: AbortSignal): Promise<SurveyedEntry[]> {
  const found: SurveyedEntry[] = [];
  const root = await realpath(providers);
  for await (const { identity } of listEntries(providers)) {
    signal.throwIfAborted();
    const packagePath = identityPath(identity);
    const place: EntryPlace = { package: packagePath, type: identity.address.type, path: join(providers, packagePath), records, network };
    const above = dirname(packagePath);
    try {
      if ((await realpath(join(root, above))) !== join(root, above)) continue;
      const look = await surveyEntry(place);
      if (look !== undefined) found.push({ identity, place, ...look });
    } catch (error) {
      if (!hasSystemError(error, 'ENOENT', 'ENOTDIR', 'ESTALE', 'EACCES', 'EPERM')) throw error;
    }
  }
  return found;
}

/** One of them; `undefined` where there is none. */
export async function surveyEntry(place: EntryPlace): Promise<Omit<SurveyedEntry, 'identity' | 'place'> | undefined> {
  const state = await inspectEntry(place);
  if (state.kind !== 'recorded' && state.kind !== 'unbound') return undefined;
  if (!(await lstat(place.path)).isDirectory()) return undefined;
  const { binding } = state;
  const unpacked = state.kind === 'recorded' ? state.stored.record.unpacked : undefined;
  if (unpacked !== undefined) return { binding, recorded: true, bytes: unpacked.bytes, changedNs: 0n };
  return { binding, recorded: state.kind === 'recorded', ...(await measureTree(place.path)) };
}

/** Size of all files, and the newest time stamp. By time of change too: who unpacks an archive may set the other one back. */
async function measureTree(path: string): Promise<Pick<SurveyedEntry, 'bytes' | 'changedNs'>> {
  const stats = await lstat(path, { bigint: true });
  let bytes = stats.isFile() ? Number(stats.size) : 0;
  let changedNs = stats.mtimeNs > stats.ctimeNs ? stats.mtimeNs : stats.ctimeNs;
  if (stats.isDirectory()) {
    for (const name of await readdir(path)) {
      const part = await measureTree(join(path, name));
      bytes += part.bytes;
      if (part.changedNs > changedNs) changedNs = part.changedNs;
    }
  }
  return { bytes, changedNs };
}
