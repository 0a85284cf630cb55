/** What a caller asks for, made exact: spellings, defaults, and constraints against the versions that there are. */
import { InvalidOptionError, OfflineError, ReadOnlyError, VersionNotFoundError } from '../errors.ts';
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

/** Where versions come from: the registry, or the cache itself. */
export interface VersionSource {
  /** What forbids to ask anything but the cache, if something does. */
  readonly limitedBy: 'offline' | 'readOnly' | undefined;
  versions(address: ProviderAddress): Promise<readonly Version[]>;
}

/**
 * Decides on a version.
 *
 * @throws VersionNotFoundError when none matches; OfflineError, ReadOnlyError when none in the cache does, and only that may be asked.
 */
export async function resolveRequest(request: ParsedRequest, source: VersionSource): Promise<PackageIdentity> {
  const { address, version, platform } = request;
  if (!isConstraints(version)) return { address, version, platform };
  const available = await source.versions(address);
  const newest = newestIdentity(request, available);
  if (newest !== undefined) return newest;
  const missing = `${String(address)} ${String(version)} ${String(platform)}`;
  if (source.limitedBy === 'readOnly') throw new ReadOnlyError(missing);
  if (source.limitedBy === 'offline') throw new OfflineError(missing);
  throw new VersionNotFoundError(String(address), String(version), available.slice(-10).reverse().map(String));
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
