import type { ArchiveLimits } from './limits.ts';

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
  /** The entry that the last bytes belong to. */
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

export async function extractZip(archive: string, destination: string, options: ExtractOptions = {}): Promise<ExtractedFile[]> {
  await Promise.resolve();
  throw new Error(`Not written yet: ${archive}, ${destination}, ${Object.keys(options).length}`);
}
