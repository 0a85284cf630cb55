/**
 * A package as a mirror offers it, into private staging. A mirror's hashes are enforced; no signature is looked for, as in the
 * reference clients. A mirror's directory may change at any moment: whatever lies there is copied first, and only the copy is hashed.
 */
import type { FileHandle } from 'node:fs/promises';
import { copyTree } from '../archive/index.ts';
import type { OpenFile } from '../atomic/index.ts';
import { openToRead } from '../atomic/open-to-read.ts';
import { redactUrl } from '../diagnostics.ts';
import { HashMismatchError, InvalidArchiveError, PlatformNotSupportedError, SourceUnavailableError, UnsafeArchiveError, type SourceDescription } from '../errors.ts';
import { sourceName } from '../errors/sources.ts';
import { BLOCK_BYTES, DownloadFile } from '../http/download-file.ts';
import { isPluginExecutable } from '../layout/index.ts';
import { isGone, unavailable } from '../registry/sources/filesystem-mirror.ts';
import type { ArchiveFileOffer, ArchiveUrlOffer, DirectoryOffer } from '../registry/sources/source.ts';
import { hashZipContents, matchesExpected, packageHashFromFiles } from '../verify/index.ts';
import { identityPath, type PackageIdentity } from './provider-package.ts';
import type { StageOptions, StagingPaths, UnpackedPackage } from './staging-types.ts';
import { discard, largestZip, namedAfter, unpackZip } from './unpack-staged.ts';

/** Nobody looks for one: the mirror is trusted because it was configured. */
const UNSIGNED = { status: 'not-checked' } as const;

/**
 * A zip of a network mirror.
 * @throws HashMismatchError - it has none of the hashes that the mirror lists
 */
export async function stageFromMirrorUrl(identity: PackageIdentity, offer: ArchiveUrlOffer, paths: StagingPaths, options: StageOptions): Promise<UnpackedPackage> {
  const name = identityPath(identity);
  const downloaded = await offer.download(paths.zip, {
    maxBytes: largestZip(options.limits),
    expectedSha256: listedDigest(offer),
    partial: options.partials,
    signal: options.signal,
    onProgress: ({ receivedBytes, totalBytes }) => {
      options.report({ phase: 'downloading', package: name, receivedBytes, totalBytes });
    },
  });
  try {
    options.report({ phase: 'verifying', package: name });
    const zh = `zh:${downloaded.sha256}`;
    // Where only the zip's own hash could match, nothing is unpacked for a mirror that lies.
    if (offer.hashes.length > 0 && matchesExpected(offer.hashes, [zh]) === 'mismatch') throw mirrorLies(offer, [zh]);
    const files = await unpackZip(identity, downloaded.file, paths.directory, options);
    if (offer.hashes.length > 0) await assertListed(offer, zh, packageHashFromFiles(files), paths.zip, options.signal);
    return {
      files,
      zh,
      provenance: {
        provedBy: 'archive',
        url: redactUrl(downloaded.finalUrl),
        archiveBytes: downloaded.bytes,
        checksum: offer.hashes.length > 0 ? 'mirror' : 'not-checked',
        signature: UNSIGNED,
      },
      otherHashes: offer.trustedHashes,
    };
  } finally {
    await discard(downloaded.file);
  }
}

/** The zip's SHA-256, where the mirror lists exactly one. */
function listedDigest({ hashes }: ArchiveUrlOffer): string | undefined {
  const [first, ...more] = hashes.filter((hash) => /^zh:[0-9a-f]{64}$/u.test(hash));
  return more.length > 0 ? undefined : first?.slice('zh:'.length);
}

async function assertListed(offer: ArchiveUrlOffer, zh: string, h1: string, zip: string, signal: AbortSignal): Promise<void> {
  if (matchesExpected(offer.hashes, [h1, zh]) === 'match') return;
  // The reference hashes the archive: one with directory entries has another h1 than what it unpacks to.
  const ofArchive = await hashZipContents(zip, { signal });
  if (matchesExpected(offer.hashes, [ofArchive]) !== 'match') throw mirrorLies(offer, [h1, zh]);
}

