/** The hashes of a package that is still a zip: `zh:` of the file, `h1:` of what it holds. Only reads. */
import { raceAbort } from '../abort.ts';
import { hashZipEntries } from '../archive/index.ts';
import { attempt } from '../atomic/attempt.ts';
import { openToRead } from '../atomic/open-to-read.ts';
import { digestOf } from './file-digest.ts';
import { packageHashFromFiles } from './package-hash.ts';

/** Options of {@link hashZipContents}. */
export interface HashZipOptions {
  /**
   * `'count'` (default) hashes directory entries as empty files, as the reference does; `'skip'` leaves them out, which
   * gives the hash of the unpacked directory.
   */
  readonly directoryEntries?: 'count' | 'skip' | undefined;
  /** Ends the hashing. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The `h1:` hash of what the zip `path` holds, as the reference computes it of an archive. A zip with directory entries
 * has another one than the directory that it unpacks to, unless they are skipped.
 *
 * @throws InvalidArchiveError - it is no zip, or damaged (CRC-32 and lengths are checked)
 * @throws UnreadableDirectoryError - a name has a line break
 * @throws FileSystemError - it cannot be read
 */
export async function hashZipContents(path: string, options: HashZipOptions = {}): Promise<string> {
  const entries = await hashZipEntries(path, { signal: options.signal });
  return packageHashFromFiles(options.directoryEntries === 'skip' ? entries.filter((entry) => !entry.directory) : entries);
}

/**
 * The `zh:` hash of a file: its SHA-256, in lower-case hex. The content is not looked at.
 * @throws FileSystemError - it cannot be read
 */
export async function hashZipFile(path: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<string> {
  const { signal } = options;
  signal?.throwIfAborted();
  return raceAbort(digestFile(path, signal), signal);
}

async function digestFile(path: string, signal: AbortSignal | undefined): Promise<string> {
  const handle = await attempt('open', path, openToRead(path));
  try {
    const { size } = await attempt('inspect', path, handle.stat());
    return `zh:${await attempt('read', path, digestOf(handle, size, signal))}`;
  } finally {
    await handle.close();
  }
}
