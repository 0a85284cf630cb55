/**
 * Downloads that outlive their process, in `state/partial/<uid>/`. What lies there is a second name (hard link) of a file that a download writes in
 * its own staging: it costs one call and no byte, it holds whatever is written until the process ends, and no process disturbs another one.
 * The name says what the bytes are the beginning of, so it and they are one unit. Nothing here is believed: whoever takes one up copies it into
 * his own staging and hashes it there, and the digest of the whole decides. The bytes are not synced: after a power cut the digest decides as well.
 */
import { createHash } from 'node:crypto';
import { link, lstat, mkdir, readdir, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectories, uniqueName, type OpenFile } from '../atomic/index.ts';
import { openToRead } from '../atomic/open-to-read.ts';
import { logger } from '../diagnostics.ts';
import type { FoundPartial, PartialStore, SizedRepresentation } from '../http/index.ts';
import { hasSystemError } from '../system-errors.ts';
import { boundOrphans, removeOrphans } from './partial-sweep.ts';

const log = logger('cache');

/** With more names than this, whoever sees them first sweeps; else the hourly sweep does. */
const MANY = 64;

/** A store on a volume. */
export interface PartialDirectory extends PartialStore {
  /** For a full disk: removes every partial download of this user that no process is at, and says whether there was one. */
  readonly makeRoom: () => Promise<boolean>;
}

/** Where the partial downloads of this user lie; `undefined` where there are no users to tell apart, and so no partial downloads. */
export function ownPartials(partial: string): string | undefined {
  const uid = process.getuid?.();
  return uid === undefined ? undefined : join(partial, String(uid));
}

/** The store below `partial`, which is on the mount of the staging directories. Makes nothing before something is kept. */
export function createPartialStore(partial: string): PartialDirectory | undefined {
  const directory = ownPartials(partial);
  if (directory === undefined) return undefined;
  return {
    find: (sha256, of, own) => orUndefined('find', find(directory, namePrefix(sha256, of), of.totalBytes, own)),
    keep: (sha256, of, file) => orUndefined('keep', keep(partial, directory, `${namePrefix(sha256, of)}${uniqueName()}`, file)),
    makeRoom: async () => (await orUndefined('remove', removeOrphans(directory))) === true,
  };
}

/** The digest of the whole, and one of what vouches for its parts: an entity tag may be longer than a name, and needs only to be compared. */
function namePrefix(sha256: string, { origin, etag, totalBytes }: SizedRepresentation): string {
  const about = createHash('sha256').update(JSON.stringify([origin, etag, totalBytes])).digest('hex').slice(0, 32);
  return `${sha256}.${about}.`;
}

async function find(directory: string, prefix: string, totalBytes: number, own: OpenFile): Promise<FoundPartial | undefined> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (hasSystemError(error, 'ENOENT')) return [];
    throw error;
  });
  if (names.length > MANY) await boundOrphans(directory);
  const mine = names.filter((name) => name.startsWith(prefix));
  if (mine.length === 0) return undefined;
  // The user as the file system sees it: a server may take root for somebody else.
  const { uid } = await own.handle.stat();
  let best: FoundPartial | undefined;
  for (const name of mine) {
    const path = join(directory, name);
    const found = await openOwn(path, uid, totalBytes);
    if (found !== undefined && found.bytes > (best?.bytes ?? 0)) {
      await best?.handle.close();
      best = { ...found, remove: () => remove(path) };
    } else await found?.handle.close();
  }
  return best;
}

/** Nothing of another user's, nothing that one could write to, and nothing that is more than the whole. */
async function openOwn(path: string, uid: number, totalBytes: number): Promise<{ readonly handle: FileHandle; readonly bytes: number } | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await openToRead(path, { followLinks: false });
    const stats = await handle.stat();
    if (stats.isFile() && stats.uid === uid && (stats.mode & 0o022) === 0 && stats.size <= totalBytes) return { handle, bytes: stats.size };
    log('%s is no partial download of this user', path);
  } catch (error) {
    log('%s cannot be taken up: %o', path, error);
  }
  await handle?.close();
  return undefined;
}

async function keep(partial: string, directory: string, name: string, file: OpenFile): Promise<{ readonly remove: () => Promise<void> } | undefined> {
  if (!(await isPrivate(directory, file))) {
    await makeDirectories(partial, { durable: false });
    await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
      if (!hasSystemError(error, 'EEXIST')) throw error;
    });
    if (!(await isPrivate(directory, file))) {
      log('%s is not private to this user', directory);
      return undefined;
    }
  }
  const path = join(directory, name);
  await link(file.path, path).catch((error: unknown) => {
    // The name is nobody else's: then this is the answer to a request that was sent twice.
    if (!hasSystemError(error, 'EEXIST')) throw error;
  });
  return { remove: () => remove(path) };
}

async function isPrivate(directory: string, file: OpenFile): Promise<boolean> {
  const stats = await lstat(directory).catch((error: unknown) => {
    if (hasSystemError(error, 'ENOENT')) return undefined;
    throw error;
  });
  return stats !== undefined && stats.isDirectory() && (stats.mode & 0o077) === 0 && stats.uid === (await file.handle.stat()).uid;
}

async function remove(path: string): Promise<void> {
  await orUndefined('remove', unlink(path));
}

async function orUndefined<T>(what: string, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!hasSystemError(error, 'ENOENT')) log('could not %s a partial download: %o', what, error);
    return undefined;
  }
}
