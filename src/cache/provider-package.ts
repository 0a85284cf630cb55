/** What the cache hands out. Types, and the one method that a package has. */
import { packagePath, type Platform, type ProviderAddress, type Version } from '../layout/index.ts';
import { linkPackage, type LinkOptions } from './link.ts';
import type { Pin } from './pins.ts';
import type { EntryRecord, Provenance } from './record-format.ts';

/**
 * How the package came to be there: `'hit'`: it was there; `'joined'`: another call or process was at it, and this
 * one waited; `'installed'`: this call fetched it; `'adopted'`: someone else's entry was there, and was proved to be
 * the package; `'repaired'`: an entry that was not the package was moved to the trash, and the package took its place.
 */
export type Outcome = 'hit' | 'joined' | 'installed' | 'adopted' | 'repaired';

/** A verified, unpacked provider package in the cache. Never write into it: other hosts are using it. */
export interface ProviderPackage extends PackageIdentity {
  /** Absolute path of the unpacked package, in the layout that `terraform` and `tofu` use. */
  readonly path: string;
  /** Absolute path of the plugin executable in it. */
  readonly executable: string;
  /** `h1:` of the unpacked files, and `zh:` of the zip where that was seen: what a dependency lock file holds. */
  readonly hashes: readonly string[];
  /**
   * What a dependency lock file should hold for this version, sorted: {@link hashes}; `zh:` of every platform's zip where the registry's
   * checksums were read; what the registry itself says of the packages in them; all that a mirror lists, where it is trusted for that. Kept
   * with the package, so that a hit knows it without the network. No more than `hashes` for what other programs, or older
   * releases of this one, put there.
   */
  readonly lockHashes: readonly string[];
  /** What was, and what was not verified. */
  readonly provenance: Provenance;
  /** How it came to be there, as seen by this call. */
  readonly outcome: Outcome;
  /** Keeps the package from being pruned until it is released; present when `pin: true` was asked for. */
  readonly pin: Pin | undefined;
  /**
   * Puts the package under `directory` (`.terraform/providers` of a working directory) as
   * `host/namespace/type/version/os_arch`, and answers that path. What is there and is not the package is replaced.
   *
   * @throws InvalidOptionError when the directory is the cache's own, or leads there through a symlink.
   * @throws FileSystemError when the directory cannot be written.
   */
  linkInto(directory: string, options?: LinkOptions): Promise<string>;
}

/** Names one package: what a caller asked for, with everything made exact. */
export interface PackageIdentity {
  /** The provider. */
  readonly address: ProviderAddress;
  /** Its exact version. */
  readonly version: Version;
  /** The platform that it is for. */
  readonly platform: Platform;
}

/** The package's path below `providers/`, and its name in messages. */
export function identityPath({ address, version, platform }: PackageIdentity): string {
  return packagePath(address, version, platform);
}

/** All hashes that a record knows. */
export function recordHashes(record: EntryRecord): string[] {
  return record.zh === undefined ? [record.h1] : [record.h1, record.zh];
}

/** The package as it is handed out. */
export function providerPackage(identity: PackageIdentity, path: string, record: EntryRecord, outcome: Outcome, pin?: Pin): ProviderPackage {
  const hashes = recordHashes(record);
  const [address, version] = [String(identity.address), String(identity.version)];
  return {
    ...identity,
    path,
    executable: `${path}/${record.executable.name}`,
    hashes,
    lockHashes: record.lockHashes ?? [...hashes].sort(),
    provenance: record.provenance,
    outcome,
    pin,
    linkInto: (directory, options) => linkPackage({ source: path, relative: identityPath(identity), h1: record.h1, address, version }, directory, options),
  };
}
