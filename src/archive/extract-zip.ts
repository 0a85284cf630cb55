/** Unpacking a zip into a private directory: headers first, then every file in one pass, then the directories' names. */
import { finishOrAbandon } from '../atomic/attempt.ts';
import type { OpenFile } from '../atomic/open-file.ts';
import { logger } from '../diagnostics.ts';
import { makeDirectories, placeOf, prepareDestination, syncDirectories } from './destination.ts';
import { writeEntryFile } from './entry-writer.ts';
import { checkUnpackedBytes, resolveLimits, type ArchiveLimits } from './limits.ts';
import { inParallel } from './parallel.ts';
import { unpackEntry } from './zip-data.ts';
import { withZip, type OpenZip } from './zip-file.ts';
import { planExtraction } from './zip-plan.ts';

/** A file that was unpacked. */
export interface ExtractedFile {
  /** Its path below the destination, with '/' between the segments. */
  readonly name: string;
  /** Its length. */
  readonly bytes: number;
  /** SHA-256 of its content, 64 lower-case hex digits. */
  readonly sha256: string;
  /** Whether it became 0555 rather than 0444. */
  readonly executable: boolean;
}

/** How far {@link extractZip} is. */
export interface ExtractProgress {
  /** The entry that the last bytes belong to; several are unpacked at once. */
  readonly entry: string;
  /** Bytes written so far, of all entries. */
  readonly writtenBytes: number;
  /** Bytes that the whole archive unpacks to, by its headers. */
  readonly totalBytes: number;
}

/** Options of {@link extractZip}. */
export interface ExtractOptions {
  /** How much the archive may hold. */
  readonly limits?: ArchiveLimits | undefined;
  /** Says of an entry's name whether its file is executable whatever the archive says (zips made on Windows say nothing). */
  readonly isExecutable?: ((name: string) => boolean) | undefined;
  /** Sync every file and directory before resolving (default true), so that a rename afterwards publishes what survives a power cut. */
  readonly durable?: boolean | undefined;
  /** Ends the extraction. */
  readonly signal?: AbortSignal | undefined;
  /** Called after every write; what it throws ends the extraction. */
  readonly onProgress?: ((progress: ExtractProgress) => void) | undefined;
}

/** Entries unpacked at once. libuv's pool has four threads, and each entry keeps up to 8 MiB of chunks. */
const PARALLEL = 3;

const log = logger('archive');

/**
 * Unpacks the zip `archive` (its path, or the open file) into `destination`, a directory that nobody else writes to, on the file system where the files are
 * wanted; it is made where it is missing, and has to be empty where it is not. Resolves with the files in the order of the archive; their hashes are those of the
 * bytes that were written (the input of `packageHashFromFiles`).
 *
 * Files become 0444, or 0555 where the archive or `isExecutable` says executable; directories 0755; the umask does not matter.
 * Every rule that headers alone can break is settled before the first file is made. After a failure the destination
 * holds parts, and its owner removes it; nothing is written to it once the call has rejected. An abort rejects within
 * 100 ms: should a call to a hanging file system still be under way then, that one call ends in the background.
 *
 * @throws UnsafeArchiveError - an entry breaks a rule (names, types, duplicates, overlaps, headers that disagree, encryption), or the archive a limit
 * @throws InvalidArchiveError - it is no zip, cut short, empty, or damaged (CRC-32 and lengths are checked)
 * @throws InvalidOptionError - the destination is not empty
 * @throws FileSystemError - the archive cannot be read, or the destination not be made or written
 */
export async function extractZip(archive: string | OpenFile, destination: string, options: ExtractOptions = {}): Promise<ExtractedFile[]> {
  options.signal?.throwIfAborted();
  const work = withZip(archive, (zip) => extract(zip, destination, options));
  return finishOrAbandon(work, options.signal);
}

async function extract(zip: OpenZip, destination: string, options: ExtractOptions): Promise<ExtractedFile[]> {
  const { durable = true, signal } = options;
  const limits = resolveLimits(options.limits);
  const plan = await planExtraction(zip, limits, signal);
  log('unpacking %s: %d files, %d bytes', zip.path, plan.files.length, plan.totalBytes);
  const device = await prepareDestination(destination);
  await makeDirectories(plan.directories, destination, signal);

  let writtenBytes = 0;
  const extracted = new Array<ExtractedFile>(plan.files.length);
  await inParallel(
    plan.files.entries(),
    PARALLEL,
    async ([index, file], stop) => {
      const executable = file.executable || options.isExecutable?.(file.name) === true;
      const onWritten = (bytes: number): void => {
        writtenBytes += bytes;
        checkUnpackedBytes(writtenBytes, zip.bytes, limits, zip.path, file.name);
        options.onProgress?.({ entry: file.name, writtenBytes, totalBytes: plan.totalBytes });
      };
      const sha256 = await writeEntryFile(placeOf(file.name, destination), unpackEntry(zip, file), { executable, durable, signal: stop, onWritten });
      extracted[index] = { name: file.name, bytes: file.size, sha256, executable };
    },
    signal,
  );
  if (durable) await syncDirectories(plan.directories, destination, device, signal);
  return extracted;
}
