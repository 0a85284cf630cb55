/**
 * What a zip would unpack to, or why it is refused: every rule that the headers alone can break is settled here, before
 * the first byte is written. Only reads headers.
 */
import type { Entry, LocalFileHeader } from 'yauzl';
import { getFileNameLowLevel, parseExtraFields } from 'yauzl';
import { InvalidArchiveError, UnsafeArchiveError } from '../errors.ts';
import { createEntryTree, decodeEntryName, entryNameProblem } from './entry-names.ts';
import { checkEntryCount, checkUnpackedBytes, type ResolvedLimits } from './limits.ts';
import { isReadableMethod, type EntryData } from './zip-data.ts';
import { archiveError, type OpenZip } from './zip-file.ts';

/** A file to be written. */
export interface PlannedFile extends EntryData {
  /** Whether the archive marks it executable. */
  readonly executable: boolean;
}

/** What a zip unpacks to. */
export interface ZipPlan {
  /** Every directory, named or implied, parents first. */
  readonly directories: readonly string[];
  /** The files, in the order of the central directory. */
  readonly files: readonly PlannedFile[];
  /** The unpacked bytes of all files, by the headers. */
  readonly totalBytes: number;
}

const FLAG_ENCRYPTED = 0x1;
const FLAG_DESCRIPTOR = 0x8;
const FLAG_STRONG_ENCRYPTION = 0x40;
const FLAG_MASKED_HEADERS = 0x2000;
const ENCRYPTED = FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION | FLAG_MASKED_HEADERS;
const UNKNOWN_32 = 0xffffffff;
const TYPE_MASK = 0o170000;
const TYPE_FILE = 0o100000;
const TYPE_DIRECTORY = 0o040000;
const DOS_DIRECTORY = 0x10;
const ZIP64_FIELD = 1;
const UNICODE_PATH_FIELD = 0x7075;
/** The shortest data descriptor: CRC and two sizes, without a signature. */
const DESCRIPTOR_BYTES = 12;

interface Candidate {
  readonly entry: Entry;
  readonly name: string;
  readonly directory: boolean;
}

/**
 * Reads all headers of a zip and settles what it unpacks to.
 * @throws UnsafeArchiveError - an entry breaks a rule, or the archive a limit
 * @throws InvalidArchiveError - it has no entries, or headers that cannot be
 */
export async function planExtraction(zip: OpenZip, limits: ResolvedLimits, signal?: AbortSignal): Promise<ZipPlan> {
  checkEntryCount(zip.announcedEntries, limits, zip.path, '');
  const tree = createEntryTree();
  const candidates: Candidate[] = [];
  let totalBytes = 0;
  for await (const entry of zip.entries()) {
    signal?.throwIfAborted();
    const candidate = examine(zip.path, entry);
    const { name, directory } = candidate;
    const collision = tree.add(directory ? name.slice(0, -1) : name, directory);
    if (collision !== undefined) throw new UnsafeArchiveError(zip.path, name, 'duplicate', collision);
    checkEntryCount(tree.size, limits, zip.path, name);
    totalBytes += entry.uncompressedSize;
    checkUnpackedBytes(totalBytes, zip.bytes, limits, zip.path, name);
    candidates.push(candidate);
  }
  if (candidates.length === 0) throw new InvalidArchiveError(zip.path, 'it has no entries');
  const starts = await dataStarts(zip, candidates, signal);
  const files = candidates.flatMap(({ entry, name, directory }, index): PlannedFile[] =>
    directory
      ? []
      : [
          {
            name,
            method: entry.compressionMethod,
            compressedSize: entry.compressedSize,
            size: entry.uncompressedSize,
            crc32: entry.crc32,
            dataStart: starts[index] ?? 0,
            executable: isExecutable(entry),
          },
        ],
  );
  return { directories: tree.directories(), files, totalBytes };
}

/** The rules for one entry alone. */
function examine(archive: string, entry: Entry): Candidate {
  const name = decodeEntryName(entry.fileNameRaw);
  // Shown with replacement characters where it is not UTF-8.
  const shown = name ?? entry.fileNameRaw.toString('utf8');
  const refuse = (rule: 'name' | 'type' | 'header' | 'encrypted', problem: string): UnsafeArchiveError => new UnsafeArchiveError(archive, shown, rule, problem);
  if (name === undefined) throw refuse('name', 'its name is not UTF-8');
  const directory = name.endsWith('/');
  const problem = entryNameProblem(directory && name !== '/' ? name.slice(0, -1) : name);
  if (problem !== undefined) throw refuse('name', problem);
  if (hasOtherUnicodeName(entry, name)) throw refuse('header', 'its header and its Unicode path field give it two names');
  if ((entry.generalPurposeBitFlag & ENCRYPTED) !== 0) throw refuse('encrypted', 'it is encrypted');
  const type = modeOf(entry) & TYPE_MASK;
  if (type !== 0 && type !== TYPE_FILE && type !== TYPE_DIRECTORY) throw refuse('type', 'it is a symbolic link, a device or the like; packages hold files and directories only');
  if (!directory && (type === TYPE_DIRECTORY || (type === 0 && (entry.externalFileAttributes & DOS_DIRECTORY) !== 0))) {
    throw refuse('type', 'its attributes say directory, and its name says file');
  }
  if (directory && entry.uncompressedSize !== 0) throw new InvalidArchiveError(archive, 'it is a directory with content', name);
  if (!isReadableMethod(entry.compressionMethod)) {
    throw new InvalidArchiveError(archive, `it is compressed by method ${entry.compressionMethod}; only stored and deflated entries can be read`, name);
  }
  return { entry, name, directory };
}

