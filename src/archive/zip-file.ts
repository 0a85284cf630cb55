/**
 * A zip's central directory, read by yauzl through a window of ours. Says what stands there; judges nothing beyond what
 * makes it readable. Only reads; the bytes of entries go through `zip-data.ts`.
 */
import { open, type FileHandle } from 'node:fs/promises';
import { fromRandomAccessReaderPromise, RandomAccessReader, type Entry, type ZipFile } from 'yauzl';
import { attempt } from '../atomic/attempt.ts';
import type { OpenFile } from '../atomic/open-file.ts';
import { InvalidArchiveError, RwxCacheError, UnsafeArchiveError } from '../errors.ts';
import { fileSystemError, systemErrorName } from '../system-errors.ts';

/** An open zip. */
export interface OpenZip {
  /** Its path. */
  readonly path: string;
  readonly handle: FileHandle;
  /** Its length in bytes. */
  readonly bytes: number;
  /** How many entries its end record announces. */
  readonly announcedEntries: number;
  /** The central headers in their order; ends with an error when they do not fill the directory exactly. */
  entries(): AsyncGenerator<Entry>;
  /** Where the central directory starts. */
  readonly directoryStart: number;
  /** yauzl's own object, for local headers. */
  readonly file: ZipFile;
}

/** Opens a zip, and closes it when `use` has settled; one that is open already is left so. What `use` throws comes out as it is. */
export async function withZip<T>(archive: string | OpenFile, use: (zip: OpenZip) => Promise<T>): Promise<T> {
  if (typeof archive !== 'string') return use(await openZip(archive.path, archive.handle));
  const path = archive;
  const handle = await attempt('open', path, open(path, 'r'));
  try {
    return await use(await openZip(path, handle));
  } finally {
    await handle.close();
  }
}

/** A failure of yauzl as this room throws it: a failed read is the file system's, everything else is the archive's. */
export function archiveError(error: unknown, archive: string, entry?: string): Error {
  if (error instanceof RwxCacheError) return error;
  if (systemErrorName(error) !== undefined) return fileSystemError(error, 'read', archive);
  return new InvalidArchiveError(archive, error instanceof Error ? error.message : String(error), entry, error);
}

async function openZip(path: string, handle: FileHandle): Promise<OpenZip> {
  const { size: bytes } = await attempt('inspect', path, handle.stat());
  const file = await readEnd(path, handle, bytes);
  // Typed as a boolean by mistake; before the first entry it is the start of the directory, after the last its end.
  const cursor = (): number => file.readEntryCursor as unknown as number;
  const directoryStart = cursor();
  return {
    path,
    handle,
    bytes,
    file,
    directoryStart,
    announcedEntries: file.entryCount,
    entries: async function* () {
      const next = entryReader(file, path);
      for (let entry = await next(); entry !== undefined; entry = await next()) yield entry;
      const end = await attempt('read', path, directoryEnd(handle, file, bytes));
      if (cursor() !== end) throw new InvalidArchiveError(path, `its central directory ends at byte ${cursor()}, and its end record stands at ${end}`);
    },
  };
}

async function readEnd(path: string, handle: FileHandle, bytes: number): Promise<ZipFile> {
  try {
    return await fromRandomAccessReaderPromise(new HeaderReader(handle, bytes), bytes, {
      autoClose: false,
      // Names stay bytes: yauzl would decode them as CP437 and rewrite backslashes; h1 and the reference want them as they are.
      decodeStrings: false,
    });
  } catch (error) {
    if (systemErrorName(error) !== undefined) throw fileSystemError(error, 'read', path);
    throw new InvalidArchiveError(path, `${await guess(handle, bytes)} (${(error as Error).message})`, undefined, error);
  }
}

