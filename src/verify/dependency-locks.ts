/** Reading and updating dependency lock files (`.terraform.lock.hcl`): what is called from outside. The text is made in the files beside this one. */
import { basename, dirname, isAbsolute, join, sep } from 'node:path';
import { raceAbort } from '../abort.ts';
import { makeDirectories, writeFileAtomic } from '../atomic/index.ts';
import { logger, publishEvent } from '../diagnostics.ts';
import { DependencyLocksError, InvalidOptionError } from '../errors.ts';
import type { Lock } from '../lock/index.ts';
import { acquireKernelOrLease } from '../lock/kernel-or-lease.ts';
import { hasSystemError } from '../system-errors.ts';
import { afterChanges } from './dependency-locks-changes.ts';
import { locateLockFile, readLockFile, type LockFileContent } from './dependency-locks-file.ts';
import { parseLocks, type ParsedLocks } from './dependency-locks-parse.ts';
import { isSameLock, textWith, type LockFileTool } from './dependency-locks-text.ts';
import type { DependencyLocks, DependencyLocksUpdate, LockedProvider, LockedProviderChange } from './dependency-locks-types.ts';

const log = logger('verify');

/** Options of {@link readDependencyLocks}. */
export interface ReadDependencyLocksOptions {
  /** Ends the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of {@link updateDependencyLocks}. */
export interface UpdateDependencyLocksOptions {
  /**
   * Whose header a new file gets; one that is there keeps its own. Default: `'terraform'` where a provider of `registry.terraform.io` is
   * among the new ones, else `'tofu'`.
   */
  readonly tool?: LockFileTool | undefined;
  /** Gives up after so many milliseconds of waiting for another update. Default: waits without limit. */
  readonly timeoutMs?: number | undefined;
  /** Ends the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A program that takes no lock and writes between our read and our write is met so often before the call gives up. */
const ROUNDS = 10;

/**
 * Reads a dependency lock file, as strictly as the reference does: addresses, versions and constraints must be in normalized form, and unknown
 * arguments and blocks are refused, except for `module` blocks, which are passed over. (`internal/depsfile/locks_file.go`)
 *
 * An empty file is a valid one without providers. What is read is whole, also while {@link updateDependencyLocks} replaces the file.
 *
 * @throws FileSystemError ENOENT where there is no such file, EISDIR, EACCES, ….
 * @throws HclSyntaxError - it is no HCL, or more than literal values; with line and column
 * @throws DependencyLocksError - the reference refuses its content, or it is no regular file, no UTF-8, or larger than 16 MiB
 */
export async function readDependencyLocks(path: string, options: ReadDependencyLocksOptions = {}): Promise<DependencyLocks> {
  const { signal } = options;
  signal?.throwIfAborted();
  const { text } = await raceAbort(readLockFile(path, path), signal);
  return locksOf(path, parseLocks(text, path));
}

/**
 * Changes a dependency lock file, or makes it, by what `change` answers about the locks that are there.
 *
 * - *Same version*: its hashes are united with those that are there; none is ever taken away. *Another version*: its hashes take the place of
 *   the old ones. *Not named*: the block stays byte for byte. Comments stay wherever they are, except for those in a list of hashes that another version replaces,
 *   and those in a changed block that stands on one line.
 * - Blocks are written byte for byte as the reference writes them (version, constraints, sorted hashes, one a line), new ones in the order of the addresses.
 *   Line breaks (CRLF), a byte order mark and the header stay.
 * - When nothing changes, nothing is written: inode and time of the file stay as well.
 * - The file is replaced by one rename, durably, with mode and, as far as the process may, owner of the old one (new: 0644 before the umask). When the call rejects, it
 *   is as it was. Through a symbolic link its target is replaced.
 * - Updates exclude each other, between processes and hosts, by the lock of `.terraform/<name of the file>.lock` beside it (where the mount has no kernel
 *   locks, by a lease; event `rwx-cache:verify:lease-fallback`). Terraform and OpenTofu take no lock: when one of them has written while `change` was at work,
 *   `change` is called again with what stands there then.
 *
 * @param path - The lock file. Its directory must exist.
 * @param change - Called with the locks that are there, none where the file is missing; may take its time.
 * @returns Whether the file was written.
 * @throws What `change` throws, and everything that {@link readDependencyLocks} throws, except for a missing file.
 * @throws InvalidOptionError - `change` answered with what no lock file can hold
 * @throws LockTimeoutError, LockLostError - the lock was not to be had, or is lost; nothing was written
 * @throws DependencyLocksError - also when another program keeps writing the file
 */
export async function updateDependencyLocks(
  path: string,
  change: (locks: DependencyLocks) => readonly LockedProviderChange[] | Promise<readonly LockedProviderChange[]>,
  options: UpdateDependencyLocksOptions = {},
): Promise<DependencyLocksUpdate> {
  const { signal, timeoutMs } = options;
  signal?.throwIfAborted();
  if (options.tool !== undefined && !['terraform', 'tofu'].includes(options.tool)) throw new InvalidOptionError('tool', `it is 'terraform' or 'tofu', not ${JSON.stringify(options.tool)}`);
  // A later chdir must not lead to another file. (`resolve` would also fold `link/..`, which is another place.)
  const target = await raceAbort(locateLockFile(isAbsolute(path) ? path : `${process.cwd()}${sep}${path}`), signal);
  const directory = join(dirname(target), '.terraform');
  await raceAbort(makeDirectories(directory, { durable: false }), signal);
  const lock = await acquireKernelOrLease(join(directory, `${basename(target)}.lock`), { signal, timeoutMs }, ({ path: lockPath, reason }) => {
    log('no kernel locks at %s (%s): falling back to a lease', lockPath, reason);
    publishEvent('verify:lease-fallback', { path: lockPath, reason });
  });
  try {
    return await updateLocked({ path, target, lock, options }, change);
  } finally {
    await lock.release();
  }
}

/** An update that holds its lock. */
interface Update {
  /** As it was given, for messages. */
  readonly path: string;
  readonly target: string;
  readonly lock: Lock;
  readonly options: UpdateDependencyLocksOptions;
}

async function updateLocked({ path, target, lock, options }: Update, change: Parameters<typeof updateDependencyLocks>[1]): Promise<DependencyLocksUpdate> {
  const { signal } = options;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const before = await raceAbort(readIfThere(target, path), signal);
    const parsed = parseLocks(before?.text ?? '', path);
    const wanted = afterChanges(parsed, await raceAbort(answerOf(change, locksOf(path, parsed)), signal));
    const text = textWith(parsed, wanted, options.tool ?? defaultTool(wanted));
    checkReadsBack(path, parsed, wanted, text);
    await raceAbort(lock.assertHeld(), signal);
    const now = await raceAbort(readIfThere(target, path), signal);
    if (now === undefined ? before === undefined : before?.bytes.equals(now.bytes) === true) {
      if (text === parsed.text) return { changed: false };
      await writeFileAtomic(target, text, { mode: 0o644, like: now?.stats, signal });
      return { changed: true };
    }
    log('%s was written by another program; looking at it again', target);
  }
  throw new DependencyLocksError({ path, problem: 'another program keeps writing it; try again when that has ended' });
}

/** Also what `change` throws at once is a rejection. */
async function answerOf(change: Parameters<typeof updateDependencyLocks>[1], locks: DependencyLocks): Promise<readonly LockedProviderChange[]> {
  return change(locks);
}

async function readIfThere(target: string, path: string): Promise<LockFileContent | undefined> {
  try {
    return await readLockFile(target, path);
  } catch (error) {
    if (hasSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function locksOf(path: string, { blocks }: ParsedLocks): DependencyLocks {
  return { path, providers: new Map(blocks.map(({ locked }) => [String(locked.address), locked])) };
}

function defaultTool(providers: readonly LockedProvider[]): LockFileTool {
  return providers.some(({ address }) => address.hostnameAscii === 'registry.terraform.io') ? 'terraform' : 'tofu';
}

/** Nothing is written that says anything else than what it is meant to say, whatever the file looked like. */
function checkReadsBack(path: string, before: ParsedLocks, wanted: readonly LockedProvider[], text: string): void {
  const expected = new Map([...locksOf(path, before).providers, ...wanted.map((locked) => [String(locked.address), locked] as const)]);
  const actual = locksOf(path, parseLocks(text, path)).providers;
  const isRight = actual.size === expected.size && [...expected].every(([address, locked]) => {
    const there = actual.get(address);
    return there !== undefined && isSameLock(there, locked);
  });
  if (!isRight) throw new DependencyLocksError({ path, problem: 'the change does not fit into its text; let the client write the file anew (init), then try again' });
}