/** Info-ZIP's extra field for a name in UTF-8, which some tools follow and others do not. */
function hasOtherUnicodeName(entry: Entry, name: string): boolean {
  if (!entry.extraFields.some((field) => field.id === UNICODE_PATH_FIELD)) return false;
  return getFileNameLowLevel(0x800, entry.fileNameRaw, entry.extraFields, true) !== name;
}

function modeOf(entry: Entry): number {
  return entry.externalFileAttributes >>> 16;
}

/** The Unix mode counts wherever one was written: as a file's type shows, or the system that made the entry (Unix, macOS). */
function isExecutable(entry: Entry): boolean {
  const mode = modeOf(entry);
  const madeBy = entry.versionMadeBy >>> 8;
  return (mode & 0o111) !== 0 && ((mode & TYPE_MASK) === TYPE_FILE || madeBy === 3 || madeBy === 19);
}

/**
 * Where each entry's data begins. Local headers are read in the order of the file: they have to agree with the central
 * ones, and no entry may reach into the next (so that no byte is unpacked twice) or begin behind bytes that belong to none.
 */
async function dataStarts(zip: OpenZip, candidates: readonly Candidate[], signal: AbortSignal | undefined): Promise<number[]> {
  const starts = new Array<number>(candidates.length);
  const order = candidates.map((candidate, index) => ({ ...candidate, index })).sort((a, b) => a.entry.relativeOffsetOfLocalHeader - b.entry.relativeOffsetOfLocalHeader);
  let end = 0;
  for (const { entry, name, index } of order) {
    signal?.throwIfAborted();
    const offset = entry.relativeOffsetOfLocalHeader;
    if (offset < end) throw new UnsafeArchiveError(zip.path, name, 'overlap', 'it shares bytes with another entry');
    if (end === 0 && offset !== 0) throw new InvalidArchiveError(zip.path, `${offset} bytes stand before its first entry`);
    const local = await localHeader(zip, entry, name);
    const difference = headerDifference(entry, local);
    if (difference !== undefined) throw new UnsafeArchiveError(zip.path, name, 'header', `its local and central headers have different ${difference}`);
    starts[index] = local.fileDataStart;
    end = local.fileDataStart + entry.compressedSize + ((local.generalPurposeBitFlag & FLAG_DESCRIPTOR) === 0 ? 0 : DESCRIPTOR_BYTES);
    if (end > zip.directoryStart) throw new UnsafeArchiveError(zip.path, name, 'overlap', 'it reaches into the central directory');
  }
  return starts;
}

async function localHeader(zip: OpenZip, entry: Entry, name: string): Promise<LocalFileHeader> {
  try {
    return await zip.file.readLocalFileHeaderPromise(entry);
  } catch (error) {
    throw archiveError(error, zip.path, name);
  }
}

/** What the two headers disagree on. Behind a data descriptor flag the local header may leave sizes and CRC at zero. */
function headerDifference(entry: Entry, local: LocalFileHeader): string | undefined {
  if (!local.fileName.equals(entry.fileNameRaw)) return 'names';
  if (local.compressionMethod !== entry.compressionMethod) return 'compression methods';
  if ((local.generalPurposeBitFlag & ENCRYPTED) !== 0) return 'encryption flags';
  const { size, compressedSize } = localSizes(local);
  const later = (local.generalPurposeBitFlag & FLAG_DESCRIPTOR) !== 0;
  const agree = (there: number, central: number): boolean => there === central || (later && (there === 0 || there === UNKNOWN_32));
  if (!agree(local.crc32, entry.crc32)) return 'CRCs';
  if (!agree(size, entry.uncompressedSize) || !agree(compressedSize, entry.compressedSize)) return 'sizes';
  return undefined;
}

/** The sizes of a local header, from its zip64 field where they stand there. A malformed field leaves them unknown, which agrees with nothing. */
function localSizes(local: LocalFileHeader): { readonly size: number; readonly compressedSize: number } {
  const { uncompressedSize: size, compressedSize } = local;
  if (size !== UNKNOWN_32 && compressedSize !== UNKNOWN_32) return { size, compressedSize };
  const values = zip64Values(local.extraField);
  return {
    size: size === UNKNOWN_32 ? (values.shift() ?? size) : size,
    compressedSize: compressedSize === UNKNOWN_32 ? (values.shift() ?? compressedSize) : compressedSize,
  };
}

function zip64Values(extra: Buffer): number[] {
  try {
    const data = parseExtraFields(extra).find((field) => field.id === ZIP64_FIELD)?.data ?? Buffer.alloc(0);
    return Array.from({ length: Math.floor(data.length / 8) }, (_, index) => Number(data.readBigUInt64LE(index * 8)));
  } catch {
    return [];
  }
}
