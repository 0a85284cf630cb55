/** The options of a cache and of its calls, their defaults, and the refusal of what they do not take. Pure. */
import type { ArchiveLimits } from '../archive/index.ts';
import { InvalidOptionError } from '../errors.ts';
import { DEFAULT_REGISTRY_HOST, normalizeHostname } from '../layout/index.ts';
import type { CliConfig, CredentialsByHost, Environment, HttpClientOptions, PackageCredentialOptions, ProviderSource, ServicesByHost, SourceFallback } from '../registry/index.ts';
import { checkPackageCredentials } from '../registry/package-credential-options.ts';
import type { CacheLockStrategy } from './entry-lock.ts';
import type { VerificationOptions } from './verification-policy.ts';

/** Options of {@link ProviderCache.open}. */
export interface ProviderCacheOptions extends PackageCredentialOptions {
  /** The cache's directory; made if it is missing. One volume, one cache. */
  readonly directory: string;
  /** The tree in the clients' layout, if it is not `<directory>/providers`: an existing mirror or plugin cache, for example. */
  readonly providersDirectory?: string | undefined;
  /** The host of a source that names none. Default `registry.opentofu.org`. */
  readonly defaultHost?: string | undefined;
  /** Services by registry host: skips discovery, and plain http is taken, as with a `host` block of the clients' configuration. */
  readonly hosts?: ServicesByHost | undefined;
  /** Tokens by registry host. `TF_TOKEN_*` beats them. */
  readonly credentials?: CredentialsByHost | undefined;
  /**
   * What `loadCliConfig` read. `TF_TOKEN_*` and `credentials` beat its credentials, `hosts` its hosts, and `sources` its sources.
   */
  readonly cliConfig?: CliConfig | undefined;
  /**
   * Where packages may come from, in this order: versions are those of all sources that match, and a package comes from the first one that has it,
   * as with the clients' `provider_installation`. Default: those of `cliConfig`, else each from its own registry.
   *
   * Mirrors carry no signatures. What came from a mirror is handed out by caches that have the same mirror among their `sources` for that
   * provider (the same URL, or the same absolute path), whatever `verification` says of its host; for any other cache
   * that wants signatures it is no hit, unless `expectedHashes` prove it.
   *
   * A filesystem mirror is asked even with `offline`, since it takes no network. One that is this cache's own tree is passed over: what stands
   * there proves nothing.
   */
  readonly sources?: readonly ProviderSource[] | undefined;
  /** What makes the next source be asked. Default `'not-found'`, as the clients do. */
  readonly fallback?: SourceFallback | undefined;
  /** Hosts whose network mirrors may be read over plain http, for tests (`'mirror.test:8080'`). This machine itself always may. Default: none. */
  readonly insecureMirrors?: readonly string[] | undefined;
  /** What has to be verified. Default: signed checksums, and for `registry.opentofu.org` signed ones where keys are offered. */
  readonly verification?: VerificationOptions | undefined;
  /** What a hit is checked by: `'stat'` (default), what it looks like from outside; `'hash'`, its bytes. */
  readonly verifyOnHit?: 'stat' | 'hash' | undefined;
  /** What becomes of an entry that is not the package: `'repair'` (default) replaces it, `'error'` throws an `EntryConflictError`. */
  readonly onConflict?: 'repair' | 'error' | undefined;
  /** Only hits: nothing is ever written. Default false. */
  readonly readOnly?: boolean | undefined;
  /**
   * Nothing is ever asked of the network: a package that is missing comes from a filesystem mirror, or not at all. Constraints are met by the newest version that
   * is here and in the list of versions that was kept last, of whatever age; by what is here alone where no list is kept, or nothing in it is here.
   * Default false.
   */
  readonly offline?: boolean | undefined;
  /**
   * How long the discovery documents of registries and their lists of versions are used without asking again, in milliseconds, by all processes and
   * hosts that share the cache; by the file system's own clock. Default 300,000 (5 minutes); 0: the registry is always asked, whether what is kept is
   * still right. A list in which no version meets the constraints is asked for anew in any case. What a registry says with an error (404, say) is never
   * kept, and what it has told one token is for that token alone. An open cache remembers discovery for as long as it is open.
   */
  readonly metadataLifetimeMs?: number | undefined;
  /**
   * Whether a kept document is used beyond its lifetime when the registry answers 408, 429 or 5xx, or cannot be reached: `true`, of whatever age; a
   * number, for so many milliseconds more. Each time an event says so (`rwx-cache:cache:metadata-stale`). A certificate that is not to be trusted is
   * an error all the same. Default false.
   */
  readonly staleIfError?: boolean | number | undefined;
  /** Default `'auto'`: kernel locks, and leases where the mount has none or only locks of this host. */
  readonly lockStrategy?: CacheLockStrategy | undefined;
  /** How long a call waits for another process that is at the same package, in milliseconds. Default 30 minutes. */
  readonly lockTimeoutMs?: number | undefined;
  /** How long an entry that is not the package must have stayed unchanged before it is replaced, in milliseconds. Default 10,000. */
  readonly settleMs?: number | undefined;
  /** The largest package that is unpacked. Default 100,000 entries, 8 GiB, ratio 1000 above 1 MiB. */
  readonly archiveLimits?: ArchiveLimits | undefined;
  /** Time limits, retries, proxies and certificates of the network. */
  readonly http?: HttpClientOptions | undefined;
  /** Where `TF_TOKEN_*`, and the variables of the network, proxies and certificates are read from (the option of the same name of `RegistryClient` lists them). Default `process.env`. */
  readonly environment?: Environment | undefined;
}