function mirrorLies(offer: ArchiveUrlOffer, actual: readonly string[]): HashMismatchError {
  const advice = `that is what ${sourceName(offer.source)} lists for it: the mirror is out of step with itself, or somebody tampers with it. Nothing was installed`;
  return new HashMismatchError(offer.url, offer.hashes, actual, advice);
}

/** A zip of a filesystem mirror. Nothing there says what hash it should have. */
export async function stageFromMirrorFile(identity: PackageIdentity, offer: ArchiveFileOffer, paths: StagingPaths, options: StageOptions): Promise<UnpackedPackage> {
  const copied = await copyArchive(identity, offer, paths.zip, options);
  try {
    return {
      files: await unpackZip(identity, copied.file, paths.directory, options),
      zh: `zh:${copied.sha256}`,
      provenance: { provedBy: 'archive', url: undefined, archiveBytes: copied.bytes, checksum: 'not-checked', signature: UNSIGNED },
      otherHashes: [],
    };
  } finally {
    await discard(copied.file);
  }
}

/** An unpacked package of a filesystem mirror, copied under the rules of archives. */
export async function stageFromMirrorDirectory(identity: PackageIdentity, offer: DirectoryOffer, paths: StagingPaths, options: StageOptions): Promise<UnpackedPackage> {
  const name = identityPath(identity);
  const files = await copyTree(offer.path, paths.directory, {
    limits: options.limits,
    signal: options.signal,
    isExecutable: (file) => isPluginExecutable(identity.address.type, file),
    sourceError: (error) => mirrorError(identity, offer.source, error),
    onProgress: ({ writtenBytes, totalBytes }) => {
      options.report({ phase: 'unpacking', package: name, writtenBytes, totalBytes });
    },
  }).catch((error: unknown) => {
    throw namedAfter(name, error);
  });
  return { files, zh: undefined, provenance: { provedBy: 'directory', url: undefined, archiveBytes: undefined, checksum: 'not-checked', signature: UNSIGNED }, otherHashes: [] };
}

/** What was offered a moment ago and is gone is not there, and the next source may have it. */
function mirrorError({ address, version, platform }: PackageIdentity, source: SourceDescription, error: unknown): Error {
  return isGone(error) ? new PlatformNotSupportedError(String(address), String(version), String(platform), error, sourceName(source)) : unavailable(source, error);
}

async function copyArchive(identity: PackageIdentity, offer: ArchiveFileOffer, path: string, options: StageOptions): Promise<{ readonly bytes: number; readonly sha256: string; readonly file: OpenFile }> {
  const read = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw mirrorError(identity, offer.source, error);
    }
  };
  const name = identityPath(identity);
  const source = await read(openToRead(offer.path));
  try {
    const before = await read(source.stat());
    if (!before.isFile()) throw new SourceUnavailableError(offer.source, `${offer.path} is no regular file`);
    const limit = largestZip(options.limits);
    if (before.size > limit) throw new UnsafeArchiveError(name, '', 'bytes', `the zip has ${before.size} bytes, and ${limit} are the most; raise archiveLimits.bytes if that is right`);
    const target = await DownloadFile.create(path);
    try {
      await target.begin(() => undefined);
      await copyBytes(source, before.size, target, read, options, name);
      const after = await read(source.stat());
      if (target.bytes !== before.size || after.size !== before.size || after.mtimeMs !== before.mtimeMs) {
        throw new InvalidArchiveError(name, `somebody changed ${offer.path} while it was copied; try again when they are done`);
      }
      const bytes = target.bytes;
      const sha256 = await target.finish();
      return { bytes, sha256, file: target.openFile };
    } catch (error) {
      await target.abandon();
      throw error;
    }
  } finally {
    await source.close().catch(() => undefined);
  }
}

async function copyBytes(source: FileHandle, bytes: number, target: DownloadFile, read: <T>(work: Promise<T>) => Promise<T>, { report, signal }: StageOptions, name: string): Promise<void> {
  const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  while (target.bytes < bytes) {
    signal.throwIfAborted();
    const { bytesRead } = await read(source.read(buffer, 0, Math.min(BLOCK_BYTES, bytes - target.bytes), target.bytes));
    if (bytesRead === 0) return;
    await target.add(buffer.subarray(0, bytesRead));
    report({ phase: 'downloading', package: name, receivedBytes: target.bytes, totalBytes: bytes });
  }
}
