/**
 * The provider cache: what its users call. A request's journey is look-up, lock, download, verify, unpack, publish;
 * the steps themselves are the files beside this one.
 */
import { raceAbort } from '../abort.ts';
import { CacheClosedError, HashUnprovenError, InvalidOptionError, OfflineError, PackageMissingError, ReadOnlyError } from '../errors.ts';
import { judgeEntry, type BoundRecord, type Criteria } from './acceptance.ts';
import { cacheSources, type CacheSources } from './cache-sources.ts';
import type { EnsureOptions, ListOptions, LookupOptions, PinOptions } from './call-options.ts';
import { openDirectories, type CacheDirectories } from './directories.ts';
import { ensureAll, unpinLate, type EnsureAllOptions, type EnsureAllRequest } from './ensure-all.ts';
import type { EnsureLockFileOptions } from './ensure-lock-file.ts';
import { entryPlace, type EntryPlace } from './entry.ts';
import { Flights } from './flights.ts';
import type { InstallationResult } from './installation.ts';
import { isFreshlyRead, listEntries, listVersions, passOverUnreadable } from './listing.ts';
import { checkCallOptions, checkOptions, type CheckedOptions, type ProviderCacheOptions } from './options.ts';
import type { Pin } from './pins.ts';
import type { PreparedDirectory, PrepareOptions } from './prepare.ts';
import type { ProgressListener } from './progress.ts';
import { checkPolicy, type PrunePolicy, type PruneResult } from './prune-policy.ts';
import { providerPackage, type Outcome, type PackageIdentity, type ProviderPackage } from './provider-package.ts';
import { checkExpectedHashes, checkSubject, exactIdentity, newestIdentity, parseRequest, resolveRequest, type ProviderRequest } from './requests.ts';
import { verificationRules, type VerificationRules } from './verification-policy.ts';
import type { Workshop } from './workshop.ts';

/**
 * A cache of provider packages in one directory, shared with any number of processes and hosts, and with `terraform` and
 * `tofu` themselves. One instance may be used by any number of calls at once.
 */
export class ProviderCache implements AsyncDisposable {
  /** Absolute path of the cache's directory. */
  readonly directory: string;
  /** Absolute path of the tree in the clients' layout: a `filesystem_mirror` or `TF_PLUGIN_CACHE_DIR` for them. */
  readonly providersDirectory: string;
  readonly #options: CheckedOptions;
  readonly #given: ProviderCacheOptions;
  readonly #directories: CacheDirectories;
  readonly #rulesOf: (hostname: string) => VerificationRules;
  readonly #sources: CacheSources;
  readonly #flights = new Flights<InstallationResult>();
  readonly #known = new Map<string, BoundRecord>();
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #workshop: Promise<Workshop> | undefined;
  #closed: Promise<void> | undefined;

  private constructor(given: ProviderCacheOptions, options: CheckedOptions, directories: CacheDirectories) {
    this.#given = given;
    this.#options = options;
    this.#directories = directories;
    this.directory = directories.root;
    this.providersDirectory = directories.providers;
    this.#rulesOf = verificationRules(given.verification);
    this.#sources = cacheSources(given, options.defaultHost);
  }

  /**
   * Opens a cache, and makes its directory if it is missing. Opens no connection and takes no lock. A network mount with options that take
   * guarantees away is told of, once a process: as an event (`rwx-cache:cache:mount-warning`), and as a warning of the process (code
   * `RWX_CACHE_MOUNT`). [File systems](../../documentation/file-systems.md) says which, and why.
   *
   * @throws InvalidOptionError, InvalidHostnameError - an option is not as it must be
   * @throws CacheFormatError - another version of the library wrote the directory
   * @throws FileSystemError - the directory cannot be read or made
   */
  static async open(options: ProviderCacheOptions): Promise<ProviderCache> {
    const checked = checkOptions(options);
    const { directory, providersDirectory } = options;
    return new ProviderCache(options, checked, await openDirectories({ directory, providersDirectory, readOnly: checked.readOnly }));
  }

