/** Walks the tree of entries. Skips what is no package, as the clients do, and what disappears meanwhile. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { packagePath, parsePackagePath, type PackagePathParts, type Platform, type ProviderAddress, type Version } from '../layout/index.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';

/** host, namespace, type, version, os_arch */
const LEVELS = 5;

/** A package that stands in the tree, and when the directory it stands in was read, by `performance.now()`. */
export interface ListedEntry {
  readonly identity: PackagePathParts;
  readonly readAt: number;
}

/** All packages that stand where the clients would look for them, in the order of their names. */
export async function* listEntries(providers: string, below = '', readAt = 0): AsyncGenerator<ListedEntry> {
  const depth = below === '' ? 0 : below.split('/').length;
  if (depth === LEVELS) {
    const parts = parsePackagePath(below);
    // Another spelling of the same package is a place where no client looks.
    if (parts !== undefined && packagePath(parts.address, parts.version, parts.platform) === below) yield { identity: parts, readAt };
    return;
  }
  // A part that this user may not read hides only what is in it.
  const names = await directoriesIn(join(providers, below), ...(depth === 0 ? [] : ['EACCES']));
  const now = performance.now();
  for (const name of names) yield* listEntries(providers, below === '' ? name : `${below}/${name}`, now);
}

/** Dot-directories are no host names; `.nfs*` and staging inside a foreign providers directory are among them. */
async function directoriesIn(path: string, ...passedOver: readonly string[]): Promise<string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries
      .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !entry.name.startsWith('.'))
      .map((entry) => entry.name)
      .sort();
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ESTALE', 'ENOTDIR', ...passedOver)) return [];
    throw fileSystemError(error, 'list', path);
  }
}

/** How long what was read of a directory is believed while its packages are handed out one by one, in milliseconds. */
const LIST_FRESH_MS = 200;

/** Whether a directory that was read at this time, by `performance.now()`, need not be asked again. */
export function isFreshlyRead(readAt: number): boolean {
  return performance.now() - readAt < LIST_FRESH_MS;
}

/** An entry that this user may not read is left out of a list. */
export function passOverUnreadable(error: unknown): undefined {
  if (!hasSystemError(error, 'EACCES')) throw error;
}

/** The versions of a provider that stand in the tree for a platform. */
export async function listVersions(providers: string, address: ProviderAddress, platform: Platform): Promise<Version[]> {
  const versions: Version[] = [];
  for await (const { identity } of listEntries(providers, String(address))) {
    if (String(identity.platform) === String(platform)) versions.push(identity.version);
  }
  return versions;
}
