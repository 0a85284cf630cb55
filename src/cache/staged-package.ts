/**
 * One package into private staging, from the first source that has it: fetched, verified, unpacked, hashed and made durable. Nothing
 * here is visible to anyone; whoever publishes it needs to check nothing more. What differs by source is in the files beside this one.
 */
import { join } from 'node:path';
import { HashMismatchError } from '../errors.ts';
import type { PackageOffer } from '../registry/sources/source.ts';
import { matchesExpected, packageHashFromFiles } from '../verify/index.ts';
import { describeExecutable } from './entry.ts';
import { identityPath, type PackageIdentity } from './provider-package.ts';
import type { EntryRecord } from './record-format.ts';
import { stageFromMirrorDirectory, stageFromMirrorFile, stageFromMirrorUrl } from './staged-mirror.ts';
import { stageFromRegistry } from './staged-registry.ts';
import type { StageOptions, StagingPaths, UnpackedPackage } from './staging-types.ts';

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
 * @throws NoSourceError, and what else the sources answer
 * @throws ChecksumMismatchError, ChecksumsInvalidError, SignatureInvalidError when it is not what the registry signed
 * @throws HashMismatchError when it has none of the expected hashes, or of those that its mirror lists
 * @throws UnsafeArchiveError, InvalidArchiveError, ExecutableMissingError when the zip or directory is not fit to be unpacked
 */
export async function stagePackage(identity: PackageIdentity, staging: string, options: StageOptions): Promise<StagedPackage> {
  const { sources, rules, report, signal } = options;
  const name = identityPath(identity);
  // It loads while the registry answers and the zip arrives.
  if (rules.signature !== 'off' && sources.beginsDirect(identity.address)) options.signatures();
  report({ phase: 'resolving', package: name });
  return sources.withOffer(identity, { signal }, async (offer, turn) => {
    // Of a source that broke off half-way something may be left, which goes with the whole.
    const suffix = turn === 0 ? '' : `-${turn}`;
    const paths = { zip: join(staging, `package${suffix}.zip`), directory: join(staging, `package${suffix}`) };
    const unpacked = await takeOffer(identity, offer, paths, options);
    return { directory: paths.directory, record: await describe(identity, offer, unpacked, paths.directory, options) };
  });
}

async function takeOffer(identity: PackageIdentity, offer: PackageOffer, paths: StagingPaths, options: StageOptions): Promise<UnpackedPackage> {
  switch (offer.kind) {
    case 'registry':
      return stageFromRegistry(identity, offer.metadata, paths, options);
    case 'archive-url':
      return stageFromMirrorUrl(identity, offer, paths, options);
    case 'archive-file':
      return stageFromMirrorFile(identity, offer, paths, options);
    case 'directory':
      return stageFromMirrorDirectory(identity, offer, paths, options);
  }
}

/** The record of what lies in staging, which must have one of the expected hashes. */
async function describe(identity: PackageIdentity, offer: PackageOffer, { files, zh, provenance, otherHashes }: UnpackedPackage, directory: string, { expectedHashes }: StageOptions): Promise<EntryRecord> {
  const name = identityPath(identity);
  const h1 = packageHashFromFiles(files);
  const hashes = zh === undefined ? [h1] : [h1, zh];
  if (expectedHashes.length > 0 && matchesExpected(expectedHashes, hashes) !== 'match') throw new HashMismatchError(name, expectedHashes, hashes);
  const topLevel = files.map((file) => file.name).filter((file) => !file.includes('/'));
  return {
    package: name,
    h1,
    zh,
    lockHashes: lockHashes(hashes, otherHashes),
    unpacked: { files: files.length, bytes: files.reduce((sum, file) => sum + file.bytes, 0) },
    executable: await describeExecutable(directory, topLevel, identity.address.type, name),
    provenance: { ...provenance, source: offer.source, installedAt: new Date().toISOString() },
  };
}

/** Far more than a release has packages; a list beyond that would make every hit read a long record. */
const MAX_LOCK_HASHES = 1000;

/** In the order of a lock file, each once, and only what a client can check. */
function lockHashes(own: readonly string[], others: readonly string[]): readonly string[] {
  const all = new Set([...own, ...others.filter((hash) => /^(?:h1:[A-Za-z0-9+/]{43}=|zh:[0-9a-f]{64})$/u.test(hash))]);
  return [...(all.size <= MAX_LOCK_HASHES ? all : own)].sort();
}