/** The options that have a plain default, with it. */
export interface CheckedOptions {
  readonly defaultHost: string;
  readonly verifyOnHit: 'stat' | 'hash';
  readonly onConflict: 'repair' | 'error';
  readonly readOnly: boolean;
  readonly offline: boolean;
  readonly metadataLifetimeMs: number;
  /** `undefined`: not at all. */
  readonly staleIfErrorMs: number | undefined;
  readonly lockStrategy: CacheLockStrategy;
  readonly lockTimeoutMs: number;
  readonly settleMs: number;
  readonly fallback: SourceFallback;
}

/**
 * Checks the options and fills in what they leave out.
 *
 * @throws InvalidOptionError, InvalidHostnameError
 */
export function checkOptions(options: ProviderCacheOptions): CheckedOptions {
  checkPath('directory', (options as Partial<ProviderCacheOptions> | undefined)?.directory);
  if (options.providersDirectory !== undefined) checkPath('providersDirectory', options.providersDirectory);
  const defaultHost = options.defaultHost ?? DEFAULT_REGISTRY_HOST;
  for (const hostname of [...Object.keys(options.hosts ?? {}), ...Object.keys(options.credentials ?? {})]) normalizeHostname(hostname);
  checkPackageCredentials(options);
  return {
    defaultHost: normalizeHostname(defaultHost).display,
    verifyOnHit: oneOf('verifyOnHit', options.verifyOnHit ?? 'stat', ['stat', 'hash']),
    onConflict: oneOf('onConflict', options.onConflict ?? 'repair', ['repair', 'error']),
    lockStrategy: oneOf('lockStrategy', options.lockStrategy ?? 'auto', ['auto', 'kernel', 'lease']),
    readOnly: flag('readOnly', options.readOnly ?? false),
    offline: flag('offline', options.offline ?? false),
    metadataLifetimeMs: milliseconds('metadataLifetimeMs', options.metadataLifetimeMs ?? 5 * 60_000),
    staleIfErrorMs: staleFor(options.staleIfError ?? false),
    lockTimeoutMs: milliseconds('lockTimeoutMs', options.lockTimeoutMs ?? 30 * 60_000),
    fallback: oneOf('fallback', options.fallback ?? 'not-found', ['not-found', 'unreachable']),
    settleMs: milliseconds('settleMs', options.settleMs ?? 10_000),
  };
}

/**
 * Checks the options that calls have in common: a signal that is none would end nothing, or fail half-way.
 *
 * @throws InvalidOptionError
 */
export function checkCallOptions(options: { readonly signal?: AbortSignal | undefined; readonly pin?: boolean | undefined }): void {
  const given: unknown = options;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new InvalidOptionError('options', 'it is an object');
  checkSignal(options.signal);
  if (options.pin !== undefined) flag('pin', options.pin);
}

/**
 * Checks a caller's signal.
 *
 * @throws InvalidOptionError
 */
export function checkSignal(signal: unknown): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw new InvalidOptionError('signal', 'it is an AbortSignal');
}

function checkPath(option: string, value: unknown): void {
  if (typeof value !== 'string' || value === '' || value.includes('\0')) throw new InvalidOptionError(option, 'it is the path of a directory');
}

function oneOf<const T extends string>(option: string, value: T, allowed: readonly T[]): T {
  if (!allowed.includes(value)) throw new InvalidOptionError(option, `it is one of ${allowed.join(', ')}`);
  return value;
}

function flag(option: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new InvalidOptionError(option, 'it is true or false');
  return value;
}

function staleFor(given: boolean | number): number | undefined {
  if (typeof given === 'boolean') return given ? Infinity : undefined;
  if (!Number.isFinite(given) || given < 0) throw new InvalidOptionError('staleIfError', 'it is true, false, or a number of milliseconds, 0 or more');
  return given;
}

function milliseconds(option: string, value: number): number {
  if (!Number.isFinite(value) || value < 0) throw new InvalidOptionError(option, 'it is a number of milliseconds, 0 or more');
  return value;
}
