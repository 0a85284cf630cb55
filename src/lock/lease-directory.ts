/**
 * A lease on disk, and the few calls that change it. `<path>.lease/held` is the lease; its only entry is a file named by the holder's token, 128 random
 * bits and the term. Every call names the token that it means, so none can hit another holder's lease by mistake:
 *
 * - claim: a directory with the token in it is renamed to `held`. That succeeds where `held` is missing or empty, for one claimant at a time;
 * - renew: `utimes` of `held/<token>`; release and takeover: `unlink` of `held/<token>`. Of a lease that has passed on they say ENOENT.
 *
 * That is why a takeover needs no guard: between "I saw it stale" and "I remove it" nothing that comes new has that name. A crash at any
 * point leaves a lease that goes stale, an empty `held`, which is free, or a claimant's directory, which is swept.
 */
import { unlinkSync, rmdirSync, constants } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rmdir, unlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { refreshDirectory } from '../atomic/stat-fresh.ts';
import { quietly } from '../atomic/attempt.ts';
import { inDirectory } from '../atomic/in-directory.ts';
import { makeUnique } from '../atomic/make-unique.ts';
import { UNIQUE, uniqueName } from '../atomic/unique-name.ts';
import type { LockHolder } from '../errors.ts';
import { hasSystemError } from '../system-errors.ts';
import { ownRecord, readHolder } from './holder.ts';

/** Where the lease of one lock lies. */
export interface LeasePlace {
  /** `<path>.lease`: made when it is first needed, never removed. */
  readonly container: string;
  /** `<path>.lease/held`: there, with an entry, while the lease is held. */
  readonly held: string;
}

/** What one look at a held lease has seen. */
export interface LeaseSight {
  readonly tokens: readonly string[];
  /** Equal only where nothing was renewed, released or taken over between two looks. */
  readonly fingerprint: string;
  /** The times of `performance.now()` between which it was seen. */
  readonly begunAt: number;
  readonly endedAt: number;
}

const isWindows = process.platform === 'win32';
const TOKEN = new RegExp(`^${UNIQUE}-(\\d{1,9})$`, 'u');
const LOOK = constants.O_RDONLY | (isWindows ? 0 : constants.O_NOFOLLOW | constants.O_NONBLOCK);
/** Before the umask: another user of the cache must be able to take the lease over. */
const DIRECTORY_MODE = 0o777;
/** By the file system's own clock. A claim takes milliseconds; whoever is stopped for so long in the midst of one tries again. */
const LITTER_MS = 3_600_000;

export function leasePlace(path: string): LeasePlace {
  const container = `${path}.lease`;
  return { container, held: join(container, 'held') };
}

/** A token that nobody has had. It carries the holder's term: only the holder knows how often it renews. */
export function newToken(termMs: number): string {
  return `${uniqueName()}-${Math.ceil(termMs)}`;
}

/** The term that a token carries, in milliseconds; `undefined` where it is no token of ours. */
export function termOf(token: string): number | undefined {
  const text = TOKEN.exec(token)?.[1];
  return text === undefined ? undefined : Number(text);
}

/** Takes the lease if it is free. */
export async function claim({ container, held }: LeasePlace, token: string): Promise<boolean> {
  if ((await tokensIn({ container, held })).length > 0) return false;
  const candidate = join(container, token);
  await build(container, candidate, token);
  try {
    await rename(candidate, held);
    return true;
  } catch (error) {
    // A request that the client sent twice is answered ENOENT although it was executed; what decides is where the token is.
    const isTaken = hasSystemError(error, 'ENOTEMPTY', 'EEXIST') || (isWindows && hasSystemError(error, 'EPERM', 'EACCES'));
    if (!isTaken && (await holdsAfterAll({ container, held }, token))) return true;
    await discard(candidate, token);
    // Windows renames nothing onto an empty directory. Removing it is refused where somebody is in it.
    if (isTaken) await quietly(rmdir(held));
    if (isTaken || hasSystemError(error, 'ENOENT', 'ESTALE')) return false;
    throw error;
  }
}

