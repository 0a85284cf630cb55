/**
 * The bytes of one zip entry, unpacked by core zlib in its thread pool while the caller works on the chunk before.
 * Length and CRC-32 are checked here (yauzl checks no CRC). Only reads.
 */
import { pipeline } from 'node:stream';
import { crc32, createInflateRaw, inflateRawSync, type InflateRaw, type ZlibOptions } from 'node:zlib';
import { InvalidArchiveError } from '../errors.ts';
import { fileSystemError } from '../system-errors.ts';
import type { OpenZip } from './zip-file.ts';

/** What of an entry's headers is needed to unpack it. */
export interface EntryData {
  readonly name: string;
  /** 0 is stored, 8 deflated; any other is refused. */
  readonly method: number;
  readonly compressedSize: number;
  readonly size: number;
  readonly crc32: number;
  /** Where its bytes begin in the archive. */
  readonly dataStart: number;
}

const STORED = 0;
const DEFLATED = 8;

/** Whether entries of this compression method can be unpacked. */
export function isReadableMethod(method: number): boolean {
  return method === STORED || method === DEFLATED;
}

/** Each read starts a chunk of its own, and a round through libuv's pool: at 256 KiB a 90 MB binary took a third longer (250 ms, 190 ms). */
const READ_BYTES = 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
/** Up to here an entry is inflated in one call: that takes 0.2 ms at most, and setting up a stream takes longer. */
const SMALL_BYTES = 64 * 1024;
/** Unpacked chunks that wait for the caller at most; with fewer the thread pool idles while the caller hashes. */
const CHUNKS_AHEAD = 2;

/**
 * The entry's content in chunks of up to 1 MiB. Ends with an error when length or CRC-32 are not those of the headers,
 * and at the first chunk beyond the length, so that a lying header cannot make it run on. Leaving it early frees what it holds.
 *
 * @throws InvalidArchiveError - the content does not fit the headers, or is no deflate stream
 */
export async function* unpackEntry(zip: OpenZip, entry: EntryData): AsyncGenerator<Buffer, void> {
  let bytes = 0;
  let crc = 0;
  for await (const chunk of contentChunks(zip, entry)) {
    bytes += chunk.length;
    if (bytes > entry.size) throw new InvalidArchiveError(zip.path, `it holds more than the ${entry.size} bytes that its header says`, entry.name);
    crc = crc32(chunk, crc);
    yield chunk;
  }
  if (bytes !== entry.size) throw new InvalidArchiveError(zip.path, `it holds ${bytes} bytes, and its header says ${entry.size}`, entry.name);
  if (crc !== entry.crc32) throw new InvalidArchiveError(zip.path, 'its CRC-32 is not the one in its header: the archive is damaged', entry.name);
}

function contentChunks(zip: OpenZip, entry: EntryData): AsyncIterable<Buffer> {
  if (entry.method === STORED) return compressedChunks(zip, entry);
  return Math.max(entry.size, entry.compressedSize) <= SMALL_BYTES ? inflatedAtOnce(zip, entry) : inflatedChunks(zip, entry);
}

async function* inflatedAtOnce(zip: OpenZip, entry: EntryData): AsyncGenerator<Buffer, void> {
  const parts: Buffer[] = [];
  for await (const chunk of compressedChunks(zip, entry)) parts.push(chunk);
  // One byte more than it should hold is room enough to see that there is more. With `info` it answers more than a buffer; the types do not say so.
  const options: ZlibOptions = { info: true, maxOutputLength: entry.size + 1 };
  let result: { readonly buffer: Buffer; readonly engine: InflateRaw };
  try {
    result = inflateRawSync(Buffer.concat(parts), options) as unknown as typeof result;
  } catch (error) {
    throw zlibError(error, zip.path, entry.name);
  }
  checkConsumed(result.engine, zip, entry);
  yield result.buffer;
}

async function* inflatedChunks(zip: OpenZip, entry: EntryData): AsyncGenerator<Buffer, void> {
  const inflater = createInflater(entry.size);
  // The source's failure reaches the loop below through the stream that it destroys.
  pipeline(compressedChunks(zip, entry), inflater, () => undefined);
  try {
    for await (const chunk of inflater) yield chunk as Buffer;
  } catch (error) {
    throw zlibError(error, zip.path, entry.name);
  } finally {
    inflater.destroy();
  }
  checkConsumed(inflater, zip, entry);
}

function checkConsumed(inflater: InflateRaw, zip: OpenZip, entry: EntryData): void {
  const left = entry.compressedSize - inflater.bytesWritten;
  if (left !== 0) throw new InvalidArchiveError(zip.path, `its deflate stream ends ${left} bytes early`, entry.name);
}

function createInflater(size: number): InflateRaw {
  const options: ZlibOptions & { readonly readableObjectMode: boolean; readonly readableHighWaterMark: number } = {
    // Somewhat more than the content, or zlib needs a second round to find the end.
    chunkSize: Math.min(CHUNK_BYTES, size + 64),
    // As objects the chunks come out one by one; as bytes, the reader would copy all that wait into one.
    readableObjectMode: true,
    readableHighWaterMark: CHUNKS_AHEAD,
  };
  return createInflateRaw(options);
}

async function* compressedChunks(zip: OpenZip, entry: EntryData): AsyncGenerator<Buffer, void> {
  const step = entry.method === STORED ? CHUNK_BYTES : READ_BYTES;
  for (let at = 0; at < entry.compressedSize; ) {
    const length = Math.min(step, entry.compressedSize - at);
    const { buffer, bytesRead } = await zip.handle.read(Buffer.allocUnsafe(length), 0, length, entry.dataStart + at).catch((error: unknown) => {
      throw fileSystemError(error, 'read', zip.path);
    });
    if (bytesRead === 0) throw new InvalidArchiveError(zip.path, 'the archive became shorter while it was read', entry.name);
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** zlib numbers its errors as well, so they must not be taken for the system's. */
function zlibError(error: unknown, archive: string, entry: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ERR_BUFFER_TOO_LARGE') return new InvalidArchiveError(archive, 'it holds more bytes than its header says', entry, error);
  return code?.startsWith('Z_') === true ? new InvalidArchiveError(archive, `its content is no deflate stream: ${(error as Error).message}`, entry, error) : error;
}
