/**
 * One package from its registry into private staging: downloaded, verified, unpacked, hashed and made durable. Nothing
 * here is visible to anyone; whoever publishes it needs to check nothing more.
 */
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_ARCHIVE_LIMITS, extractZip, type ArchiveLimits, type ExtractedFile } from '../archive/index.ts';
import { redactUrl } from '../diagnostics.ts';
import { ChecksumMismatchError, HashMismatchError, InvalidArchiveError, SignatureInvalidError, UnsafeArchiveError } from '../errors.ts';
import { isPluginExecutable } from '../layout/index.ts';
import type { OpenFile } from '../atomic/index.ts';
import type { OpenDownload, PackageMetadata, RegistryClient } from '../registry/index.ts';
import { checkRegistryPackages, checksumFor, matchesExpected, packageHashFromFiles, parseChecksums } from '../verify/index.ts';
import { fileSystemError } from '../system-errors.ts';
import type { SignatureThread } from '../verify/signature-thread.ts';
import { describeExecutable } from './entry.ts';
import type { ProgressListener } from './progress.ts';
import { identityPath, type PackageIdentity } from './provider-package.ts';
import type { EntryRecord, Provenance, SignatureProvenance } from './record-format.ts';
import type { VerificationRules } from './verification-policy.ts';

/** What a package is fetched with. */
export interface StageOptions {
  readonly registry: RegistryClient;
  readonly rules: VerificationRules;
  readonly expectedHashes: readonly string[];
  readonly limits: ArchiveLimits | undefined;
  /** The thread that checks signatures; started with the first call. */
  readonly signatures: () => SignatureThread;
  readonly signal: AbortSignal;
  readonly report: ProgressListener;
}

/** A package in staging. */
export interface StagedPackage {
  /** The unpacked tree, in the staging directory. */
  readonly directory: string;
  /** Its record; the executable's times are those of the staged file, which a rename keeps. */
  readonly record: EntryRecord;
}

/**
 * Fetches, verifies and unpacks a package into `staging`.
 *
 * @throws ChecksumMismatchError, ChecksumsInvalidError, SignatureInvalidError when it is not what the registry signed
 * @throws HashMismatchError when it has none of the expected hashes
 * @throws UnsafeArchiveError, InvalidArchiveError, ExecutableMissingError when the zip is not fit to be unpacked
 */
export async function stagePackage(identity: PackageIdentity, staging: string, options: StageOptions): Promise<StagedPackage> {
  const { registry, rules, report, signal } = options;
  const name = identityPath(identity);
  // It loads while the registry answers and the zip arrives.
  if (rules.signature !== 'off') options.signatures();
  report({ phase: 'resolving', package: name });
  const metadata = await registry.package(identity.address, identity.version, identity.platform, { signal });
  const zips: OpenFile[] = [];
  try {
    const [downloaded, sums] = await bothOrNone(
      signal,
      async (either) => {
        const finished = await registry.downloadOpen(metadata, join(staging, 'package.zip'), {
          signal: either,
          // A zip is not larger than what it holds, but for its headers; without a limit a lying server could fill everybody's volume.
          maxBytes: largestZip(options.limits),
          onProgress: ({ receivedBytes, totalBytes }) => {
            report({ phase: 'downloading', package: name, receivedBytes, totalBytes });
          },
        });
        zips.push(finished.file);
        return finished;
      },
      (either) => checkSums(metadata, options, either),
    );
    return await unpackVerified(identity, metadata, { ...downloaded, sums }, join(staging, 'package'), options);
  } finally {
    for (const zip of zips) await discard(zip);
  }
}

type VerifiedDownload = OpenDownload & { readonly sums: Pick<Provenance, 'checksum' | 'signature'> };