  /**
   * Makes sure that a package is in the cache, and answers it. A hit takes no lock and writes nothing; otherwise the
   * package is downloaded once, however many callers, processes and hosts ask for it at the same time, and appears in
   * the tree by one rename, verified and whole. Whatever fails leaves the tree as it was.
   *
   * @throws ProviderNotFoundError, VersionNotFoundError, PlatformNotSupportedError, ProtocolNotSupportedError, UnauthorizedError,
   * RegistryResponseError, DiscoveryError, ServiceNotProvidedError - what the registry says
   * @throws HttpStatusError, NetworkError, RedirectError, ResponseTooLargeError, DownloadIncompleteError - the network
   * @throws ChecksumMismatchError, ChecksumsInvalidError, SignatureInvalidError, HashMismatchError, HashUnprovenError - verification
   * @throws UnsafeArchiveError, InvalidArchiveError, ExecutableMissingError - the zip
   * @throws NoSourceError, SourceUnavailableError, AccessPolicyError - with other `sources` than the registry: none has it, or one cannot be asked
   * @throws EntryConflictError - somebody else's entry stands there, with `onConflict: 'error'`
   * @throws OfflineError, ReadOnlyError - it is missing, and may not be fetched
   * @throws LockTimeoutError, InvalidOptionError, FileSystemError, CacheClosedError
   */
  async ensure(request: ProviderRequest, options: EnsureOptions = {}): Promise<ProviderPackage> {
    checkCallOptions(options);
    const { signal, expectedHashes = [], pin = false, onProgress } = options;
    signal?.throwIfAborted();
    this.#assertOpen();
    checkExpectedHashes(expectedHashes);
    const identity = await this.#resolve(request, signal);
    const place = this.#placeOf(identity);
    const criteria = this.#criteria(identity, expectedHashes, signal);
    // Pinned before it is looked at: what is looked at first may be pruned in between.
    const mark = pin ? await this.#pin(place.package, signal) : undefined;
    try {
      let obtained = await this.#obtain(identity, place, criteria, onProgress);
      // Work that was shared may have ended before this pin was up.
      while (mark !== undefined && obtained.outcome === 'joined' && !(await this.#isThere(place, criteria))) {
        obtained = await this.#obtain(identity, place, criteria, onProgress);
      }
      const { bound, outcome } = obtained;
      this.#known.set(place.package, bound);
      return providerPackage(identity, place.path, bound.record, outcome, mark);
    } catch (error) {
      await mark?.release().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Makes sure of several packages, and answers them in the order of the requests. Each is had as by {@link ensure}; equal requests are one piece of
   * work and get the same answer, with one pin. They run in fair shares between the registry hosts, and a failure is thrown when all have ended.
   *
   * @example
   * ```ts
   * const [aws, random] = await cache.ensureAll([
   *   { source: 'hashicorp/aws', version: '~> 6.0' },
   *   { source: 'hashicorp/random', version: '3.7.2', platform: 'darwin_arm64' },
   * ]);
   * ```
   * @throws EnsureAllError - some could not be had; it has each one's error, as {@link ensure} would throw it, and the packages that were had
   * @throws InvalidOptionError - the list or an option is not as it must be; a single request that is not is one of the failures
   * @throws CacheClosedError
   */
  async ensureAll(requests: readonly EnsureAllRequest[], options: EnsureAllOptions = {}): Promise<ProviderPackage[]> {
    this.#assertOpen();
    return ensureAll(requests, options, { defaultHost: this.#options.defaultHost, ensure: (request, each) => this.ensure(request, each) });
  }

  /**
   * Makes sure of everything that a dependency lock file names, with the file's hashes as the expected ones: the packages for the main platform, in the
   * order of the file, then those of each further platform. With `update` the hashes that the file lacks are written into it when all
   * packages are there; a package that has none of its hashes is a failure, and leaves the file as it was. A package for a further platform, of which
   * the file has no hash yet, is had by the verification rules; where its checksums are signed, they must be those of the release that the file means.
   *
   * @example
   * ```ts
   * await cache.ensureLockFile('.terraform.lock.hcl', { update: true, platforms: ['darwin_arm64', 'windows_amd64'] });
   * ```
   * @throws EnsureAllError - some packages could not be had, or have none of the file's hashes (`HashMismatchError`)
   * @throws FileSystemError, HclSyntaxError, DependencyLocksError - there is no such file, or it is no lock file; with line and column
   * @throws LockTimeoutError, LockLostError, InvalidOptionError, InvalidPlatformError, CacheClosedError
   */
  async ensureLockFile(path: string, options: EnsureLockFileOptions = {}): Promise<ProviderPackage[]> {
    this.#assertOpen();
    return this.#track(options.signal, async () => (await import('./ensure-lock-file.ts')).ensureLockFile(path, options, this), (packages) => {
      unpinLate({ packages });
    });
  }

  /**
   * Makes a working directory ready for `init`: has everything that its `.terraform.lock.hcl` names, as {@link ensureLockFile} does, links it into
   * `<TF_DATA_DIR or .terraform>/providers`, and answers with what `terraform` or `tofu` is to be run with, so that the client takes these providers from here
   * and asks nobody for them (`init -upgrade` finds only these versions, too). What the lock file does not name comes from the user's own sources: those of the
   * options, else of the CLI configuration. Its hosts, credentials helper and development overrides stay in force, its tokens go into the
   * environment; the plugin cache is switched off. A package of which the lock file has no `h1:` hash is copied, not linked: a client would write through the link.
   *
   * @example
   * ```ts
   * const { environment } = await cache.prepareWorkingDirectory('live/prod', { update: true });
   * spawn('tofu', ['init'], { cwd: 'live/prod', env: { ...process.env, ...environment } });
   * ```
   * @throws What {@link ensureLockFile} throws, except for a missing lock file: then there is nothing to link, and the client chooses
   * @throws CliConfigError, HclSyntaxError - the user's CLI configuration
   * @throws FileSystemError - there is no such directory, or its data directory cannot be written
   */
  async prepareWorkingDirectory(directory: string, options: PrepareOptions = {}): Promise<PreparedDirectory> {
    this.#assertOpen();
    const work = async (): Promise<PreparedDirectory> => (await import('./prepare.ts')).prepareWorkingDirectory(directory, options, this.#given, this);
    return this.#track(options.signal, work, unpinLate);
  }

  /**
   * Answers a package that is in the cache, and meets the cache's verification rules; `undefined` when there is none. No
   * network, no lock. Constraints are matched against the versions in the cache.
   *
   * @throws HashMismatchError - it is there, and has none of the expected hashes
   * @throws InvalidOptionError, FileSystemError, CacheClosedError
   */
  async lookup(request: ProviderRequest, options: LookupOptions = {}): Promise<ProviderPackage | undefined> {
    checkCallOptions(options);
    const { signal, expectedHashes = [] } = options;
    signal?.throwIfAborted();
    this.#assertOpen();
    checkExpectedHashes(expectedHashes);
    const parsed = parseRequest(request, this.#options.defaultHost);
    const candidates = exactIdentity(parsed) ?? newestIdentity(parsed, await listVersions(this.providersDirectory, parsed.address, parsed.platform));
    return candidates === undefined ? undefined : this.#lookup(candidates, this.#placeOf(candidates), expectedHashes, signal);
  }

  /**
   * All packages in the cache that meet its verification rules, in the order of their paths. What other programs put
   * there and nothing proves is left out, and so is what this user may not read, or what disappears meanwhile.
   */
  async *list(options: ListOptions = {}): AsyncGenerator<ProviderPackage, void, undefined> {
    checkCallOptions(options);
    this.#assertOpen();
    for await (const { identity, readAt } of listEntries(this.providersDirectory)) {
      options.signal?.throwIfAborted();
      // Whoever takes their time with one package is not handed the next from a list that has grown old.
      const listed = isFreshlyRead(readAt);
      const found = await this.#lookup(identity, { ...this.#placeOf(identity), listed }, [], options.signal).catch(passOverUnreadable);
      if (found !== undefined) yield found;
    }
  }

  /**
   * Keeps a package from being pruned until the pin is released or the process ends, by SIGKILL too; closing the cache does not end it. Pins and prunes
   * on any number of hosts agree without a lock: when this resolves, the package is there and stays. It waits for a prune of the
   * package that is on its way (milliseconds, `lockTimeoutMs` at most).
   *
   * A pin keeps from {@link prune} of this library and from nothing else: not from `rm`, and not from a repair, which puts the whole package where a damaged one was.
   * It ends as well when an NFS server has given up on the pin's host, because that was cut off for longer than the server's lease. And a host
   * that prunes and is cut off itself, between its last check and its rename, may move the package away later, though it was
   * pinned meanwhile: its files are whole in the trash for another hour, and the next {@link ensure} installs it again.
   *
   * @param subject - What {@link ensure}, {@link lookup} or {@link list} answered.
   * @throws PackageMissingError - it is not there any more, or another package with other hashes is
   * @throws LockTimeoutError - a process that lives is about to prune it, and did not get done in time
   * @throws ReadOnlyError - the cache was opened `readOnly`, and a pin is a mark in it
   * @throws HashMismatchError, InvalidOptionError, FileSystemError, CacheClosedError
   */
  async pin(subject: ProviderPackage, options: PinOptions = {}): Promise<Pin> {
    checkCallOptions(options);
    const { signal } = options;
    signal?.throwIfAborted();
    this.#assertOpen();
    const { address: source, version, platform } = checkSubject(subject);
    checkExpectedHashes(subject.hashes);
    const identity = exactIdentity(parseRequest({ source, version, platform }, this.#options.defaultHost));
    if (identity === undefined) throw new InvalidOptionError('package', 'its version is not exact');
    const place = this.#placeOf(identity);
    const pin = await this.#pin(place.package, signal);
    try {
      // Its own hashes prove it, whatever the rules: it was handed out by them.
      if (!(await this.#isThere(place, this.#criteria(identity, subject.hashes, signal)))) throw new PackageMissingError(place.package);
      return pin;
    } catch (error) {
      await pin.release().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Takes entries away that nobody needs any more, by the policy. Each goes by one rename, so nobody ever finds a part of one; entries that are
   * pinned stay, and so do those that someone is installing, repairing or writing at this moment. Needs no network.
   *
   * - What other programs have put into the tree goes by the same policy as what this cache has: the volume is bounded for all of it. It must have
   *   stayed unchanged for `settleMs` (on a network file system for a minute more), since `terraform` may be half-way.
   *   What is reached through a symbolic link stays.
   * - Removed entries lie in the trash for an hour, since programs may be running from them on hosts that nobody here can see. Their space is given back by
   *   the first sweep after that: every prune does one, and so does every process that installs, once an hour in all.
   * - Directories above the entries stay, with OpenTofu's lock files in them.
   * - Any number of processes and hosts may prune at once. One that is killed leaves each entry whole, in the tree or in the trash.
   * - A host that uses an entry without a pin is not known. It finds its files until they leave the trash.
   * - Pins are those of this cache's own directory. Another cache that shares only `providersDirectory` has pins of its own.
   *
   * {@link pin} says what a host that is cut off from the volume may still do.
   *
   * @throws InvalidOptionError - the policy has no condition, one that is not as it must be, or a word that it does not know
   * @throws ReadOnlyError - the cache was opened `readOnly`
   * @throws FileSystemError - the cache cannot be read, or not be written at all; what concerns one entry is in {@link PruneResult.failed}
   * @throws CacheClosedError
   */
  async prune(policy: PrunePolicy): Promise<PruneResult> {
    this.#assertOpen();
    const checked = checkPolicy(policy);
    policy.signal?.throwIfAborted();
    if (this.#options.readOnly) throw new ReadOnlyError(`A prune of ${this.directory}`);
    return this.#track(policy.signal, async (signal) => (await this.#work()).prune(checked, signal));
  }

  /** Ends all calls that still run (they reject with a `CacheClosedError`), and resolves when nothing of them is left. Idempotent. */
  async close(): Promise<void> {
    this.#closed ??= this.#close();
    await this.#closed;
  }

  /** As {@link close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    const reason = new CacheClosedError(this.directory);
    this.#closing.abort(reason);
    await this.#flights.close(reason);
    await Promise.allSettled([...this.#running]);
    await (await this.#workshop)?.close();
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) throw new CacheClosedError(this.directory);
  }

  async #resolve(request: ProviderRequest, signal: AbortSignal | undefined): Promise<PackageIdentity> {
    const parsed = parseRequest(request, this.#options.defaultHost);
    const { offline, readOnly } = this.#options;
    return resolveRequest(parsed, {
      limitedBy: offline ? 'offline' : readOnly ? 'readOnly' : undefined,
      here: async () => ({
        installed: await listVersions(this.providersDirectory, parsed.address, parsed.platform),
        offered: offline && !readOnly && this.#sources.hasLocal(parsed.address) ? await (await this.#work()).localVersions(parsed.address, signal) : [],
      }),
      listed: async (options) => {
        try {
          return await (await this.#work()).versions(parsed.address, signal, options);
        } catch (error) {
          // A close ends the request, and the caller hears of the close.
          signal?.throwIfAborted();
          this.#assertOpen();
          throw error;
        }
      },
    });
  }

  /** A hit, or else the shared work of all calls of this process that want the same on the same terms. */
  async #obtain(
    identity: PackageIdentity,
    place: EntryPlace,
    criteria: Criteria,
    onProgress: ProgressListener | undefined,
  ): Promise<{ readonly bound: BoundRecord; readonly outcome: Outcome }> {
    const judgement = await judgeEntry(place, criteria, this.#known.get(place.package));
    if (judgement.verdict === 'accepted') return { bound: judgement.bound, outcome: judgement.adopted ? 'adopted' : 'hit' };
    if (criteria.offline) {
      throw judgement.verdict === 'missing' ? new OfflineError(place.package) : new HashUnprovenError(place.package, criteria.expectedHashes);
    }
    if (criteria.readOnly) throw new ReadOnlyError(place.package);
    const terms = [place.package, ...criteria.expectedHashes].join('\n');
    const { value, started } = await this.#flights.join(
      terms,
      async (signal, report) => (await this.#work()).install({ identity, place, criteria: { ...criteria, signal }, signal, report }),
      { signal: criteria.signal, onProgress },
    );
    return { bound: value.bound, outcome: started ? value.outcome : 'joined' };
  }

  async #lookup(identity: PackageIdentity, place: EntryPlace, expectedHashes: readonly string[], signal: AbortSignal | undefined): Promise<ProviderPackage | undefined> {
    const judgement = await judgeEntry(place, this.#criteria(identity, expectedHashes, signal), this.#known.get(place.package));
    if (judgement.verdict !== 'accepted') return undefined;
    this.#known.set(place.package, judgement.bound);
    return providerPackage(identity, place.path, judgement.bound.record, judgement.adopted ? 'adopted' : 'hit');
  }

  async #isThere(place: EntryPlace, criteria: Criteria): Promise<boolean> {
    return (await judgeEntry(place, criteria, this.#known.get(place.package))).verdict === 'accepted';
  }

  async #pin(packagePath: string, callers: AbortSignal | undefined): Promise<Pin> {
    const { readOnly, lockTimeoutMs: timeoutMs } = this.#options;
    if (readOnly) throw new ReadOnlyError(`A pin of ${packagePath}`);
    return this.#track(
      callers,
      async (signal) => (await this.#work()).pin(packagePath, { timeoutMs, signal }),
      (late) => void late.release().catch(() => undefined),
    );
  }

  /** Work of one call: it ends with its caller's signal and with the cache, and the close waits for what is left of it then. */
  async #track<T>(callers: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>, onLate?: (value: T) => void): Promise<T> {
    const signal = callers === undefined ? this.#closing.signal : AbortSignal.any([callers, this.#closing.signal]);
    const running = work(signal);
    this.#running.add(running);
    const forget = (): void => void this.#running.delete(running);
    running.then(forget, forget);
    return raceAbort(running, signal, onLate);
  }

  /** Loaded when it is first needed: a process that only hits does without the network, the archives and the locks. */
  async #work(): Promise<Workshop> {
    // A call that was on its way here when the cache was closed must not set up again what the close has cleared away.
    this.#assertOpen();
    this.#workshop ??= import('./workshop.ts').then(({ openWorkshop }) => openWorkshop(this.#given, this.#options, this.#directories, this.#sources));
    return this.#workshop;
  }

  #placeOf(identity: PackageIdentity): EntryPlace {
    return entryPlace(identity, this.#directories);
  }

  #criteria(identity: PackageIdentity, expectedHashes: readonly string[], signal: AbortSignal | undefined): Criteria {
    const { verifyOnHit, offline, readOnly } = this.#options;
    return {
      rules: { ...this.#rulesOf(identity.address.hostname), trustedMirrors: this.#sources.trustedMirrors(identity.address) },
      expectedHashes,
      hashHits: verifyOnHit === 'hash',
      // A mirror in a directory takes no network: what is missing may come from there.
      offline: offline && !this.#sources.hasLocal(identity.address),
      readOnly,
      signal,
    };
  }
}
