/**
 * Writing the files and directories of an archive into a private directory. Every file is created here and never
 * opened a second time; modes do not depend on the umask or on what the archive says.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, open, stat, type FileHandle } from 'node:fs/promises';
import { attempt } from '../atomic/attempt.ts';
import { systemCalls } from '../atomic/calls.ts';

const EXECUTABLE_MODE = 0o555;
const FILE_MODE = 0o444;
const DIRECTORY_MODE = 0o755;
/** O_NOFOLLOW beside O_EXCL says the same twice, for file systems that honour only one. Windows has none. */
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (process.platform === 'win32' ? 0 : constants.O_NOFOLLOW);

/** How to write one file. */
export interface WriteOptions {
  readonly executable: boolean;
  readonly durable: boolean;
  readonly signal: AbortSignal;
  /** Called with the length of what was just written. */
  readonly onWritten: (bytes: number) => void;
}

/**
 * Creates a file of these chunks and says their SHA-256 in hex. A chunk is hashed while the one before is written and
 * the one after is unpacked. The file is read-only from its creation on. On failure the file stays, in part; what was
 * begun has ended when the call rejects.
 */
export async function writeEntryFile(path: string, chunks: AsyncIterable<Buffer>, options: WriteOptions): Promise<string> {
  const mode = options.executable ? EXECUTABLE_MODE : FILE_MODE;
  const handle = await attempt('create', path, open(path, CREATE, mode));
  try {
    // The umask took bits away. Asking first saves a request to the server in the common case.
    if (((await attempt('inspect', path, handle.stat())).mode & 0o777) !== mode) await attempt('set the mode of', path, handle.chmod(mode));
    const sha256 = await copyChunks(handle, path, chunks, options);
    options.signal.throwIfAborted();
    if (options.durable) await attempt('sync', path, handle.sync());
    return sha256;
  } finally {
    // Waits for the write and the sync that may still be under way.
    await handle.close();
  }
}

/** A large file is synced as it grows: the last sync then finds little left to do (302 ms became 250 for 90 MB, measured). */
const SYNC_EVERY_BYTES = 16 * 1024 * 1024;

async function copyChunks(handle: FileHandle, path: string, chunks: AsyncIterable<Buffer>, options: WriteOptions): Promise<string> {
  const hash = createHash('sha256');
  let writing = Promise.resolve();
  let syncing = Promise.resolve();
  let unsynced = 0;
  for await (const chunk of chunks) {
    options.signal.throwIfAborted();
    hash.update(chunk);
    await writing;
    options.signal.throwIfAborted();
    writing = attempt('write', path, writeAll(handle, chunk)).then(() => {
      options.onWritten(chunk.length);
    });
    // It may fail while nobody waits for it yet; whoever does hears of it all the same.
    writing.catch(() => undefined);
    unsynced += chunk.length;
    if (options.durable && unsynced >= SYNC_EVERY_BYTES) {
      unsynced = 0;
      // One after the other, so that they hold one thread of the pool at most. A kernel tells of a failed write-back once: this one's failure counts.
      syncing = syncing.then(() => attempt('sync', path, handle.datasync()));
      syncing.catch(() => undefined);
    }
  }
  await writing;
  await syncing;
  return hash.digest('hex');
}

/** `write` may write less than it was given: on a disk that is almost full, the next call tells why. */
async function writeAll(handle: FileHandle, chunk: Buffer): Promise<void> {
  for (let rest = chunk; rest.length > 0; ) {
    const { bytesWritten } = await handle.write(rest, 0, rest.length);
    rest = rest.subarray(bytesWritten);
  }
}

/** Creates a directory, which must not be there yet unless `make` says otherwise, and answers the device that it lies on. */
export async function makeEntryDirectory(path: string, make: (path: string, mode: number) => Promise<void> = systemCalls.mkdir): Promise<bigint> {
  await attempt('create', path, make(path, DIRECTORY_MODE));
  const { dev, mode } = await attempt('inspect', path, stat(path, { bigint: true }));
  // A set-group-ID bit came from the parent, and stays: the volume's owner wants one group throughout.
  const bits = Number(mode);
  if ((bits & 0o777) !== DIRECTORY_MODE) await attempt('set the mode of', path, chmod(path, (bits & 0o7000) | DIRECTORY_MODE));
  return dev;
}
