/**
 * The map of all platforms' packages that OpenTofu's registry adds to a package's metadata since 1.12, checked against
 * the package in hand (`registryPackageAuthentication`). Pure.
 */
import { RegistryResponseError } from '../errors.ts';

/** What the registry says of one platform's package. */
export interface ReportedPackage {
  /** Hashes with their schemes, as sent. */
  readonly hashes: readonly string[];
  /** The size of the zip in bytes. */
  readonly size: number;
}

/** What {@link checkRegistryPackages} compares. */
export interface RegistryPackagesCheck {
  /** By `os_arch`; absent or empty, there is nothing to check. */
  readonly packages: ReadonlyMap<string, ReportedPackage> | undefined;
  /** The platform of the package in hand, `os_arch`. */
  readonly platform: string;
  /** The `shasum` of the package's metadata, 64 hex digits. */
  readonly shasum: string;
  /** The length of the zip in bytes, counted. */
  readonly archiveBytes: number;
  /** Where the metadata came from, without secrets; for messages. */
  readonly url?: string | undefined;
}

/**
 * The hashes that the registry reports, of all platforms; empty when it reports none. They are the registry's word, and
 * no signer's.
 * @throws RegistryResponseError - the map lacks this platform, or contradicts the package in hand
 */
export function checkRegistryPackages(check: RegistryPackagesCheck): string[] {
  const { packages, platform, shasum, archiveBytes } = check;
  if (packages === undefined || packages.size === 0) return [];
  const field = `packages.${platform}`;
  const refuse = (name: string, problem: string): RegistryResponseError => new RegistryResponseError(check.url ?? 'The registry', name, problem);
  const own = packages.get(platform);
  if (own === undefined) throw refuse(field, `the platform is missing, only ${[...packages.keys()].join(', ')} ${packages.size === 1 ? 'is' : 'are'} there`);
  if (!Number.isSafeInteger(own.size) || own.size <= 0) throw refuse(`${field}.package_size`, `${own.size} is no size`);
  if (own.size !== archiveBytes) throw refuse(`${field}.package_size`, `it says ${own.size} bytes, and the package has ${archiveBytes}`);
  // Compared as text, so an upper-case zh is refused, as in the reference.
  if (!own.hashes.includes(`zh:${shasum}`)) throw refuse(`${field}.hashes`, `none is zh:${shasum}, the checksum that the same answer promises`);
  return [...packages.values()].flatMap(({ hashes }) => hashes);
}
