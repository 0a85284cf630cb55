/**
 * Copying a directory that somebody else keeps into a private one, under the rules that hold for archives: the same names, modes and
 * limits, and nothing from outside of it. Only reads the source.
 */
import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir, realpath } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { sep } from 'node:path';
import { finishOrAbandon } from '../atomic/attempt.ts';
import { openToRead } from '../atomic/open-to-read.ts';
import { InvalidArchiveError, RwxCacheError, UnsafeArchiveError } from '../errors.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { makeDirectories, placeOf, prepareDestination, syncDirectories } from './destination.ts';
import { createEntryTree, decodeEntryName, entryNameProblem } from './entry-names.ts';
import { writeEntryFile } from './entry-writer.ts';
import type { ExtractedFile, ExtractOptions } from './extract-zip.ts';
import { checkEntryCount, checkUnpackedBytes, resolveLimits, type ResolvedLimits } from './limits.ts';
import { inParallel } from './parallel.ts';

/** Options of {@link copyTree}. */
export interface CopyTreeOptions extends ExtractOptions {
  /** Makes the error for a source that cannot be read, to tell it from a destination that cannot be written. Default: a `FileSystemError`. */
  readonly sourceError?: ((error: unknown) => Error) | undefined;
}

interface SourceFile {
  /** Below the root, with '/' between the segments. */
  readonly name: string;
  /** Where its bytes are: behind a link, if it is one. */
  readonly path: string;
  readonly bytes: number;
}

interface SourceTree {
  readonly files: readonly SourceFile[];
  /** Parents first. */
  readonly directories: readonly string[];
  readonly totalBytes: number;
  /** What each directory, the root (`''`) too, looked like from outside before it was read. */
  readonly looks: ReadonlyMap<string, string>;
}

/** Files copied at once, as many as are unpacked at once. */
const PARALLEL = 3;
const CHUNK_BYTES = 1024 * 1024;
/** A ratio is that of an archive; here each byte that is written is read. */
const NO_RATIO = Infinity;

/**
 * Copies what is in the directory `source` (which may be a symbolic link itself) into `destination`, as `extractZip` unpacks an
 * archive: into a directory that nobody else writes to, made where it is missing. Resolves with the files in the order of their
 * names; the hashes are those of the bytes that were written.
 *
 * A symbolic link to a file within `source` becomes a file with that file's content, which is what `h1:` hashes make of it. Files
 * become 0444, or 0555 where they were executable or `isExecutable` says so; directories 0755.
 *
 * @throws UnsafeArchiveError - a name breaks a rule; a link leads out, to a directory or nowhere; a device or the like; a limit
 * @throws InvalidArchiveError - somebody changed it meanwhile
 * @throws InvalidOptionError - the destination is not empty
 * @throws FileSystemError - the source cannot be read, or the destination not be written
 */
export async function copyTree(source: string, destination: string, options: CopyTreeOptions = {}): Promise<ExtractedFile[]> {
  options.signal?.throwIfAborted();
  return finishOrAbandon(copy(source, destination, options), options.signal);
}

async function copy(source: string, destination: string, options: CopyTreeOptions): Promise<ExtractedFile[]> {
  const { durable = true, signal, sourceError = (error: unknown) => fileSystemError(error, 'copy', source) } = options;
  const limits = resolveLimits(options.limits);
  const read = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof RwxCacheError || signal?.aborted === true) throw error;
      throw sourceError(error);
    }
  };
  const root = await read(() => realpath(source));
  const tree = await read(() => surveyTree(root, source, limits, signal));
  const device = await prepareDestination(destination);
  await makeDirectories(tree.directories, destination, signal);

  let writtenBytes = 0;
  const copied = new Array<ExtractedFile>(tree.files.length);
  await inParallel(
    tree.files.entries(),
    PARALLEL,
    async ([index, { name, path }], stop) => {
      const handle = await read(() => openToRead(path, { followLinks: false }));
      try {
        const before = await read(() => handle.stat());
        if (!before.isFile()) throw changed(source, name);
        const executable = (before.mode & 0o111) !== 0 || options.isExecutable?.(name) === true;
        const onWritten = (bytes: number): void => {
          writtenBytes += bytes;
          checkUnpackedBytes(writtenBytes, NO_RATIO, limits, source, name);
          options.onProgress?.({ entry: name, writtenBytes, totalBytes: tree.totalBytes });
        };
        const chunks = fileChunks(handle, before.size, (part) => read(part), () => changed(source, name));
        const sha256 = await writeEntryFile(placeOf(name, destination), chunks, { executable, durable, signal: stop, onWritten });
        if (lookOf(await read(() => handle.stat())) !== lookOf(before)) throw changed(source, name);
        copied[index] = { name, bytes: before.size, sha256, executable };
      } finally {
        await handle.close();
      }
    },
    signal,
  );
  // A file that was added, removed or replaced by another name shows in its directory.
  for (const [name, look] of tree.looks) {
    if (lookOf(await read(() => lstat(placeOf(name, root)))) !== look) throw changed(source, name);
  }
  if (durable) await syncDirectories(tree.directories, destination, device, signal);
  return copied;
}

