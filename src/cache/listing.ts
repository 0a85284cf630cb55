/** Walks the tree of entries. Skips what is no package, as the clients do, and what disappears meanwhile. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { packagePath, parsePackagePath, type PackagePathParts } from '../layout/index.ts';
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
