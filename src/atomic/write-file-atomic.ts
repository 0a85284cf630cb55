/**
 * One file, whole or not at all. Writes a private temporary file in the target's own directory and publishes it by one
 * `rename` or `link`; never opens the target for writing, never makes directories.
 */
import { constants } from 'node:fs';
import { lstat, open, readFile, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, isAbsolute, sep } from 'node:path';
import { raceAbort } from '../abort.ts';
import { FileSystemError, InvalidOptionError } from '../errors.ts';
import { hasSystemError } from '../system-errors.ts';
import { attempt, finishOrAbandon, quietly } from './attempt.ts';
import { systemCalls } from './calls.ts';
import type { AmbiguousCalls } from './calls.ts';
import { isSame, standsFor } from './identity.ts';
import { inDirectory } from './in-directory.ts';
import { provenExistingWith } from './proven-existing.ts';
import { renamePatiently } from './rename.ts';
import { refreshDirectory } from './stat-fresh.ts';
import { openDirectory, syncOpenDirectory } from './sync.ts';
import { temporaryName } from './unique-name.ts';

/** What can be written: text (as UTF-8), bytes (any view, by its `byteLength`), or a stream of bytes. */
export type FileData = string | ArrayBufferView | AsyncIterable<Uint8Array>;

/** Options of {@link writeFileAtomic}. */
export interface WriteFileAtomicOptions {
  /** What happens when something stands at the path: `'replace'` it (default), or `'keep'` it, so that the first writer wins. */
  readonly ifExists?: 'replace' | 'keep' | undefined;
  /** Whether the file and its name survive a power cut once the call has resolved. Default `true`. */
  readonly durable?: boolean | undefined;
  /** Permission bits, at most `0o777`, of which the process's umask is taken off, as by `open`. Default `0o666`. The replaced file's mode and owner play no part. */
  readonly mode?: number | undefined;
  /**
   * Makes the file look like another one, for example the one that it replaces: these permission bits whatever the umask (`mode` plays no part
   * then), and this owner and group as far as the process may give files away. A file system that keeps neither is no error.
   */
  readonly like?: FileLook | undefined;
  /** Ends the call; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Mode and owner of a file; what `stat` answers will do. */
export interface FileLook {
  /** Its permission bits; others play no part. */
  readonly mode: number;
  /** The user who owns it. */
  readonly uid: number;
  /** Its group. */
  readonly gid: number;
}

/** Whose content a publication left in the place. */
export interface Published {
  /** `true`: this call's. `false`: something was there, and was kept. */
  readonly published: boolean;
}

/**
 * Writes a file so that every reader, at every moment, sees the old content whole or the new content whole.
 *
 * - Any number of processes, threads and hosts may write one path at once: with `'replace'` one of them is last, with `'keep'`
 *   exactly one of them gets `published: true`.
 * - When it rejects, the target is as it was and the temporary file is gone. A SIGKILL leaves the temporary file
 *   (`.<name>.<32 hex digits>.tmp`, in the same directory) for {@link sweepDirectory}. One exception: if the very last step, the sync of the
 *   directory, fails, the error says so, and the new content is in place.
 * - An abort is obeyed until the rename or link is issued, also while a stream has nothing to give. On a mount that hangs the
 *   call rejects all the same, and the last call issued may still take effect.
 * - A symbolic link at the path is itself what is replaced or kept; it is never written through.
 * - After an answer that a retransmission may have falsified (ENOENT from rename, EEXIST from link) what is in the place decides: the file's
 *   own inode, or for a rename of known bytes those bytes.
 * - `'keep'` needs hard links (`link` is the one call that publishes a file and refuses to replace). Where the file system has none it
 *   rejects with ENOTSUP and changes nothing, since a look followed by a rename could replace another's file:
 *   give the file a name of its own and `'replace'`, or use {@link publishDirectory}, which needs no links.
 *
 * @param path - The file. Its directory must exist.
 * @throws FileSystemError ENOENT without the directory, ENOSPC, EDQUOT, EACCES, EISDIR, …, naming `path`.
 * @throws InvalidOptionError for data or options of no known form.
 * An error of the stream passes through as it came.
 */
export async function writeFileAtomic(path: string, data: FileData, options: WriteFileAtomicOptions = {}): Promise<Published> {
  return writeFileAtomicWith(systemCalls, path, data, options);
}

/** @internal */
export async function writeFileAtomicWith(calls: AmbiguousCalls, path: string, data: FileData, options: WriteFileAtomicOptions): Promise<Published> {
  options.signal?.throwIfAborted();
  checkArguments(data, options);
  // A later chdir must not part the temporary file from its target. (`resolve` would also fold `link/..`, which is another place.)
  const target = isAbsolute(path) ? path : `${process.cwd()}${sep}${path}`;
  return finishOrAbandon(write(calls, target, data, options), options.signal);
}

function checkArguments(data: unknown, options: WriteFileAtomicOptions): void {
  if (typeof data !== 'string' && !ArrayBuffer.isView(data) && !isStream(data)) throw new InvalidOptionError('data', 'neither a string, nor bytes, nor an async iterable of bytes');
  const { mode, ifExists } = options;
  if (mode !== undefined && !(Number.isInteger(mode) && mode >= 0 && mode <= 0o777)) throw new InvalidOptionError('mode', `${mode} is not within 0 to 0o777`);
  if (ifExists !== undefined && !['replace', 'keep'].includes(ifExists)) throw new InvalidOptionError('ifExists', `${JSON.stringify(ifExists)} is neither 'replace' nor 'keep'`);
}

function isStream(data: unknown): data is AsyncIterable<Uint8Array> {
  return typeof data === 'object' && data !== null && Symbol.asyncIterator in data;
}

/** O_EXCL alone refuses a symbolic link that was planted at the name; O_NOFOLLOW says it twice. */
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (process.platform === 'win32' ? 0 : constants.O_NOFOLLOW);

async function write(calls: AmbiguousCalls, target: string, data: FileData, options: WriteFileAtomicOptions): Promise<Published> {
  const { ifExists = 'replace', durable = true, like, signal } = options;
  const mode = like === undefined ? (options.mode ?? 0o666) : like.mode & 0o777;
  const parent = dirname(target);
  const temporary = `${parent}${parent.endsWith(sep) ? '' : sep}${temporaryName(basename(target))}`;
  let directory: FileHandle | undefined;
  try {
    const published = await publish();
    // Also when another's file was kept: the caller relies on its name all the same.
    await attempt('make durable, after it was published,', target, syncOpenDirectory(directory));
    return { published };
  } finally {
    await directory?.close().catch(() => undefined);
  }

  async function publish(): Promise<boolean> {
    const handle = await attempt('write', target, inDirectory(parent, () => open(temporary, CREATE, mode)));
    try {
      if (durable) directory = await attempt('write', target, openDirectory(parent, (await handle.stat({ bigint: true })).dev));
      if (like !== undefined) await takeAfter(handle, like);
      const isOurs = await fill(handle, target, data, durable, signal);
      signal?.throwIfAborted();
      if (ifExists === 'replace') {
        await attempt('write', target, replace(calls, temporary, target, isOurs, signal));
        return true;
      }
      const published = await attempt('write', target, keep(calls, temporary, target, signal));
      await quietly(unlink(temporary));
      return published;
    } catch (error) {
      await quietly(handle.close());
      await quietly(unlink(temporary));
      throw error;
    }
  }
}

/** Owner and group first, since a change of theirs may take permission bits away. */
async function takeAfter(handle: FileHandle, { mode, uid, gid }: FileLook): Promise<void> {
  const own = await handle.stat().catch(() => undefined);
  if (own?.uid !== uid || own.gid !== gid) await handle.chown(uid, gid).catch(() => quietly(handle.chown(-1, gid)));
  await quietly(handle.chmod(mode & 0o777));
}

/**
 * Writes, syncs and closes. A network file system reports a full disk only at the sync or close, so both come before the publication.
 *
 * Returns how to tell, after an ambiguous rename, whether this content stands at a path: the bytes are compared, and a stream, which nobody can
 * read twice, is known by its inode. (Asking for the inode each time would take a fifth of a write that is not synced.)
 */
async function fill(handle: FileHandle, target: string, data: FileData, durable: boolean, signal: AbortSignal | undefined): Promise<(path: string) => Promise<boolean>> {
  let isOurs: (path: string) => Promise<boolean>;
  if (isStream(data)) {
    const own = await attempt('write', target, handle.stat({ bigint: true }));
    await writeStream(handle, target, data, signal);
    isOurs = (path) => standsFor(path, own);
  } else {
    const bytes = asBytes(data);
    await attempt('write', target, handle.writeFile(bytes, { signal }));
    isOurs = (path) => holds(path, bytes);
  }
  signal?.throwIfAborted();
  if (durable) await attempt('write', target, handle.sync());
  await attempt('write', target, handle.close());
  return isOurs;
}

/** `FileHandle.writeFile` goes on after a short write, unlike a bare `write`, and so finds the full disk. */
async function writeStream(handle: FileHandle, target: string, data: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): Promise<void> {
  const chunks = data[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const next = await raceAbort(chunks.next(), signal);
      if (next.done === true) break;
      const chunk: unknown = next.value;
      if (typeof chunk !== 'string' && !ArrayBuffer.isView(chunk)) throw new InvalidOptionError('data', 'the stream gave something that is not bytes');
      await attempt('write', target, handle.writeFile(asBytes(chunk), { signal }));
    }
    ended = true;
  } finally {
    // Not awaited: a stream that waits for its own next chunk returns only after that.
    if (!ended) void quietly(Promise.resolve(chunks.return?.()));
  }
}

