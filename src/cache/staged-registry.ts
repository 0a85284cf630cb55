/** A package as its registry offers it, into private staging: downloaded, verified by checksum and signature, and unpacked. */
import type { OpenFile } from '../atomic/index.ts';
import { redactUrl } from '../diagnostics.ts';
import { ChecksumMismatchError, SignatureInvalidError } from '../errors.ts';
import type { PackageMetadata } from '../registry/index.ts';
import { checkRegistryPackages, checksumFor, parseChecksums, signedHashes } from '../verify/index.ts';
import type { SignatureThread } from '../verify/signature-thread.ts';
import { identityPath, type PackageIdentity } from './provider-package.ts';
import type { Provenance, SignatureProvenance } from './record-format.ts';
import type { StageOptions, StagingPaths, UnpackedPackage } from './staging-types.ts';
import { discard, largestZip, unpackZip } from './unpack-staged.ts';
import type { VerificationRules } from './verification-policy.ts';

/** What the checksums document proves. */
interface CheckedSums extends Pick<Provenance, 'checksum' | 'signature'> {
  /** `zh:` of all platforms' zips; empty where nobody looked. */
  readonly hashes: readonly string[];
}

/**
 * @throws ChecksumMismatchError, ChecksumsInvalidError, SignatureInvalidError when it is not what the registry signed
 * @throws UnsafeArchiveError, InvalidArchiveError when the zip is not fit to be unpacked
 */
export async function stageFromRegistry(identity: PackageIdentity, metadata: PackageMetadata, paths: StagingPaths, options: StageOptions): Promise<UnpackedPackage> {
  const { registry, report, signal } = options;
  const name = identityPath(identity);
  const zips: OpenFile[] = [];
  try {
    const [downloaded, sums] = await bothOrNone(
      signal,
      async (either) => {
        const finished = await registry.downloadOpen(metadata, paths.zip, {
          signal: either,
          maxBytes: largestZip(options.limits),
          partial: options.partials,
          onProgress: ({ receivedBytes, totalBytes }) => {
            report({ phase: 'downloading', package: name, receivedBytes, totalBytes });
          },
        });
        zips.push(finished.file);
        return finished;
      },
      (either) => checkSums(metadata, options, either),
    );
    report({ phase: 'verifying', package: name });
    const url = redactUrl(downloaded.finalUrl);
    if (downloaded.sha256 !== metadata.shasum) {
      const detail = `${downloaded.bytes} bytes of ${downloaded.contentType ?? 'no content type'}`;
      throw new ChecksumMismatchError({ subject: url, expected: metadata.shasum, actual: downloaded.sha256, detail });
    }
    checkRegistryPackages({
      packages: metadata.packages,
      platform: String(metadata.platform),
      shasum: metadata.shasum,
      archiveBytes: downloaded.bytes,
    });
    const { hashes, ...provenance } = sums;
    return {
      files: await unpackZip(identity, downloaded.file, paths.directory, options),
      zh: `zh:${downloaded.sha256}`,
      provenance: { provedBy: 'archive', url, archiveBytes: downloaded.bytes, ...provenance },
      otherHashes: [...hashes, ...reportedHashes(metadata, hashes)],
    };
  } finally {
    for (const zip of zips) await discard(zip);
  }
}

/**
 * What the registry says of all platforms' packages beside the checksums. It is not signed: where the checksums were read, only a
 * package whose zip stands there counts.
 */
function reportedHashes({ packages }: PackageMetadata, signed: readonly string[]): string[] {
  return [...(packages?.values() ?? [])].filter(({ hashes }) => signed.length === 0 || hashes.some((hash) => signed.includes(hash))).flatMap(({ hashes }) => hashes);
}

/** The zip's checksum in the signed document; with `'off'` nobody asks for it. */
async function checkSums(metadata: PackageMetadata, { registry, rules, signatures }: StageOptions, signal: AbortSignal): Promise<CheckedSums> {
  if (rules.signature === 'off') return { checksum: 'registry', signature: { status: 'not-checked' }, hashes: [] };
  const { sums, signature } = await registry.checksums(metadata, { signal });
  const signed = await checkSignature(metadata, sums, signature, rules, signatures);
  const text = new TextDecoder().decode(sums);
  const promised = checksumFor(parseChecksums(text), metadata.filename);
  if (promised !== metadata.shasum) {
    throw new ChecksumMismatchError({ subject: metadata.filename, expected: promised, actual: metadata.shasum, detail: 'the registry and its SHA256SUMS differ' });
  }
  return { checksum: 'sums', signature: signed, hashes: signedHashes(text) };
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
