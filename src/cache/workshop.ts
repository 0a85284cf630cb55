/**
 * What a cache needs as soon as a look-up is not enough: the registry, a presence of its own, staging, and the sweep.
 * Loaded and made when it is first needed, since most processes only ever hit.
 */
import { OfflineError } from '../errors.ts';
import { RegistryClient } from '../registry/index.ts';
import { multiSource, type PackageSources } from '../registry/sources/multi-source.ts';
import type { ProviderAddress, Version } from '../layout/index.ts';
import { startSignatureThread, type SignatureThread } from '../verify/signature-thread.ts';
import { withoutOwnTree, type CacheSources } from './cache-sources.ts';
import { findStaging, type CacheDirectories, type StagingPlace } from './directories.ts';
import { keepHouse } from './housekeeping.ts';
import { installPackage, type Installation, type InstallationResult } from './installation.ts';
import { createMetadataStore } from './metadata-store.ts';
import type { CheckedOptions, ProviderCacheOptions } from './options.ts';
import { createPartialStore } from './partial-store.ts';
import { createPin, type Pin, type PinWait } from './pins.ts';
import { enterPresence, type Presence } from './presence.ts';
import type { CheckedPolicy, PruneResult } from './prune-policy.ts';
import type { ListedVersions } from './requests.ts';

/** The working side of one cache. */
export interface Workshop {
  /** All versions of a provider, by its sources; as they were kept, where nobody may be asked. */
  versions(address: ProviderAddress, signal: AbortSignal | undefined, options?: { readonly revalidate: boolean }): Promise<ListedVersions>;
  /** Offline: those that need no network. */
  localVersions(address: ProviderAddress, signal: AbortSignal | undefined): Promise<Version[]>;
  /** Installs a package, unless another process is faster. */
  install(task: Installation): Promise<InstallationResult>;
  /** Pins a package for this process. */
  pin(packagePath: string, wait: PinWait): Promise<Pin>;
  /** Takes entries away. */
  prune(policy: CheckedPolicy, signal: AbortSignal): Promise<PruneResult>;
  /** Ends all requests, waits for the sweep, and takes the presence away, unless a pin needs it still. Call it when no work is left. */
  close(): Promise<void>;
}

/** What this process has in the cache's directory once it writes there. */
interface Bench {
  readonly presence: Presence;
  readonly place: StagingPlace;
  /** The sweep that follows the entry, and keeps nobody waiting. */
  readonly sweep: Promise<void>;
}

/** As long as an answer's headers are waited for. */
const METADATA_WAIT_MS = 30_000;
/** A process that installs one package and ends still sweeps; a large trash on slow storage does not hold it up. */
const SWEEP_AT_CLOSE_MS = 2000;

/** Makes one. Nothing is asked of the network and nothing is written until something is called. */
export function openWorkshop(given: ProviderCacheOptions, options: CheckedOptions, directories: CacheDirectories, configured: CacheSources): Workshop {
  const metadata = createMetadataStore({
    directory: directories.metadata,
    locks: directories.locks,
    lifetimeMs: options.metadataLifetimeMs,
    staleIfErrorMs: options.staleIfErrorMs,
    frozen: options.offline || options.readOnly,
    waitMs: given.http?.headersTimeoutMs ?? METADATA_WAIT_MS,
  });
  const { hosts, credentials, cliConfig, http, environment, packageCredentials, netrc } = given;
  const registry = new RegistryClient({ hosts, credentials, cliConfig, http, environment, packageCredentials, netrc, metadata });
  const sweeping = new AbortController();
  let bench: Promise<Bench> | undefined;
  let opened: Promise<PackageSources> | undefined;
  let thread: SignatureThread | undefined;
  const pins = new Set<Pin>();
  let closed = false;

  /** One that has died (out of memory, say) is replaced: it must not fail every package of a process that goes on. */
  function signatures(): SignatureThread {
    if (thread?.running !== true) thread = startSignatureThread();
    return thread;
  }

  async function sources(): Promise<PackageSources> {
    opened ??= withoutOwnTree(configured.checked, directories.providers).then((checked) => multiSource(checked, { registry, fallback: options.fallback, offline: options.offline }));
    return opened;
  }

  async function enter(): Promise<Bench> {
    bench ??= setUp();
    try {
      return await bench;
    } catch (error) {
      // A directory that could not be written may be writable next time.
      bench = undefined;
      throw error;
    }
  }

  async function setUp(): Promise<Bench> {
    const place = await findStaging(directories);
    const presence = await enterPresence(directories.presence);
    return { place, presence, sweep: keepHouse(directories, place, presence, sweeping.signal) };
  }

  return {
    versions: async (address, signal, { revalidate } = { revalidate: false }) => {
      const all = await sources();
      const { versions, kept = false } = await (options.offline || options.readOnly ? all.keptVersions(address, { signal }) : all.versions(address, { signal, revalidate }));
      return { versions: versions.map(({ version }) => version), kept };
    },
    localVersions: async (address, signal) => {
      try {
        const { versions } = await (await sources()).versions(address, { signal });
        return versions.map(({ version }) => version);
      } catch (error) {
        if (error instanceof OfflineError) return [];
        throw error;
      }
    },
    install: async (task) => {
      const { presence, place } = await enter();
      return installPackage(task, {
        ...options,
        ...place,
        registry,
        sources: await sources(),
        signatures,
        partials: createPartialStore(place.partial),
        locks: directories.locks,
        limits: given.archiveLimits,
        owner: presence.id,
      });
    },
    pin: async (packagePath, wait) => {
      const { presence } = await enter();
      const pin = await createPin(packagePath, { pins: directories.pins, presence: directories.presence, owner: presence.id }, wait);
      pins.add(pin);
      const release = async (): Promise<void> => {
        await pin.release();
        // A pin outlives its cache: it holds for as long as the process lives, or until this.
        if (pins.delete(pin) && pins.size === 0 && closed) await presence.leave();
      };
      return { package: packagePath, release, [Symbol.asyncDispose]: release };
    },
    prune: async (policy, signal) => {
      const { presence, place } = await enter();
      const { pruneEntries } = await import('./prune.ts');
      return pruneEntries(policy, { ...options, directories, place, owner: presence.id, signal });
    },
    close: async () => {
      await registry.close();
      await metadata.close();
      await thread?.close();
      const entered = await bench?.catch(() => undefined);
      const limit = setTimeout(() => {
        sweeping.abort();
      }, SWEEP_AT_CLOSE_MS);
      await entered?.sweep;
      clearTimeout(limit);
      closed = true;
      if (pins.size === 0) await entered?.presence.leave();
    },
  };
}