async function unpackVerified(identity: PackageIdentity, metadata: PackageMetadata, downloaded: VerifiedDownload, directory: string, options: StageOptions): Promise<StagedPackage> {
  const name = identityPath(identity);
  options.report({ phase: 'verifying', package: name });
  const subject = redactUrl(downloaded.finalUrl);
  if (downloaded.sha256 !== metadata.shasum) {
    const detail = `${downloaded.bytes} bytes of ${downloaded.contentType ?? 'no content type'}`;
    throw new ChecksumMismatchError({ subject, expected: metadata.shasum, actual: downloaded.sha256, detail });
  }
  checkRegistryPackages({
    packages: metadata.packages,
    platform: String(metadata.platform),
    shasum: metadata.shasum,
    archiveBytes: downloaded.bytes,
  });

  const files = await unpack(identity, downloaded.file, directory, options);
  const h1 = packageHashFromFiles(files);
  const zh = `zh:${downloaded.sha256}`;
  if (options.expectedHashes.length > 0 && matchesExpected(options.expectedHashes, [h1, zh]) !== 'match') {
    throw new HashMismatchError(name, options.expectedHashes, [h1, zh]);
  }
  const provenance: Provenance = {
    provedBy: 'archive',
    url: subject,
    archiveBytes: downloaded.bytes,
    ...downloaded.sums,
    installedAt: new Date().toISOString(),
  };
  const topLevel = files.map((file) => file.name).filter((file) => !file.includes('/'));
  const executable = await describeExecutable(directory, topLevel, identity.address.type, name);
  const unpacked = { files: files.length, bytes: files.reduce((sum, file) => sum + file.bytes, 0) };
  return { directory, record: { package: name, h1, zh, unpacked, executable, provenance } };
}

/** Headers take up to some hundred bytes for each file. */
const HEADER_BYTES = 64 * 2 ** 20;

function largestZip(limits: ArchiveLimits | undefined): number {
  return (limits?.bytes ?? DEFAULT_ARCHIVE_LIMITS.bytes) + HEADER_BYTES;
}

/** The zip's checksum in the signed document; with `'off'` nobody asks for it. */
async function checkSums(metadata: PackageMetadata, { registry, rules, signatures }: StageOptions, signal: AbortSignal): Promise<Pick<Provenance, 'checksum' | 'signature'>> {
  if (rules.signature === 'off') return { checksum: 'registry', signature: { status: 'not-checked' } };
  const { sums, signature } = await registry.checksums(metadata, { signal });
  const signed = await checkSignature(metadata, sums, signature, rules, signatures);
  const promised = checksumFor(parseChecksums(new TextDecoder().decode(sums)), metadata.filename);
  if (promised !== metadata.shasum) {
    throw new ChecksumMismatchError({ subject: metadata.filename, expected: promised, actual: metadata.shasum, detail: 'the registry and its SHA256SUMS differ' });
  }
  return { checksum: 'sums', signature: signed };
}

async function checkSignature(metadata: PackageMetadata, sums: Uint8Array, signature: Uint8Array | undefined, rules: VerificationRules, signatures: () => SignatureThread): Promise<SignatureProvenance> {
  const keys = metadata.signingKeys.map((key) => key.asciiArmor);
  if (keys.length === 0) {
    // As OpenTofu: a registry that names no key offers no signature; one that names keys has to be signed by one of them.
    if (rules.signature === 'when-offered') return { status: 'not-offered' };
    throw new SignatureInvalidError('no-keys', `${metadata.address.hostname} names no signing key; set verification to 'when-offered' for it if that is as it should be`);
  }
  if (signature === undefined) throw new SignatureInvalidError('missing', `${redactUrl(metadata.signatureUrl ?? metadata.checksumsUrl)} holds no signature`);
  const { fingerprint, keyId, expired, signedBeforeExpiry } = await signatures().verify({ sums, signature, keys, expiredKeys: rules.expiredKeys });
  return { status: 'verified', fingerprint, keyId, expired, signedBeforeExpiry };
}

async function unpack(identity: PackageIdentity, archive: OpenFile, directory: string, { limits, signal, report }: StageOptions): Promise<ExtractedFile[]> {
  const name = identityPath(identity);
  return extractZip(archive, directory, {
    limits,
    signal,
    isExecutable: (name) => isPluginExecutable(identity.address.type, name),
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
async function discard({ path, handle }: OpenFile): Promise<void> {
  await handle.close().catch(() => undefined);
  await unlink(path).catch(() => undefined);
}

/** An archive's fault is told of the package: the path in staging is gone by the time that anyone reads of it. */
function namedAfter(name: string, error: unknown): unknown {
  if (error instanceof UnsafeArchiveError) return new UnsafeArchiveError(name, error.entry, error.rule, error.problem);
  if (error instanceof InvalidArchiveError) return new InvalidArchiveError(name, error.problem, error.entry, error.cause);
  return error;
}

/** Runs two things at once; when one fails the other is stopped and awaited, so that nothing is written afterwards. */
async function bothOrNone<A, B>(signal: AbortSignal, first: (signal: AbortSignal) => Promise<A>, second: (signal: AbortSignal) => Promise<B>): Promise<[A, B]> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const work: [Promise<A>, Promise<B>] = [first(either), second(either)];
  try {
    return await Promise.all(work);
  } catch (error) {
    stop.abort();
    await Promise.allSettled(work);
    throw error;
  }
}