/** What a file that is no zip may be instead: the answer of a portal or proxy, most of the time. */
async function guess(handle: FileHandle, bytes: number): Promise<string> {
  const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(64), position: 0 });
  const start = buffer.subarray(0, bytesRead);
  if (bytes === 0) return 'it is empty';
  if (start.toString('latin1').trimStart().startsWith('<')) return 'it is no zip but looks like HTML or XML, which a proxy or login page may have sent instead';
  if (start.length >= 2 && start.readUInt16BE(0) === 0x1f8b) return 'it is no zip but gzip';
  if (start.toString('latin1').startsWith('PK')) return 'it starts like a zip, and was cut short or has bytes behind its end';
  return 'it is no zip';
}

/**
 * One central header after the other. Not yauzl's `eachEntry`: an error between two calls of its `next` makes that
 * throw a TypeError where nobody can catch it.
 */
function entryReader(file: ZipFile, path: string): () => Promise<Entry | undefined> {
  let settle: { resolve: (entry: Entry | undefined) => void; reject: (error: Error) => void } | undefined;
  let failure: Error | undefined;
  let index = -1;
  file.on('entry', (entry: Entry) => settle?.resolve(entry));
  file.on('end', () => settle?.resolve(undefined));
  file.on('error', (error: Error) => {
    // With strong encryption names are hidden, too, so the entry's number has to do.
    failure = error.message.includes('strong encryption') ? new UnsafeArchiveError(path, `#${index}`, 'encrypted', 'it is encrypted') : archiveError(error, path);
    settle?.reject(failure);
  });
  return () =>
    new Promise((resolve, reject) => {
      if (failure !== undefined) {
        reject(failure);
        return;
      }
      settle = { resolve, reject };
      index += 1;
      file.readEntry();
    });
}

/** Where the central directory has to end: at the zip64 end record where there is one, else at the end record. */
async function directoryEnd(handle: FileHandle, file: ZipFile, bytes: number): Promise<number> {
  const endRecord = bytes - 22 - file.comment.length;
  if (endRecord < 20) return endRecord;
  const { buffer } = await handle.read({ buffer: Buffer.alloc(20), position: endRecord - 20 });
  return buffer.readUInt32LE(0) === 0x07064b50 ? Number(buffer.readBigUInt64LE(8)) : endRecord;
}

const WINDOW_BYTES = 64 * 1024;

/** Serves yauzl's many small reads (two for each header) from one window of the file. */
class HeaderReader extends RandomAccessReader {
  readonly #handle: FileHandle;
  readonly #bytes: number;
  #window: Buffer = Buffer.alloc(0);
  #start = 0;

  constructor(handle: FileHandle, bytes: number) {
    super();
    this.#handle = handle;
    this.#bytes = bytes;
  }

  override read(buffer: Buffer, offset: number, length: number, position: number, callback: (error: Error | null) => void): void {
    if (position + length > this.#bytes) {
      callback(new Error('unexpected end of the file'));
      return;
    }
    const from = position - this.#start;
    if (from >= 0 && from + length <= this.#window.length) {
      this.#window.copy(buffer, offset, from, from + length);
      callback(null);
      return;
    }
    this.#load(position, length)
      .then(
        (window) => {
          // Not the field: another read may have moved the window on.
          window.copy(buffer, offset, 0, length);
          callback(null);
        },
        callback,
      )
      // What yauzl's callback throws must not become an unhandled rejection.
      .catch((error: unknown) => this.emit('error', error));
  }

  override _readStreamForRange(): never {
    throw new Error('The bytes of entries are read elsewhere');
  }

  async #load(position: number, length: number): Promise<Buffer> {
    const window = Buffer.allocUnsafe(Math.min(Math.max(length, WINDOW_BYTES), this.#bytes - position));
    let filled = 0;
    while (filled < window.length) {
      const { bytesRead } = await this.#handle.read(window, filled, window.length - filled, position + filled);
      if (bytesRead === 0) throw new Error('unexpected end of the file');
      filled += bytesRead;
    }
    this.#window = window;
    this.#start = position;
    return window;
  }
}
