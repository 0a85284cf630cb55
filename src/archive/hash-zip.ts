/** Hashing what a zip holds without unpacking it anywhere, as the reference's `HashZip` reads it. Only reads. */
import { createHash } from 'node:crypto';
import type { Entry } from 'yauzl';
import { finishOrAbandon } from '../atomic/attempt.ts';
import { InvalidArchiveError } from '../errors.ts';
import { decodeEntryName } from './entry-names.ts';
import { inParallel } from './parallel.ts';
import { isReadableMethod, unpackEntry } from './zip-data.ts';
import { archiveError, withZip, type OpenZip } from './zip-file.ts';

/** An entry of a zip and the hash of its content. */
export interface HashedEntry {
  /** The name as it stands in the central directory; a directory's ends with '/'. */
  readonly name: string;
  /** SHA-256 of its content, 64 lower-case hex digits; of a directory, that of no bytes. */
  readonly sha256: string;
  /** Whether it is a directory entry. */
  readonly directory: boolean;
}

/** Entries hashed at once: one is unpacked while another is hashed. */
const PARALLEL = 2;

/**
 * The hash of every entry of the central directory, in its order and directories included, as `sumdb/dirhash` HashZip
 * reads them: names and overlaps are not judged, since nothing is written, and of two entries with one name the last
 * one's content counts for both. Lengths and CRC-32 are checked.
 *
 * @throws InvalidArchiveError - it is no zip, damaged, or has names that are not UTF-8
 * @throws FileSystemError - it cannot be read
 */
export async function hashZipEntries(archive: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<HashedEntry[]> {
  const { signal } = options;
  signal?.throwIfAborted();
  return finishOrAbandon(
    withZip(archive, (zip) => hashEntries(zip, signal)),
    signal,
  );
}

async function hashEntries(zip: OpenZip, signal: AbortSignal | undefined): Promise<HashedEntry[]> {
  const names: string[] = [];
  const lastOfName = new Map<string, Entry>();
  for await (const entry of zip.entries()) {
    signal?.throwIfAborted();
    const name = decodeEntryName(entry.fileNameRaw);
    if (name === undefined) throw new InvalidArchiveError(zip.path, 'its name is not UTF-8', entry.fileNameRaw.toString('utf8'));
    names.push(name);
    lastOfName.set(name, entry);
  }
  const hashes = new Map<string, string>();
  await inParallel(
    lastOfName,
    PARALLEL,
    async ([name, entry], stop) => {
      hashes.set(name, await hashEntry(zip, name, entry, stop));
    },
    signal,
  );
  return names.map((name) => ({ name, sha256: hashes.get(name) ?? '', directory: name.endsWith('/') }));
}

async function hashEntry(zip: OpenZip, name: string, entry: Entry, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  if (name.endsWith('/')) {
    if (entry.uncompressedSize !== 0) throw new InvalidArchiveError(zip.path, 'it is a directory with content', name);
    return hash.digest('hex');
  }
  const { compressionMethod: method, compressedSize, uncompressedSize: size, crc32 } = entry;
  if (!isReadableMethod(method)) throw new InvalidArchiveError(zip.path, `it is compressed by method ${method}; only stored and deflated entries can be read`, name);
  const { fileDataStart: dataStart } = await zip.file.readLocalFileHeaderPromise(entry, { minimal: true }).catch((error: unknown) => {
    throw archiveError(error, zip.path, name);
  });
  for await (const chunk of unpackEntry(zip, { name, method, compressedSize, size, crc32, dataStart })) {
    signal.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest('hex');
}
