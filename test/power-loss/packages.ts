/** A cache and the registry that it installs from, both inside the guest. */
import { ProviderCache, type ProviderCacheOptions, type ProviderRequest } from '../../src/index.ts';
import { makeZip } from '../support/zip.ts';
import { startRegistry, type EmbeddedRegistry } from '../support/registry/index.ts';
import { HOST, packageOf, PLATFORM } from './content.ts';

/** An open cache with its registry. */
export interface OpenCache {
  readonly cache: ProviderCache;
  readonly registry: EmbeddedRegistry;
}

/** Opens both. Nothing is signed: the power does not care, and the processor has better things to do. */
export async function openCache(directory: string, options: Partial<ProviderCacheOptions>): Promise<OpenCache> {
  const registry = await startRegistry();
  const cache = await ProviderCache.open({ directory, hosts: registry.hosts(HOST), environment: {}, verification: { signature: 'off' }, http: { backoffMs: 1 }, ...options });
  return { cache, registry };
}

/** Puts a package into the registry; answers what to ask the cache for. */
export async function withPackage(registry: EmbeddedRegistry, type: string, version: string): Promise<ProviderRequest> {
  const { files } = packageOf(type, version);
  const zip = makeZip(Object.fromEntries(Object.entries(files).map(([name, data]) => [name, { data, mode: name.startsWith('terraform-') ? 0o100755 : 0o100644, stored: true }])));
  await registry.publish({ address: `acme/${type}`, version, platforms: [PLATFORM], zip, signer: false });
  return requestOf(type, version);
}

export function requestOf(type: string, version: string): ProviderRequest {
  return { source: `${HOST}/acme/${type}`, version, platform: PLATFORM };
}
