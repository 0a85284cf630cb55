/**
 * Several sources in their order, as the reference clients ask them (`multi_source.go`): versions are those of all sources that match,
 * and a package comes from the first one that has it.
 */
import {
  DiscoveryError,
  DownloadIncompleteError,
  HttpStatusError,
  NetworkError,
  NoSourceError,
  OfflineError,
  PlatformNotSupportedError,
  ProviderNotFoundError,
  RwxCacheError,
  ServiceNotProvidedError,
  SourceUnavailableError,
  type SourceAnswer,
} from '../../errors.ts';
import { sourceName } from '../../errors/sources.ts';
import { compareVersions, type ProviderAddress } from '../../layout/index.ts';
import type { RegistryClient } from '../client.ts';
import type { PackageRequest } from '../package-metadata.ts';
import type { AvailableVersion, VersionList } from '../version-list.ts';
import { isDirectOnly, isLocal, type CheckedSource } from './checked.ts';
import { directSource } from './direct.ts';
import { filesystemMirror } from './filesystem-mirror.ts';
import { networkMirror } from './network-mirror.ts';
import type { PackageOffer, PackageSource, SourceCallOptions, SourceVersionsOptions } from './source.ts';
import type { SourceFallback } from './types.ts';

/** What is known of all sources together. */
export interface PackageSources {
  /**
   * The versions that any source has, lowest first. What a source that could not be asked may have is left out, where `fallback` says so.
   * @throws NoSourceError - none knows the provider
   */
  versions(address: ProviderAddress, options?: SourceVersionsOptions): Promise<VersionList>;
  /**
   * The versions in the lists of those sources that need the network, as they were kept, where the metadata store asks nobody.
   * @throws OfflineError - none is kept
   */
  keptVersions(address: ProviderAddress, options?: SourceCallOptions): Promise<VersionList>;
  /**
   * Hands the first source's offer to `use`, and the next one's when `use` fails with what makes the next source be asked. `turn`
   * counts the offers from 0.
   * @throws NoSourceError - none has the package
   * @throws whatever else a source or `use` throws, at once
   */
  withOffer<T>(wanted: PackageRequest, options: SourceCallOptions, use: (offer: PackageOffer, turn: number) => Promise<T>): Promise<T>;
  /** Whether the provider's registry is the first to be asked. */
  beginsDirect(address: ProviderAddress): boolean;
}

/** What the sources are asked by. */
export interface MultiSourceOptions {
  readonly registry: RegistryClient;
  /** Default `'not-found'`. */
  readonly fallback?: SourceFallback | undefined;
  /** Only what needs no network is asked. */
  readonly offline?: boolean | undefined;
}

