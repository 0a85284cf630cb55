/**
 * What stands at an entry's place, without deciding what to do about it. Reads only; takes no lock and needs no
 * write permission.
 */
import { statSync } from 'node:fs';
import { stat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { refreshDirectory, statFresh } from '../atomic/index.ts';
import { statOrMiss } from '../atomic/stat-fresh.ts';
import { ExecutableMissingError } from '../errors.ts';
import { executableName, findPluginExecutable, isPluginExecutable } from '../layout/index.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { hashDirectory } from '../verify/hash-directory.ts';
import type { CacheDirectories } from './directories.ts';
import { identityPath, type PackageIdentity } from './provider-package.ts';
import type { EntryRecord } from './record-format.ts';
import { readAllRecords, readBoundRecord, type EntryBinding, type StoredRecord } from './records.ts';

/** Where one entry and its records are. */
export interface EntryPlace {
  /** The entry's path below `providers/`: what its records name. */
  readonly package: string;
  /** The provider's type: what its executable is named after. */
  readonly type: string;
  /** Absolute path of the entry. */
  readonly path: string;
  /** The directory of the records. */
  readonly records: string;
  /** Whether other hosts may have changed it without this one having noticed (a network file system). */
  readonly network: boolean;
  /** The directory above was read just now, so that on a network file system too what is cached of it is the server's. */
  readonly listed?: boolean | undefined;
}

/** The place of a package in a cache. */
export function entryPlace(identity: PackageIdentity, { providers, records, network }: Pick<CacheDirectories, 'providers' | 'records' | 'network'>): EntryPlace {
  const name = identityPath(identity);
  return { package: name, type: identity.address.type, path: join(providers, name), records, network };
}

/** What stands there. */
export type EntryState =
  /** Nothing, by a fresh look. */
  | { readonly kind: 'missing' }
  /** An entry that looks from outside exactly as its record says. */
  | { readonly kind: 'recorded'; readonly stored: StoredRecord; readonly binding: EntryBinding }
  /** A directory without a record that is bound to it: someone else's, restored, touched, or damaged. */
  | { readonly kind: 'unbound'; readonly binding: EntryBinding }
  /** Something that is no directory: a file, or a symlink that leads nowhere. */
  | { readonly kind: 'obstacle' };

/**
 * Looks at an entry. At most eight file-system calls: on a network file system the directory above is opened first,
 * because a cached hit outlives its entry by 19 s there (measured), and a cached miss lasts 30 s. After that every answer is the server's.
 */
export async function inspectEntry(place: EntryPlace, known?: StoredRecord & { readonly binding: EntryBinding }): Promise<EntryState> {
  const look = place.network && (place.listed === true || (await refreshed(dirname(place.path)))) ? lookOnce : statFresh;
  // Asks what is in it as well: a file that was removed or replaced there is seen at once. One that was overwritten shows when this client's attributes expire.
  if (place.network) await refreshed(place.path);
  if (known !== undefined && !place.network && looksAsKnown(place, known)) return { kind: 'recorded', stored: known, binding: known.binding };
  if (known !== undefined && place.network) {
    const [binding, whole] = await Promise.all([bindingOf(place.path, look), executableLooksLike(place, known.record)]);
    if (binding === undefined) return missingOrObstacle(place, look);
    if (whole && isSameBinding(binding, known.binding)) return { kind: 'recorded', stored: known, binding };
  }
  const binding = await bindingOf(place.path, look);
  if (binding === undefined) return missingOrObstacle(place, look);
  const stored = await readBoundRecord(place.records, place.package, binding);
  if (stored !== undefined && (await executableLooksLike(place, stored.record))) return { kind: 'recorded', stored, binding };
  return { kind: 'unbound', binding };
}

/**
 * The look of a repeated hit on a local disk. This process has looked before, so the answers are in the kernel's memory: 4 µs a
 * call, where one by way of libuv's threads takes 33 (measured). Whatever is not as it was is looked at properly.
 */
function looksAsKnown(place: EntryPlace, { record: { executable }, binding }: StoredRecord & { readonly binding: EntryBinding }): boolean {
  try {
    const entry = statSync(place.path, LOOK);
    const file = entry?.isDirectory() === true ? statSync(join(place.path, executable.name), LOOK) : undefined;
    if (entry === undefined || file === undefined) return false;
    return (
      isSameBinding({ inode: entry.ino, mtimeNs: entry.mtimeNs }, binding) && isSameExecutable(executable, { name: executable.name, bytes: file.size, mtimeNs: file.mtimeNs })
    );
  } catch {
    return false;
  }
}

const LOOK = { bigint: true, throwIfNoEntry: false } as const;

type Look = typeof statFresh;

/** Where a directory above seems to be missing (`false`), the look-up that follows has to ask from further up. */
async function refreshed(directory: string): Promise<boolean> {
  try {
    await refreshDirectory(directory);
    return true;
  } catch (error) {
    if (!hasSystemError(error, 'ENOENT', 'ENOTDIR', 'ESTALE', 'ELOOP')) throw error;
    return false;
  }
}

/** A look into a directory that was just opened anew: a miss there needs no second one (a round trip each). */
const lookOnce: Look = async (path, options) => {
  try {
    const found = await statOrMiss(path, options?.followLinks ?? true);
    // The directory says that there is a link, and the miss is that of another place, which nobody has asked anew.
    if (found === undefined && options?.followLinks !== false && (await statOrMiss(path, false)) !== undefined) return await statFresh(path, options);
    return found;
  } catch (error) {
    if (hasSystemError(error, 'ESTALE')) return statFresh(path, options);
    throw fileSystemError(error, 'look up', path);
  }
};

/** What an entry of which the bytes were read turned out to be. */
export interface HashedEntry {
  readonly h1: string;
  readonly binding: EntryBinding;
  readonly executable: EntryRecord['executable'];
  /** The record that has this hash, whatever it was bound to. */
  readonly match: StoredRecord | undefined;
  /** All records of the package. */
  readonly records: readonly StoredRecord[];
}

/**
 * Hashes an entry and looks for a record of that hash. `undefined` when it cannot be hashed (a dangling symlink in it,
 * no read permission) or changed while it was being read.
 */
export async function hashEntry(place: EntryPlace, signal: AbortSignal | undefined): Promise<HashedEntry | undefined> {
  try {
    const before = await describeEntry(place);
    const h1 = await hashDirectory(place.path, { signal });
    const after = await describeEntry(place);
    if (!isSameBinding(before.binding, after.binding) || !isSameExecutable(before.executable, after.executable)) return undefined;
    const records = await readAllRecords(place.records, place.package);
    return { h1, ...after, match: bestMatch(records, h1), records };
  } catch (error) {
    signal?.throwIfAborted();
    if (hasSystemError(error, 'EMFILE', 'ENFILE', 'EIO')) throw fileSystemError(error, 'hash', place.path);
    return undefined;
  }
}

async function describeEntry(place: EntryPlace): Promise<Pick<HashedEntry, 'binding' | 'executable'>> {
  const executable = await describeExecutable(place.path, await fileNames(place.path), place.type);
  const stats = await stat(place.path, { bigint: true });
  return { executable, binding: { inode: stats.ino, mtimeNs: stats.mtimeNs } };
}

/** The names in a directory that an executable can have. */
export async function fileNames(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name);
}

