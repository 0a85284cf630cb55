/** What one source of packages is asked, and what it answers. Types only. */
import type { DownloadOptions, OpenDownload } from '../../http/index.ts';
import type { ProviderAddress } from '../../layout/index.ts';
import type { SourceDescription } from '../../errors.ts';
import type { PackageMetadata, PackageRequest } from '../package-metadata.ts';
import type { VersionList } from '../version-list.ts';

/** Options of a question. */
export interface SourceCallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Options of the question for versions. */
export interface SourceVersionsOptions extends SourceCallOptions {
  /** Asks also where a list that is kept is young enough. */
  readonly revalidate?: boolean | undefined;
}

/** One source. Calls may run at once. */
export interface PackageSource {
  /**
   * All versions of a provider.
   * @throws ProviderNotFoundError - it has none
   */
  versions(address: ProviderAddress, options: SourceVersionsOptions): Promise<VersionList>;
  /**
   * How it would deliver a package.
   * @throws ProviderNotFoundError, PlatformNotSupportedError - it has no such package
   */
  offer(wanted: PackageRequest, options: SourceCallOptions): Promise<PackageOffer>;
}

/** A package as its registry offers it, with checksums and perhaps a signature to check. */
export interface RegistryOffer {
  readonly kind: 'registry';
  readonly source: SourceDescription;
  readonly metadata: PackageMetadata;
}

/** A zip that a mirror offers at a URL. */
export interface ArchiveUrlOffer {
  readonly kind: 'archive-url';
  readonly source: SourceDescription;
  /** The URL, as it may stand in messages. */
  readonly url: string;
  /** What the mirror says of the package: of those with a scheme that is known here, one has to match. Empty: it says nothing. */
  readonly hashes: readonly string[];
  /** What a lock file may hold beside what is seen of the package itself. */
  readonly trustedHashes: readonly string[];
  /** Downloads the zip into a new file, which stays open. */
  download(path: string, options: DownloadOptions): Promise<OpenDownload>;
}

/** A zip in a mirror's directory. It is read once, into a copy of the reader's own. */
export interface ArchiveFileOffer {
  readonly kind: 'archive-file';
  readonly source: SourceDescription;
  readonly path: string;
}

/** An unpacked package in a mirror's directory. */
export interface DirectoryOffer {
  readonly kind: 'directory';
  readonly source: SourceDescription;
  readonly path: string;
}

/** How a package would be delivered. */
export type PackageOffer = RegistryOffer | ArchiveUrlOffer | ArchiveFileOffer | DirectoryOffer;
