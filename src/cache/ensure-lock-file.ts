/**
 * Everything that a dependency lock file names, in one call; and the hashes that were found out on the way, written back when that is asked for. The
 * format of the file is the business of `verify`, and how a package is had that of `ensureAll`.
 */
import { EnsureAllError, HashMismatchError, InvalidOptionError, type EnsureFailure } from '../errors.ts';
import { currentPlatform, parsePlatform, type Platform } from '../layout/index.ts';
import { readDependencyLocks, updateDependencyLocks } from '../verify/dependency-locks.ts';
import type { DependencyLocks, LockedProvider, LockedProviderChange } from '../verify/dependency-locks-types.ts';
import { checkEnsureAllOptions, type EnsureAllOptions, type EnsureAllRequest } from './ensure-all.ts';
import type { ProviderPackage } from './provider-package.ts';
import type { ProviderRequest } from './requests.ts';

/** Options of `ensureLockFile`. */
export interface EnsureLockFileOptions extends EnsureAllOptions {
  /** The platform that the packages are for; this machine's when left out. */
  readonly platform?: string | Platform | undefined;
  /** Further platforms, as `providers lock -platform=…` has them: their packages are had as well, and with `update` their `h1:` hashes stand in the lock file. */
  readonly platforms?: readonly (string | Platform)[] | undefined;
  /**
   * Writes the hashes that the lock file lacks into it, and nothing else: `h1:` of each platform, and `zh:` of every platform that the signed checksums name.
   * Default false: lock files are under version control. A file that lacks nothing is not written.
   */
  readonly update?: boolean | undefined;
}

/** What it needs of a cache. */
export interface EnsureLockFileContext {
  ensureAll(requests: readonly EnsureAllRequest[], options: EnsureAllOptions): Promise<ProviderPackage[]>;
  lookup(request: ProviderRequest, options: { readonly expectedHashes: readonly string[]; readonly signal: AbortSignal | undefined }): Promise<ProviderPackage | undefined>;
}

/** A provider of the file, and a platform that it is wanted for. */
interface Wanted {
  readonly locked: LockedProvider;
  readonly platform: Platform;
  readonly request: EnsureAllRequest;
}

/** See `ProviderCache.ensureLockFile`. */
export async function ensureLockFile(path: string, options: EnsureLockFileOptions, cache: EnsureLockFileContext): Promise<ProviderPackage[]> {
  const [main, ...further] = checkEnsureLockFileOptions(path, options);
  const { update = false, signal, onProgress, concurrency, pin } = options;
  signal?.throwIfAborted();
  const locks = await readDependencyLocks(path, { signal });
  const providers = [...locks.providers.values()];
  const wanted = providers.map((locked) => wantedOf(locked, main, locked.hashes));
  for (const platform of further) {
    wanted.push(...(await Promise.all(providers.map(async (locked) => wantedOf(locked, platform, await provableHashes(locked, platform, cache, signal))))));
  }
  const packages = await cache.ensureAll(
    wanted.map(({ request }) => request),
    { signal, onProgress, concurrency, pin },
  );
  try {
    checkReleases(wanted, packages, providers.length);
    if (update) await updateDependencyLocks(path, (now) => missingHashes(now, wanted, packages), { signal });
    return packages;
  } catch (error) {
    if (pin === true) await Promise.allSettled(packages.map(async (found) => found.pin?.release()));
    throw error;
  }
}

/**
 * Checks the options, and answers the platforms: the main one first, each once.
 *
 * @throws InvalidOptionError, InvalidPlatformError
 */
export function checkEnsureLockFileOptions(path: string, options: EnsureLockFileOptions): [Platform, ...Platform[]] {
  checkEnsureAllOptions(options);
  if (typeof path !== 'string' || path === '' || path.includes('\0')) throw new InvalidOptionError('path', 'it is the path of a dependency lock file');
  const { update, platform, platforms = [] } = options;
  if (update !== undefined && typeof update !== 'boolean') throw new InvalidOptionError('update', 'it is true or false');
  if (!Array.isArray(platforms)) throw new InvalidOptionError('platforms', 'it is an array of platforms, such as "darwin_arm64"');
  const main = platform === undefined ? currentPlatform() : parsePlatform(String(platform));
  const further = new Map(platforms.map((given) => [String(given), parsePlatform(String(given))]));
  further.delete(String(main));
  return [main, ...further.values()];
}

function wantedOf(locked: LockedProvider, platform: Platform, expectedHashes: readonly string[]): Wanted {
  return { locked, platform, request: { source: locked.address, version: locked.version, platform, expectedHashes } };
}

/**
 * What can be expected of a package for another platform. A lock file may know nothing of that platform yet, so its hashes are expected only where they
 * prove what is there; else the verification rules decide, as with `providers lock`, and {@link checkReleases} after them.
 */
async function provableHashes(locked: LockedProvider, platform: Platform, cache: EnsureLockFileContext, signal: AbortSignal | undefined): Promise<readonly string[]> {
  if (locked.hashes.length === 0) return [];
  try {
    const found = await cache.lookup({ source: locked.address, version: locked.version, platform }, { expectedHashes: locked.hashes, signal });
    return found === undefined ? [] : locked.hashes;
  } catch (error) {
    if (error instanceof HashMismatchError) return [];
    throw error;
  }
}

/**
 * A further platform's package must be of the release that the lock file means: signed checksums that name none of the zips which the file, or
 * the signed checksums of the main platform's package, name are those of another one.
 */
function checkReleases(wanted: readonly Wanted[], packages: readonly ProviderPackage[], providers: number): void {
  const failures: EnsureFailure[] = [];
  for (const [index, found] of packages.entries()) {
    const { locked } = wanted[index] ?? {};
    const main = packages[index % providers];
    if (locked === undefined || main === undefined || index < providers || found.provenance.signature.status !== 'verified') continue;
    const [known, offered] = [zipHashes([...locked.hashes, ...main.lockHashes]), zipHashes(found.lockHashes)];
    // One zip on either side says nothing: records of earlier releases hold no more than that.
    if (known.length === 0 || known.length + offered.length === 2 || offered.some((hash) => known.includes(hash))) continue;
    const request = `${String(locked.address)} ${String(locked.version)} ${String(found.platform)}`;
    failures.push({ index, request, error: new HashMismatchError(request, known, offered) });
  }
  if (failures.length === 0) return;
  const failed = new Set(failures.map(({ index }) => index));
  throw new EnsureAllError(
    failures,
    packages.map((found, index) => (failed.has(index) ? undefined : { ...found, pin: undefined })),
  );
}

function zipHashes(hashes: readonly string[]): string[] {
  return [...new Set(hashes)].filter((hash) => hash.startsWith('zh:'));
}

/** What the file lacks, of what it still means: somebody may have put another version there meanwhile. */
function missingHashes(now: DependencyLocks, wanted: readonly Wanted[], packages: readonly ProviderPackage[]): LockedProviderChange[] {
  return wanted.flatMap(({ locked: { address, version } }, index) => {
    const there = now.providers.get(String(address));
    const hashes = packages[index]?.lockHashes ?? [];
    if (String(there?.version) !== String(version) || hashes.every((hash) => there?.hashes.includes(hash) === true)) return [];
    return [{ address, version, hashes }];
  });
}
