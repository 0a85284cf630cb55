/** What the tests of the caches share: a cache over an embedded registry, and looks at what lies on disk. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { ProviderCache, type ProviderCacheOptions } from '../../src/index.ts';
import { startRegistry, type EmbeddedRegistry, type RegistryOptions } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

/** The registry host of the tests: one whose checksums have to be signed. */
export const HOST = 'registry.example.com';

/** The provider that most tests ask for. */
export const THING = { source: `${HOST}/acme/thing`, version: '1.2.3', platform: 'linux_amd64' } as const;

/** Where it has to be. */
export const THING_PATH = `providers/${HOST}/acme/thing/1.2.3/linux_amd64`;

/** A registry that offers it, closed after the test. */
export async function withRegistry(t: TestContext, options: RegistryOptions = {}): Promise<EmbeddedRegistry> {
  const registry = await startRegistry({ providers: [{ address: 'acme/thing', version: '1.2.3' }], ...options });
  t.after(() => registry.close());
  return registry;
}

/** Opens a cache that knows the registry, closed after the test. Retries are quick. */
export async function openCache(t: TestContext, registry: EmbeddedRegistry | undefined, options: Partial<ProviderCacheOptions> & { directory: string }): Promise<ProviderCache> {
  const cache = await ProviderCache.open({
    hosts: registry?.hosts(HOST),
    environment: {},
    http: { backoffMs: 1, maxRetryAfterMs: 50 },
    ...options,
  });
  t.after(() => cache.close());
  return cache;
}

/** A registry, an empty directory, and a cache in it. */
export async function withCache(
  t: TestContext,
  options: { readonly registry?: RegistryOptions; readonly cache?: Partial<ProviderCacheOptions> } = {},
): Promise<{ registry: EmbeddedRegistry; directory: string; cache: ProviderCache }> {
  const registry = await withRegistry(t, options.registry);
  const directory = await withTemporaryDirectory(t);
  return { registry, directory, cache: await openCache(t, registry, { directory, ...options.cache }) };
}

/** Every file, symlink and empty directory below a directory, as sorted relative paths; none for a missing one. */
export async function treeOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = entries.map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1));
  return paths.filter((path) => !paths.some((other) => other.startsWith(`${path}/`))).sort();
}

/** What a failure must not leave: a partial entry, staging, or a record that speaks for nothing. */
export async function leftovers(directory: string): Promise<string[]> {
  const tree = await treeOf(directory);
  return tree.filter((path) => /^state\/(staging|records|trash)\/./u.test(path) || (path.startsWith('providers/') && /\/linux_amd64\/./u.test(path)));
}
