/** The zip of a package in private staging, from its verification to its removal, whoever offered it. */
import { unlink } from 'node:fs/promises';
import { DEFAULT_ARCHIVE_LIMITS, extractZip, type ArchiveLimits, type ExtractedFile } from '../archive/index.ts';
import type { OpenFile } from '../atomic/index.ts';
import { InvalidArchiveError, UnsafeArchiveError } from '../errors.ts';
import { isPluginExecutable } from '../layout/index.ts';
import { fileSystemError } from '../system-errors.ts';
import { identityPath, type PackageIdentity } from './provider-package.ts';
import type { StageOptions } from './staging-types.ts';

/** Headers take up to some hundred bytes for each file. */
const HEADER_BYTES = 64 * 2 ** 20;

/** A zip is not larger than what it holds, but for its headers; without a limit a lying server could fill everybody's volume. */
export function largestZip(limits: ArchiveLimits | undefined): number {
  return (limits?.bytes ?? DEFAULT_ARCHIVE_LIMITS.bytes) + HEADER_BYTES;
}

/** Unpacks the zip, which is in private staging and has been hashed there. */
export async function unpackZip(identity: PackageIdentity, archive: OpenFile, directory: string, { limits, signal, report }: StageOptions): Promise<ExtractedFile[]> {
  const name = identityPath(identity);
  return extractZip(archive, directory, {
    limits,
    signal,
    isExecutable: (file) => isPluginExecutable(identity.address.type, file),
    onProgress: ({ writtenBytes, totalBytes }) => {
      report({ phase: 'unpacking', package: name, writtenBytes, totalBytes });
    },
  }).catch(async (error: unknown) => {
    if (error instanceof InvalidArchiveError) await assertWritten(archive);
    throw namedAfter(name, error);
  });
}

/** Bytes that were hashed as they arrived and read back otherwise: a full network volume tells of it only when it is asked, and the archive is not to blame. */
async function assertWritten({ path, handle }: OpenFile): Promise<void> {
  try {
    await handle.datasync();
  } catch (error) {
    throw fileSystemError(error, 'write', path);
  }
}

/** The zip has served, and its space may be needed; if it cannot be removed now, it goes with its directory. */
export async function discard({ path, handle }: OpenFile): Promise<void> {
  await handle.close().catch(() => undefined);
  await unlink(path).catch(() => undefined);
}

/** An archive's fault is told of the package: the path in staging is gone by the time that anyone reads of it. */
export function namedAfter(name: string, error: unknown): unknown {
  if (error instanceof UnsafeArchiveError) return new UnsafeArchiveError(name, error.entry, error.rule, error.problem);
  if (error instanceof InvalidArchiveError) return new InvalidArchiveError(name, error.problem, error.entry, error.cause);
  return error;
}