/** Whether the lease is this token's, by asking the server. */
export async function holds({ held }: LeasePlace, token: string): Promise<boolean> {
  try {
    await (await open(join(held, token), LOOK)).close();
    return true;
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ENOTDIR', 'ESTALE')) return false;
    throw error;
  }
}

/** As {@link holds}, where this client has just found that `held` is not there: it would go on believing that. */
async function holdsAfterAll(place: LeasePlace, token: string): Promise<boolean> {
  await quietly(refreshDirectory(place.container));
  return holds(place, token);
}

/** Renews the lease; ENOENT or ESTALE when it is this token's no more. */
export async function renew({ held }: LeasePlace, token: string, mtime: Date): Promise<void> {
  await utimes(join(held, token), mtime, mtime);
}

/** Removes these tokens, and no others, from the lease. */
export async function remove({ held }: LeasePlace, tokens: readonly string[]): Promise<void> {
  for (const token of tokens) {
    try {
      await unlink(join(held, token));
    } catch (error) {
      if (!hasSystemError(error, 'ENOENT', 'ENOTDIR', 'ESTALE')) throw error;
    }
  }
  // Refused where a new holder is in it already.
  await quietly(rmdir(held));
}

/** As {@link remove}, while the process ends. */
export function removeSync({ held }: LeasePlace, token: string): void {
  unlinkSync(join(held, token));
  rmdirSync(held);
}

/** What stands there now, or `undefined` when the lease is free. A bare `stat` would be up to 30 s old on NFS (measured); open and fstat is not. */
export async function look(place: LeasePlace): Promise<LeaseSight | undefined> {
  const begunAt = performance.now();
  const tokens = await tokensIn(place);
  if (tokens.length === 0) return undefined;
  const marks: string[] = [];
  for (const token of tokens) marks.push(await markOf(join(place.held, token), token));
  return { tokens, fingerprint: marks.join('\n'), begunAt, endedAt: performance.now() };
}

/** Who holds the lease, for messages. */
export async function leaseHolder(place: LeasePlace): Promise<LockHolder | undefined> {
  const [token] = await tokensIn(place).catch(() => []);
  return token === undefined ? undefined : readHolder(join(place.held, token));
}

/** Removes what claimants that died in the midst of a claim left behind. `token` is the caller's, held: its file tells the time. */
export async function sweep(place: LeasePlace, token: string, olderThanMs: number = LITTER_MS): Promise<void> {
  const now = (await lstat(join(place.held, token))).ctimeMs;
  for (const name of await readdir(place.container)) {
    if (!TOKEN.test(name)) continue;
    const candidate = join(place.container, name);
    if (now - (await lstat(candidate)).ctimeMs > olderThanMs) await discard(candidate, name);
  }
}

async function tokensIn({ container, held }: LeasePlace): Promise<string[]> {
  try {
    await refreshDirectory(container);
    return (await readdir(held)).sort();
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ESTALE')) return [];
    throw error;
  }
}

async function markOf(path: string, token: string): Promise<string> {
  try {
    const handle = await open(path, LOOK);
    try {
      const { ino, mtimeNs, ctimeNs } = await handle.stat({ bigint: true });
      return `${token} ${ino} ${mtimeNs} ${ctimeNs}`;
    } finally {
      await quietly(handle.close());
    }
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ESTALE')) return `${token} gone at ${performance.now()}`;
    throw error;
  }
}

async function build(container: string, candidate: string, token: string): Promise<void> {
  try {
    await makeUnique(candidate, DIRECTORY_MODE);
  } catch (error) {
    if (!hasSystemError(error, 'ENOENT')) throw error;
    await inDirectory(dirname(container), () => mkdir(container)).catch((failure: unknown) => {
      if (!hasSystemError(failure, 'EEXIST')) throw failure;
    });
    await makeUnique(candidate, DIRECTORY_MODE);
  }
  await writeFile(join(candidate, token), ownRecord(), { flag: 'wx' });
}

async function discard(candidate: string, token: string): Promise<void> {
  await quietly(unlink(join(candidate, token)));
  await quietly(rmdir(candidate));
}