/** What the executable among these `files` of `directory` looks like from outside; `subject` names the package where the path says nothing. */
export async function describeExecutable(directory: string, files: readonly string[], type: string, subject: string = directory): Promise<EntryRecord['executable']> {
  const name = findPluginExecutable(type, files);
  if (name === undefined) throw new ExecutableMissingError(subject, executableName(type));
  const stats = await stat(join(directory, name), { bigint: true });
  return { name, bytes: stats.size, mtimeNs: stats.mtimeNs };
}

/** What the directory itself looks like from outside; `undefined` where there is none, by a fresh look. */
export async function bindingOf(path: string, look: Look = statFresh): Promise<EntryBinding | undefined> {
  const stats = await look(path).catch((error: unknown) => {
    // A symlink that leads to itself leads nowhere, like any other dangling one.
    if (hasSystemError(error, 'ELOOP')) return undefined;
    throw error;
  });
  return stats?.isDirectory() === true ? { inode: stats.ino, mtimeNs: stats.mtimeNs } : undefined;
}

function isSameBinding(a: EntryBinding, b: EntryBinding): boolean {
  return a.inode === b.inode && a.mtimeNs === b.mtimeNs;
}

/** Whether two looks at an executable saw the same. */
export function isSameExecutable(a: EntryRecord['executable'], b: EntryRecord['executable']): boolean {
  return a.name === b.name && a.bytes === b.bytes && a.mtimeNs === b.mtimeNs;
}

async function missingOrObstacle(place: EntryPlace, look: Look): Promise<EntryState> {
  const stats = await look(place.path, { followLinks: false });
  return { kind: stats === undefined ? 'missing' : 'obstacle' };
}

async function executableLooksLike(place: EntryPlace, { executable }: EntryRecord): Promise<boolean> {
  // A record that names another file was not written here.
  if (!isPluginExecutable(place.type, executable.name)) return false;
  const path = join(place.path, executable.name);
  try {
    const stats = await stat(path, { bigint: true });
    return isSameExecutable(executable, { name: executable.name, bytes: stats.size, mtimeNs: stats.mtimeNs });
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE')) return false;
    throw fileSystemError(error, 'look at', path);
  }
}

/** Of several records with the hash, the one that knows most: a signature beats none. */
function bestMatch(records: readonly StoredRecord[], h1: string): StoredRecord | undefined {
  const same = records.filter(({ record }) => record.h1 === h1);
  return same.find(({ record }) => record.provenance.signature.status === 'verified') ?? same.find(({ record }) => record.zh !== undefined) ?? same[0];
}
