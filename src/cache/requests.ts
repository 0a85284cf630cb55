/** What a caller asks for, made exact: spellings, defaults, and constraints against the versions that there are. */
import { InvalidOptionError, OfflineError, ReadOnlyError, RwxCacheError, VersionNotFoundError } from '../errors.ts';
import {
  currentPlatform,
  exactVersion,
  newestMatching,
  parseConstraints,
  parsePlatform,
  parseProviderAddress,
  parseVersion,
  type Constraints,
  type Platform,
  type ProviderAddress,
  type Version,
} from '../layout/index.ts';
import { parseHash } from '../verify/package-hash.ts';
import type { PackageIdentity, ProviderPackage } from './provider-package.ts';

/** A request for one package. */
export interface ProviderRequest {
  /** `'hashicorp/null'`, `'registry.example.com/acme/thing'`, or a parsed address. */
  readonly source: string | ProviderAddress;
  /** An exact version (`'3.2.4'`), or constraints (`'~> 3.0'`), of which the newest match is taken. */
  readonly version: string | Version;
  /** `'linux_amd64'`; this machine's platform when left out. */
  readonly platform?: string | Platform | undefined;
}

/** A request whose version is still open. */
export interface ParsedRequest {
  readonly address: ProviderAddress;
  readonly version: Version | Constraints;
  readonly platform: Platform;
}

/**
 * Reads a request. What is parsed already is read again from its text: it becomes a path here, and an object of another making, or of
 * plain JavaScript, may say anything.
 *
 * @throws InvalidOptionError, InvalidProviderAddressError, InvalidVersionError, InvalidConstraintsError, InvalidPlatformError
 */
export function parseRequest(request: ProviderRequest, defaultHost: string | undefined): ParsedRequest {
  if (!isObject(request)) throw new InvalidOptionError('request', 'it is an object with source and version');
  const { source, version, platform } = request;
  if (typeof source !== 'string' && !isObject(source)) throw new InvalidOptionError('source', 'it is text, such as "hashicorp/null", or a parsed address');
  if (typeof version !== 'string' && !isObject(version)) throw new InvalidOptionError('version', 'it is text, such as "3.2.4" or "~> 3.0", or a parsed version');
  if (platform !== undefined && typeof platform !== 'string' && !isObject(platform)) throw new InvalidOptionError('platform', 'it is text, such as "linux_amd64", or a parsed platform');
  return {
    address: parseProviderAddress(String(source), { defaultHost }),
    version: typeof version === 'string' ? (exactVersion(version) ?? parseConstraints(version)) : parseVersion(String(version)),
    platform: platform === undefined ? currentPlatform() : parsePlatform(String(platform)),
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The exact package of a request; undefined when its version is constraints. */
export function exactIdentity({ address, version, platform }: ParsedRequest): PackageIdentity | undefined {
  return isConstraints(version) ? undefined : { address, version, platform };
}

/** The newest of the given versions that a request allows; undefined when none is. */
export function newestIdentity({ address, version, platform }: ParsedRequest, available: Iterable<Version>): PackageIdentity | undefined {
  if (!isConstraints(version)) return { address, version, platform };
  const newest = newestMatching(available, version);
  return newest === undefined ? undefined : { address, version: newest, platform };
}

/** The versions that a registry lists. */
export interface ListedVersions {
  readonly versions: readonly Version[];
  /** Whether the list is kept from an earlier answer. */
  readonly kept: boolean;
}

/** Where versions come from. */
export interface VersionSource {
  /** What forbids to ask anything but the cache, if something does. */
  readonly limitedBy: 'offline' | 'readOnly' | undefined;
  /** Those in the cache, for the platform, and those that can be installed without the network. */
  here(): Promise<{ readonly installed: readonly Version[]; readonly offered: readonly Version[] }>;
  /** Those of the sources; `revalidate` asks it even where a list is kept. Rejects with an OfflineError where none is kept and nobody may be asked. */
  listed(options?: { readonly revalidate: boolean }): Promise<ListedVersions>;
}

/**
 * Decides on a version.
 *
 * @throws VersionNotFoundError when none matches; OfflineError, ReadOnlyError when none in the cache does, and only that may be asked.
 */
export async function resolveRequest(request: ParsedRequest, source: VersionSource): Promise<PackageIdentity> {
  const { address, version, platform } = request;
  if (!isConstraints(version)) return { address, version, platform };
  if (source.limitedBy !== undefined) return resolveInCache(request, source, source.limitedBy);
  const first = await source.listed();
  const newest = newestIdentity(request, first.versions);
  if (newest !== undefined) return newest;
  // It may have been released since: what is missing is believed to the registry alone.
  const { versions } = first.kept ? await source.listed({ revalidate: true }) : first;
  const found = newestIdentity(request, versions);
  if (found !== undefined) return found;
  throw new VersionNotFoundError(String(address), String(version), versions.slice(-10).reverse().map(String));
}

/**
 * The newest that is here and in the list that was kept: what the registry has withdrawn is not taken while something else will do. What is
 * here and not in the list may as well be younger than the list, so it comes next.
 */
async function resolveInCache(request: ParsedRequest, source: VersionSource, limitedBy: 'offline' | 'readOnly'): Promise<PackageIdentity> {
  const { installed, offered } = await source.here();
  const listed = await keptList(source);
  const known = new Set([...listed.versions, ...offered].map(String));
  const here = [...installed, ...offered];
  const found = newestIdentity(request, here.filter((version) => known.has(String(version)))) ?? newestIdentity(request, here);
  if (found !== undefined) return found;
  const wanted = newestIdentity(request, listed.versions)?.version;
  const detail = listed.missing ?? (wanted === undefined ? 'no version in the list that is kept will do either' : `by the list that is kept it is version ${String(wanted)}`);
  const missing = `${String(request.address)} ${String(request.version)} ${String(request.platform)} (${detail})`;
  throw limitedBy === 'readOnly' ? new ReadOnlyError(missing) : new OfflineError(missing);
}

async function keptList(source: VersionSource): Promise<{ readonly versions: readonly Version[]; readonly missing?: string }> {
  try {
    return { versions: (await source.listed()).versions };
  } catch (error) {
    if (!(error instanceof RwxCacheError)) throw error;
    // A host without the service, a malformed setting: the packages that are here serve all the same.
    return { versions: [], missing: error instanceof OfflineError ? `${error.missing} is not kept either` : error.message };
  }
}

/**
 * Checks what a caller expects: a hash without a scheme would never match, and fail much later.
 *
 * @throws InvalidOptionError
 */
export function checkExpectedHashes(hashes: readonly string[]): void {
  const given: unknown = hashes;
  if (!Array.isArray(given) || given.some((hash) => typeof hash !== 'string')) throw new InvalidOptionError('expectedHashes', 'it is an array of hashes as text, such as "h1:…"');
  for (const hash of hashes) parseHash(hash);
}

function isConstraints(version: Version | Constraints): version is Constraints {
  return 'allows' in version;
}

/**
 * Checks a package that the cache has handed out: an object of whatever making.
 *
 * @throws InvalidOptionError
 */
export function checkSubject(subject: ProviderPackage): ProviderPackage {
  const given: unknown = subject;
  if (typeof given !== 'object' || given === null || !('hashes' in given)) {
    throw new InvalidOptionError('package', 'it is a package, as ensure, lookup and list answer it; for a request use ensure with pin: true');
  }
  return subject;
}
