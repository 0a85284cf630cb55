/**
 * Puts a package of the cache into a working directory (`.terraform/providers`). Writes there only, never into the
 * cache.
 */
import { chmod, constants, copyFile, link, lstat, readdir, readlink, realpath, rename, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { makeDirectories, publishDirectory, refreshDirectory, removeTree, sweepDirectory, uniqueName, withStagingDirectory } from '../atomic/index.ts';
import { makeUnique } from '../atomic/make-unique.ts';
import { InvalidOptionError } from '../errors.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { hashDirectory } from '../verify/hash-directory.ts';

/**
 * How the package gets there.
 * - `'symlink'`: one link to the cache's directory. `'hardlink'`: a directory of links to the cache's files; a file on another file system is copied.
 *   Both share the cache's files, and `terraform` without a lock file writes through either (measured).
 * - `'copy'`: a directory of its own, writable for its owner; where the file system has reflinks, it takes no space until it is written to.
 * - `'reflink'`: the same, and refuses (`FileSystemError`, ENOTSUP or EXDEV) where that would take space: XFS and btrfs have reflinks, ext4, tmpfs and NFS do not,
 *   and none leads to another file system.
 * - `'auto'` (default): a symlink where the working directory's dependency lock file locks this very version of the provider with the package's own `h1:` hash,
 *   so that no client writes to it; else a copy.
 */
export type LinkMethod = 'symlink' | 'hardlink' | 'reflink' | 'copy' | 'auto';

/** Options of {@link ProviderPackage.linkInto}. */
export interface LinkOptions {
  /** Default `'auto'`. */
  readonly method?: LinkMethod | undefined;
  /** The dependency lock file that `'auto'` looks into. Default: `.terraform.lock.hcl` two directories up, beside `.terraform`. */
  readonly lockFile?: string | undefined;
}

/** The package to be linked. */
export interface LinkSource {
  /** Absolute path of the entry. */
  readonly source: string;
  /** Its path below the providers directory, in the cache and in the working directory alike. */
  readonly relative: string;
  readonly h1: string;
  /** The provider and its version, as lock files write them. */
  readonly address: string;
  readonly version: string;
}

const METHODS: readonly string[] = ['symlink', 'hardlink', 'reflink', 'copy', 'auto'] satisfies LinkMethod[];

/** A tree that is filled file by file. */
type TreeMethod = 'hardlink' | 'reflink' | 'copy';

/**
 * Checks how a package is to be linked.
 *
 * @throws InvalidOptionError
 */
export function checkLinkMethod(method: LinkMethod | undefined): void {
  if (method !== undefined && !METHODS.includes(method)) throw new InvalidOptionError('method', `it is one of ${METHODS.join(', ')}`);
}

/** Links or copies the package, and answers where it now is. */
export async function linkPackage(from: LinkSource, directory: string, options: LinkOptions = {}): Promise<string> {
  const { method = 'auto', lockFile } = options;
  checkLinkMethod(method);
  if (typeof directory !== 'string' || directory === '') throw new InvalidOptionError('directory', 'it is the path of a working directory\'s .terraform/providers');
  if (lockFile !== undefined && (typeof lockFile !== 'string' || lockFile === '')) throw new InvalidOptionError('lockFile', 'it is the path of a dependency lock file');
  const root = resolve(directory);
  const target = join(root, from.relative);
  const chosen = method === 'auto' ? await safeMethod(from, lockFile ?? join(root, '..', '..', '.terraform.lock.hcl')) : method;
  try {
    await makeDirectories(dirname(target), { durable: false });
    // What stands there would be replaced: the entry itself, by a link to itself.
    if ((await realpath(dirname(target))) === (await realpath(dirname(from.source)))) {
      throw new InvalidOptionError('directory', `${root} leads into the cache itself, where the package is already`);
    }
    if (chosen === 'symlink') await placeSymlink(from.source, target, root);
    else await placeTree(from, target, root, chosen);
  } catch (error) {
    throw fileSystemError(error, 'link the package into', target);
  }
  // What a process that was killed here left; nothing else has such a name. That it cannot be swept is no fault of this package.
  await sweepDirectory(root, { olderThanMs: LEFTOVER_MS, isOwnerAlive: () => Promise.resolve(false) }).catch(() => undefined);
  return target;
}

/** Far longer than a copy takes. */
const LEFTOVER_MS = 60 * 60_000;

/**
 * The hash must be that of this provider and this version: equal packages have equal hashes under any address (one is on both public registries), and
 * a client that finds no block for its own writes. A lock file that cannot be read is the client's to complain of.
 */
async function safeMethod({ address, version, h1 }: LinkSource, lockFile: string): Promise<'symlink' | 'copy'> {
  try {
    const { readDependencyLocks } = await import('../verify/dependency-locks.ts');
    const locked = (await readDependencyLocks(lockFile)).providers.get(address);
    return String(locked?.version) === version && locked?.hashes.includes(h1) === true ? 'symlink' : 'copy';
  } catch {
    return 'copy';
  }
}

/** A symlink is swung by rename, so that there is no moment without one. */
async function placeSymlink(source: string, target: string, root: string): Promise<void> {
  if ((await readlink(target).catch(() => undefined)) === source) return;
  await withStagingDirectory(root, async (staging) => {
    const fresh = join(staging, 'link');
    await symlink(source, fresh, 'dir').catch(unlessExecuted);
    await clearFor(target, staging, 'symlink');
    try {
      await rename(fresh, target);
    } catch (error) {
      // A request that was sent twice is answered ENOENT although it was carried out; what decides is where the link is.
      if (!hasSystemError(error, 'ENOENT', 'ESTALE') || !(await leadsTo(target, source))) throw error;
    }
  });
}

/** In a private directory EEXIST is the answer to a request that was sent twice and carried out the first time. */
function unlessExecuted(error: unknown): void {
  if (!hasSystemError(error, 'EEXIST')) throw error;
}

async function leadsTo(link: string, source: string): Promise<boolean> {
  await refreshDirectory(dirname(link));
  return (await readlink(link).catch(() => undefined)) === source;
}

async function placeTree(from: LinkSource, target: string, root: string, method: TreeMethod): Promise<void> {
  // A client may be running from it.
  if (await isPackage(from, target, method)) return;
  await withStagingDirectory(root, async (staging) => {
    const fresh = join(staging, 'package');
    await copyTree(from.source, fresh, PLACE[method]);
    // Someone may put something there between the clearing and the publish: the package as well, or else theirs is cleared, too.
    for (let attempt = 0; attempt < 10; attempt += 1) {
      if (await isPackage(from, target, method)) return;
      await clearFor(target, staging, 'tree');
      const { published } = await publishDirectory(fresh, target, { durable: false });
      if (published) return;
    }
    throw fileSystemError(Object.assign(new Error('something else keeps appearing there'), { code: 'EEXIST' }), 'link the package into', target);
  });
}

/** Whether the package is there, in a tree of its own. A copy that is asked for may not share its files with the cache. */
async function isPackage({ source, h1 }: LinkSource, target: string, method: TreeMethod): Promise<boolean> {
  try {
    if (!(await lstat(target)).isDirectory() || (await hashDirectory(target)) !== h1) return false;
    return method === 'hardlink' || !(await sharesFiles(source, target));
  } catch {
    // Nothing is there, it is on its way out, or it is something else altogether.
    return false;
  }
}

async function sharesFiles(source: string, target: string): Promise<boolean> {
  for (const entry of await readdir(target, { withFileTypes: true, recursive: true })) {
    if (entry.isDirectory()) continue;
    const path = join(entry.parentPath, entry.name);
    const [there, ours] = await Promise.all([stat(path, { bigint: true }), stat(join(source, relative(target, path)), { bigint: true })]);
    if (there.ino === ours.ino && there.dev === ours.dev) return true;
  }
  return false;
}

/** Moves away what a rename would not replace: a directory never, and a symlink or file only by another such. */
async function clearFor(target: string, staging: string, successor: 'symlink' | 'tree'): Promise<void> {
  const stats = await lstat(target).catch(() => undefined);
  if (stats === undefined || (successor === 'symlink' && !stats.isDirectory())) return;
  const aside = join(staging, uniqueName());
  try {
    await rename(target, aside);
  } catch (error) {
    if (!hasSystemError(error, 'ENOENT')) throw error;
    return;
  }
  await removeTree(aside);
}

async function copyTree(source: string, target: string, place: (from: string, to: string) => Promise<void>): Promise<void> {
  await makeUnique(target, 0o755);
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const from = join(source, entry.name);
    const to = join(target, entry.name);
    if (entry.isDirectory()) await copyTree(from, to, place);
    else await place(from, to);
  }
}

/** A hard link cannot leave its file system: there a copy does. What a symlink in the package leads to is linked, since the link itself may lead elsewhere from here. */
async function hardlinkFile(from: string, to: string): Promise<void> {
  try {
    await link(await realpath(from), to).catch(unlessExecuted);
  } catch (error) {
    if (!hasSystemError(error, 'EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP')) throw error;
    await copyWritable(from, to, constants.COPYFILE_FICLONE);
  }
}

/** The copy is the working directory's own, so its owner may write it. */
async function copyWritable(from: string, to: string, how: number): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_EXCL | how);
  const { mode } = await lstat(to);
  await chmod(to, (mode & 0o777) | 0o200);
}

const PLACE: Readonly<Record<TreeMethod, (from: string, to: string) => Promise<void>>> = {
  hardlink: hardlinkFile,
  reflink: async (from, to) => {
    try {
      await copyWritable(from, to, constants.COPYFILE_FICLONE_FORCE);
    } catch (error) {
      throw fileSystemError(error, 'make a reflink (a copy, with method \'copy\', needs none) at', to);
    }
  },
  copy: (from, to) => copyWritable(from, to, constants.COPYFILE_FICLONE),
};
