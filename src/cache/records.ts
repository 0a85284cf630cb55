/**
 * Records: what this library knows about an entry, kept beside the tree that other tools walk, never in it.
 * A record is written once, under a name of its own, before its entry is published, and is never replaced:
 * replacing a file that another host has read can stall for a lease when that host is gone (13 s measured).
 *
 * The name carries the key of the package and the binding to the entry (inode and mtime of its directory), so
 * that a hit finds its record with one open, and a record can never speak for an entry that came after it.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree, uniqueName, writeFileAtomic } from '../atomic/index.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { parseRecord, serializeRecord, type EntryRecord } from './record-format.ts';

/** What a record's entry looks like from outside, without reading its bytes. All of it is the same on every host. */
export interface EntryBinding {
  /** Inode number of the entry's directory. */
  readonly inode: bigint;
  /** Its mtime in nanoseconds. */
  readonly mtimeNs: bigint;
}

/** A record with the name of its file. */
export interface StoredRecord {
  readonly file: string;
  readonly record: EntryRecord;
}

/** A name for everything that belongs to one package: short enough for any file system, whatever the address. */
export function packageKey(packagePath: string): string {
  return createHash('sha256').update(packagePath).digest('hex').slice(0, 32);
}

/** The name of the record that is bound to an entry which looks like `binding`. */
export function recordFile(packagePath: string, binding: EntryBinding): string {
  return `${packageKey(packagePath)}.${binding.inode.toString(36)}-${binding.mtimeNs.toString(36)}.json`;
}

/**
 * Writes the record of an entry that is still staged, durably, and answers its file name. Nobody else can be writing this name, so whatever stands
 * there is a leftover: a rename replaces it, which takes three round trips less than the link that would keep it.
 */
export async function writeFirstRecord(directory: string, binding: EntryBinding, record: EntryRecord): Promise<string> {
  const file = recordFile(record.package, binding);
  await writeFileAtomic(join(directory, file), serializeRecord(record), { mode: 0o644 });
  return file;
}

/** Writes the record of an entry that looks like `binding`, durably. One that is there and can be read stays. Answers its file name. */
export async function writeRecord(directory: string, binding: EntryBinding, record: EntryRecord): Promise<string> {
  const file = recordFile(record.package, binding);
  const write = (): Promise<{ readonly published: boolean }> => writeFileAtomic(join(directory, file), serializeRecord(record), { ifExists: 'keep', mode: 0o644 });
  const { published } = await write();
  if (!published && (await readRecordFile(directory, file)) === undefined) {
    // Whatever it is that took the place, a directory too.
    await removeTree(join(directory, file));
    await write();
  }
  return file;
}

/**
 * Gives an entry a record that knows more, or better, than those it has (a signature was checked since, or its executable was written
 * in place), under the same name where need be. At every moment between the steps there is a record of the entry's hash, so that a
 * process which looks meanwhile binds it anew by itself.
 */
export async function strengthenRecord(directory: string, binding: EntryBinding, record: EntryRecord, weaker: readonly string[]): Promise<string> {
  const spare = `${packageKey(record.package)}.${uniqueName()}.json`;
  await writeFileAtomic(join(directory, spare), serializeRecord(record), { ifExists: 'keep', mode: 0o644 });
  await removeRecords(directory, weaker);
  const file = await writeRecord(directory, binding, record);
  await removeRecords(directory, [spare]);
  return file;
}

/** The record that is bound to an entry which looks like `binding`; `undefined` where there is none or it is unreadable. */
export async function readBoundRecord(directory: string, packagePath: string, binding: EntryBinding): Promise<StoredRecord | undefined> {
  return readRecord(directory, recordFile(packagePath, binding), packagePath);
}

/** All records of a package, whatever they are bound to. */
export async function readAllRecords(directory: string, packagePath: string): Promise<StoredRecord[]> {
  const prefix = `${packageKey(packagePath)}.`;
  const names = await readdir(directory).catch((error: unknown) => {
    if (hasSystemError(error, 'ENOENT')) return [];
    throw fileSystemError(error, 'list the records in', directory);
  });
  const found = await Promise.all(
    names.filter((name) => name.startsWith(prefix) && name.endsWith('.json')).map((name) => readRecord(directory, name, packagePath)),
  );
  return found.filter((stored) => stored !== undefined);
}

/** Removes records that speak for nothing any more. One that another process has removed already is no fault. */
export async function removeRecords(directory: string, files: Iterable<string>): Promise<void> {
  for (const file of files) {
    await unlink(join(directory, file)).catch((error: unknown) => {
      if (!hasSystemError(error, 'ENOENT', 'EACCES', 'EPERM', 'EROFS', 'EISDIR')) throw fileSystemError(error, 'remove the record', join(directory, file));
    });
  }
}

/** Nothing but a file is a record: no link is followed, and a FIFO does not hold the look-up up for ever. */
const READING = constants.O_RDONLY | (process.platform === 'win32' ? 0 : constants.O_NOFOLLOW | constants.O_NONBLOCK);

/** Records are a kilobyte; what is larger was not written here. */
const LARGEST_RECORD = 64 * 1024;

async function readRecord(directory: string, file: string, packagePath: string): Promise<StoredRecord | undefined> {
  const stored = await readRecordFile(directory, file);
  // The name is a hash: the path inside decides.
  return stored?.record.package === packagePath ? stored : undefined;
}

/** Reads one record by the name of its file; `undefined` where there is none or it is unreadable. */
export async function readRecordFile(directory: string, file: string): Promise<StoredRecord | undefined> {
  // open, read, close: readFile would add a stat, and a first hit has six calls in all.
  const path = join(directory, file);
  let handle;
  try {
    handle = await open(path, READING);
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'EACCES', 'EPERM', 'ESTALE', 'ELOOP', 'ENXIO', 'ENOTDIR')) return undefined;
    throw fileSystemError(error, 'read the record', path);
  }
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(LARGEST_RECORD), 0, LARGEST_RECORD, 0);
    const record = parseRecord(buffer.toString('utf8', 0, bytesRead));
    return record === undefined ? undefined : { file, record };
  } catch (error) {
    if (hasSystemError(error, 'EISDIR', 'ESPIPE', 'EAGAIN', 'ESTALE')) return undefined;
    throw fileSystemError(error, 'read the record', path);
  } finally {
    await handle.close();
  }
}
