/** How much an archive may hold. One set of limits for every kind of archive; nothing here reads or writes. */
import { UnsafeArchiveError } from '../errors.ts';

/** Limits of an archive; what is left out has its default. Each is checked against what really comes, not only against what headers say. */
export interface ArchiveLimits {
  /** Entries, and directories that entries imply without naming them; 100,000. */
  readonly entries?: number | undefined;
  /** Unpacked bytes of all entries together; 8 GiB. */
  readonly bytes?: number | undefined;
  /** Unpacked bytes for each byte of the archive, from 1 MiB unpacked on; 1000. */
  readonly ratio?: number | undefined;
}

/** {@link ArchiveLimits} with nothing left out. */
export type ResolvedLimits = { readonly [Name in keyof ArchiveLimits]-?: number };

/** They fit the largest real provider (830 MB, some dozens of entries) with room to spare. */
export const DEFAULT_ARCHIVE_LIMITS: ResolvedLimits = { entries: 100_000, bytes: 8 * 2 ** 30, ratio: 1000 };

/** Below this a high ratio does no harm, and short runs of zeros have one. */
const RATIO_FLOOR = 2 ** 20;

/** The limits with the defaults filled in. */
export function resolveLimits(given: ArchiveLimits = {}): ResolvedLimits {
  return {
    entries: given.entries ?? DEFAULT_ARCHIVE_LIMITS.entries,
    bytes: given.bytes ?? DEFAULT_ARCHIVE_LIMITS.bytes,
    ratio: given.ratio ?? DEFAULT_ARCHIVE_LIMITS.ratio,
  };
}

/**
 * Refuses when `count` entries and directories are too many.
 * @throws UnsafeArchiveError - rule `'entries'`
 */
export function checkEntryCount(count: number, limits: ResolvedLimits, archive: string, entry: string): void {
  if (count > limits.entries) {
    throw new UnsafeArchiveError(archive, entry, 'entries', `there are more than ${limits.entries} entries and directories; raise limits.entries if that is right`);
  }
}

/**
 * Refuses when `unpackedBytes` in all are too many, or too many for an archive of `archiveBytes`.
 * @throws UnsafeArchiveError - rule `'bytes'` or `'ratio'`
 */
export function checkUnpackedBytes(unpackedBytes: number, archiveBytes: number, limits: ResolvedLimits, archive: string, entry: string): void {
  if (unpackedBytes > limits.bytes) {
    throw new UnsafeArchiveError(archive, entry, 'bytes', `it unpacks to more than ${limits.bytes} bytes; raise limits.bytes if that is right`);
  }
  if (unpackedBytes > RATIO_FLOOR && unpackedBytes > archiveBytes * limits.ratio) {
    throw new UnsafeArchiveError(archive, entry, 'ratio', `it unpacks to more than ${limits.ratio} times its size; raise limits.ratio if that is right`);
  }
}
