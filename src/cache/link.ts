/**
 * Puts a package of the cache into a working directory (`.terraform/providers`). Writes there only, never into the
 * cache.
 */
import { chmod, constants, copyFile, link, lstat, readdir, readFile, readlink, realpath, rename, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { makeDirectories, publishDirectory, refreshDirectory, removeTree, sweepDirectory, uniqueName, withStagingDirectory } from '../atomic/index.ts';
import { makeUnique } from '../atomic/make-unique.ts';
import { InvalidOptionError } from '../errors.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { hashDirectory } from '../verify/hash-directory.ts';

/**
 * How the package gets there. `'symlink'` and `'hardlink'` share the cache's files: `terraform` without a lock file
 * writes through either (measured), so `'auto'` (the default) takes a symlink only where the working directory's
 * `.terraform.lock.hcl` holds the package's own `h1:` hash, and copies otherwise.
 */
export type LinkMethod = 'symlink' | 'hardlink' | 'copy' | 'auto';

/** Options of {@link ProviderPackage.linkInto}. */
export interface LinkOptions {
  /** Default `'auto'`. */
  readonly method?: LinkMethod | undefined;
}

/** The package to be linked. */
export interface LinkSource {
  /** Absolute path of the entry. */
  readonly source: string;
  /** Its path below the providers directory, in the cache and in the working directory alike. */
  readonly relative: string;
  readonly h1: string;
}

const METHODS: readonly string[] = ['symlink', 'hardlink', 'copy', 'auto'] satisfies LinkMethod[];

/** Links or copies the package, and answers where it now is. */
export async function linkPackage(from: LinkSource, directory: string, { method = 'auto' }: LinkOptions = {}): Promise<string> {
  if (!METHODS.includes(method)) throw new InvalidOptionError('method', `it is one of ${METHODS.join(', ')}`);
  if (typeof directory !== 'string' || directory === '') throw new InvalidOptionError('directory', 'it is the path of a working directory\'s .terraform/providers');
  const root = resolve(directory);
  const target = join(root, from.relative);
  const chosen = method === 'auto' ? await safeMethod(root, from.h1) : method;
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
 * The lock file's place is fixed: beside `.terraform`. That it holds the hash in quotes is enough: the hash names the
 * content, whatever block it stands in.
 */
async function safeMethod(providersDirectory: string, h1: string): Promise<'symlink' | 'copy'> {
  const lockFile = join(providersDirectory, '..', '..', '.terraform.lock.hcl');
  try {
    return (await readFile(lockFile, 'utf8')).includes(`"${h1}"`) ? 'symlink' : 'copy';
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

async function placeTree(from: LinkSource, target: string, root: string, method: 'hardlink' | 'copy'): Promise<void> {
  // A client may be running from it.
  if (await isPackage(from, target, method)) return;
  await withStagingDirectory(root, async (staging) => {
    const fresh = join(staging, 'package');
    await copyTree(from.source, fresh, method === 'hardlink' ? hardlinkFile : copyWritable);
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
async function isPackage({ source, h1 }: LinkSource, target: string, method: 'hardlink' | 'copy'): Promise<boolean> {
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

/** A hard link cannot leave its file system: there a copy does. */
async function hardlinkFile(from: string, to: string): Promise<void> {
  try {
    await link(from, to).catch(unlessExecuted);
  } catch (error) {
    if (!hasSystemError(error, 'EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP')) throw error;
    await copyWritable(from, to);
  }
}

/** A reflink where the file system has them. The copy is the working directory's own, so its owner may write it. */
async function copyWritable(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  const { mode } = await lstat(to);
  await chmod(to, (mode & 0o777) | 0o200);
}