function asBytes(data: string | ArrayBufferView): string | Uint8Array {
  return typeof data === 'string' || data instanceof Uint8Array ? data : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** Whether the file at `path` holds just these bytes, by asking the server: a cached name would lead to the old file, as long as this host has that open. */
async function holds(path: string, bytes: string | Uint8Array): Promise<boolean> {
  await quietly(refreshDirectory(dirname(path)));
  const there = await readFile(path).catch(() => undefined);
  return there?.equals(typeof bytes === 'string' ? Buffer.from(bytes) : bytes) === true;
}

async function replace(
  calls: AmbiguousCalls,
  temporary: string,
  target: string,
  isOurs: (path: string) => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await renamePatiently(calls, temporary, target, signal);
  } catch (error) {
    // The name was private: if it is gone, the first copy of the request was executed, or a sweep took it for a dead one's.
    if (!hasSystemError(error, 'ENOENT', 'ESTALE') || !(await isOurs(target))) throw error;
  }
}

/** How often a link is tried while the server says "there" and nothing is: each time somebody removed it in between. */
const LINK_ROUNDS = 4;

async function keep(calls: AmbiguousCalls, temporary: string, target: string, signal: AbortSignal | undefined): Promise<boolean> {
  for (let round = 1; ; round += 1) {
    try {
      await calls.link(temporary, target);
      return true;
    } catch (error) {
      if (hasSystemError(error, 'EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK')) {
        throw new FileSystemError({ systemCode: 'ENOTSUP', operation: "publish with ifExists 'keep', which needs hard links,", path: target, cause: error });
      }
      // A link leaves the temporary name, so the inode can be asked for now that it matters.
      const own = await lstat(temporary, { bigint: true }).catch(() => undefined);
      if (own !== undefined && (await standsFor(target, own))) return true;
      if (!hasSystemError(error, 'EEXIST')) throw error;
      const there = await provenExistingWith(calls, target, signal);
      if (there !== undefined) return own !== undefined && isSame(there, own);
      if (round === LINK_ROUNDS) throw error;
    }
  }
}