/** Everything that there is to copy, checked by its names, types and sizes. */
async function surveyTree(root: string, shown: string, limits: ResolvedLimits, signal: AbortSignal | undefined): Promise<SourceTree> {
  const names = createEntryTree();
  const files: SourceFile[] = [];
  const looks = new Map<string, string>();
  const waiting = [''];
  let totalBytes = 0;
  for (const parent of waiting) {
    signal?.throwIfAborted();
    const directory = placeOf(parent, root);
    looks.set(parent, lookOf(await lstat(directory)));
    for (const entry of await readdir(directory, { withFileTypes: true, encoding: 'buffer' })) {
      signal?.throwIfAborted();
      const name = entryName(parent, entry, shown);
      const problem = names.add(name, entry.isDirectory());
      if (problem !== undefined) throw new UnsafeArchiveError(shown, name, 'duplicate', problem);
      checkEntryCount(names.size, limits, shown, name);
      if (entry.isDirectory()) {
        waiting.push(name);
        continue;
      }
      const path = await placeOfFile(entry, name, root, shown);
      const { size } = await lstat(path);
      totalBytes += size;
      checkUnpackedBytes(totalBytes, NO_RATIO, limits, shown, name);
      files.push({ name, path, bytes: size });
    }
  }
  files.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  return { files, directories: names.directories(), totalBytes, looks };
}

function entryName(parent: string, entry: Dirent<Buffer>, shown: string): string {
  const segment = decodeEntryName(entry.name);
  const name = `${parent === '' ? '' : `${parent}/`}${segment ?? entry.name.toString()}`;
  const problem = segment === undefined ? 'its name is not UTF-8' : entryNameProblem(name);
  if (problem !== undefined) throw new UnsafeArchiveError(shown, name, 'name', problem);
  return name;
}

/** Where the bytes of a file are: its own place, or, for a link, where that leads, if it leads to a file of the same package. */
async function placeOfFile(entry: Dirent<Buffer>, name: string, root: string, shown: string): Promise<string> {
  const path = placeOf(name, root);
  if (entry.isFile()) return path;
  const refuse = (problem: string): UnsafeArchiveError => new UnsafeArchiveError(shown, name, 'type', problem);
  if (!entry.isSymbolicLink()) throw refuse('it is a device or the like; packages hold files and directories only');
  try {
    const target = await realpath(path);
    if (!target.startsWith(`${root}${sep}`)) throw refuse('it is a symbolic link that leads out of the package');
    if (!(await lstat(target)).isFile()) throw refuse('it is a symbolic link to what is no file, which h1 hashes cannot express');
    return target;
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) throw refuse('it is a symbolic link that leads nowhere');
    throw error;
  }
}

/** The file's content, of exactly `bytes` bytes, in chunks. Each is a buffer of its own, since one is written while the next is read. */
async function* fileChunks(handle: FileHandle, bytes: number, read: <T>(work: () => Promise<T>) => Promise<T>, differs: () => Error): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes; ) {
    const length = Math.min(CHUNK_BYTES, bytes - at);
    const { buffer, bytesRead } = await read(() => handle.read(Buffer.allocUnsafe(length), 0, length, at));
    if (bytesRead === 0) throw differs();
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** What writing to it would change. Not the ctime: a hard link that somebody makes to it changes that, too. */
function lookOf({ ino, size, mtimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs}`;
}

function changed(source: string, name: string): InvalidArchiveError {
  return new InvalidArchiveError(source, 'somebody changed it while it was copied; try again when they are done', name === '' ? undefined : name);
}