/** Makes one of checked sources. Nothing is asked yet. With one plain `direct` every error is the registry's own. */
export function multiSource(checked: readonly CheckedSource[], options: MultiSourceOptions): PackageSources {
  const { fallback = 'not-found', offline = false } = options;
  const plain = isDirectOnly(checked) && !offline;
  const all = checked.map((source) => ({ ...source, ask: offline && !isLocal(source) ? offlineSource(source) : openSource(source, options.registry) }));

  /** Asks those that match in turn; `undefined` as an answer goes on to the next. */
  async function inTurn<T>(address: ProviderAddress, signal: AbortSignal | undefined, question: (source: PackageSource) => Promise<T | undefined>): Promise<{ readonly answer: T | undefined; readonly report: SourceAnswer[] }> {
    const report: SourceAnswer[] = [];
    for (const { ask, matches, description } of all) {
      if (!matches(address)) continue;
      signal?.throwIfAborted();
      try {
        const answer = await question(ask);
        if (answer !== undefined) return { answer, report };
      } catch (error) {
        if (plain || signal?.aborted === true || !goesOn(error, fallback)) throw error;
        report.push({ source: description, error });
      }
    }
    return { answer: undefined, report };
  }

  async function versions(address: ProviderAddress, call: SourceVersionsOptions = {}): Promise<VersionList> {
    const lists: VersionList[] = [];
    const { report } = await inTurn(address, call.signal, async (source) => {
      lists.push(await source.versions(address, call));
      return undefined;
    });
    if (lists.length === 0) throw failure(String(address), report);
    return united(lists);
  }

  async function keptVersions(address: ProviderAddress, call: SourceCallOptions = {}): Promise<VersionList> {
    const lists: VersionList[] = [];
    let missing: OfflineError | undefined;
    for (const source of all) {
      if (isLocal(source) || !source.matches(address)) continue;
      try {
        lists.push(await openSource(source, options.registry).versions(address, call));
      } catch (error) {
        if (!(error instanceof OfflineError)) throw error;
        missing ??= error;
      }
    }
    if (lists.length === 0) throw missing ?? new OfflineError(`the list of versions of ${String(address)}`);
    return united(lists);
  }

  async function withOffer<T>(wanted: PackageRequest, call: SourceCallOptions, use: (offer: PackageOffer, turn: number) => Promise<T>): Promise<T> {
    let turn = 0;
    const { answer, report } = await inTurn(wanted.address, call.signal, async (source) => {
      const offer = await source.offer(wanted, call);
      turn += 1;
      return { value: await use(offer, turn - 1) };
    });
    if (answer === undefined) throw failure(`${String(wanted.address)} ${String(wanted.version)} ${String(wanted.platform)}`, report);
    return answer.value;
  }

  function failure(wanted: string, report: readonly SourceAnswer[]): Error {
    const none = new NoSourceError(wanted, report);
    return offline ? new OfflineError(wanted, none) : none;
  }

  return {
    versions,
    keptVersions,
    withOffer,
    beginsDirect: (address) => !offline && all.find((source) => source.matches(address))?.given.type === 'direct',
  };
}

/** Of two sources with one version the first one counts, as for packages. */
function united(lists: readonly VersionList[]): VersionList {
  const found = new Map<string, AvailableVersion>();
  for (const one of lists.flatMap((list) => list.versions)) if (!found.has(String(one.version))) found.set(String(one.version), one);
  return {
    versions: [...found.values()].sort((a, b) => compareVersions(a.version, b.version)),
    warnings: lists.flatMap((list) => list.warnings),
    ...(lists.some(({ kept }) => kept === true) ? { kept: true } : {}),
  };
}

function openSource({ given, description }: CheckedSource, registry: RegistryClient): PackageSource {
  switch (given.type) {
    case 'direct':
      return directSource(description, registry);
    case 'network_mirror':
      return networkMirror(given, description, registry.transport);
    case 'filesystem_mirror':
      return filesystemMirror(description);
    case 'oci_mirror':
      return refusing(() => new SourceUnavailableError(description, 'this library reads no OCI registry; use OpenTofu 1.10 or later for it, or mirror it into a directory'));
  }
}

function offlineSource({ description }: CheckedSource): PackageSource {
  return refusing((wanted) => new OfflineError(`${wanted} (${sourceName(description)})`));
}

function refusing(error: (wanted: string) => RwxCacheError): PackageSource {
  return {
    versions: (address) => Promise.reject(error(String(address))),
    offer: ({ address, version, platform }) => Promise.reject(error(`${String(address)} ${String(version)} ${String(platform)}`)),
  };
}

/** Whether what a source answered makes the next one be asked. */
function goesOn(error: unknown, fallback: SourceFallback): error is RwxCacheError {
  if (error instanceof ProviderNotFoundError || error instanceof PlatformNotSupportedError || error instanceof OfflineError) return true;
  return fallback === 'unreachable' && isUnreachable(error);
}

/** Whether a source could not be asked. A certificate that does not verify is an answer: somebody else's, perhaps. */
function isUnreachable(error: unknown): error is RwxCacheError {
  if (error instanceof NetworkError) return error.phase !== 'tls';
  if (error instanceof HttpStatusError) return error.status === 408 || error.status === 429 || error.status >= 500;
  if (error instanceof DiscoveryError) return isUnreachable(error.cause);
  return error instanceof DownloadIncompleteError || error instanceof ServiceNotProvidedError || error instanceof SourceUnavailableError;
}
