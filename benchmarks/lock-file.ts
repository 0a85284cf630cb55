/** A warm cache, offline: all packages of a lock file of twenty providers, each with its expected hash, beside twenty bare hits one after the other. */
import { join } from 'node:path';
import { ProviderCache, type ProviderCacheOptions } from '../src/index.ts';
import { startRegistry } from '../test/support/registry/index.ts';
import { comparison, interleave, type Subject } from './harness.ts';

const HOST = 'registry.example.com';
const TYPES = Array.from({ length: 20 }, (_, index) => `thing${index}`);

/** Milliseconds of one piece of work, with a cache that is opened for it. */
async function timed(options: ProviderCacheOptions, work: (cache: ProviderCache) => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  const cache = await ProviderCache.open(options);
  await work(cache);
  const took = performance.now() - begun;
  await cache.close();
  return took;
}

export const lockFile: Subject = {
  name: 'lock file',
  run: async (scope) => {
    const registry = await startRegistry({ providers: TYPES.map((type) => ({ address: `acme/${type}`, version: '1.0.0' })) });
    const options: ProviderCacheOptions = { directory: join(scope.directory, 'cache'), hosts: registry.hosts(HOST), environment: {} };
    const requests = registry.releases.map(({ release, packages }) => ({
      request: { source: `${HOST}/${release.address}`, version: '1.0.0', platform: 'linux_amd64' },
      expectedHashes: [`zh:${packages.get('linux_amd64')?.sha256 ?? ''}`],
    }));
    try {
      await timed(options, (cache) => Promise.all(requests.map(({ request }) => cache.ensure(request))));
      await registry.close();
      scope.say('warm and offline');
      const warm = { ...options, offline: true };
      const times = await interleave(scope.rounds(100), {
        ours: () => timed(warm, (cache) => Promise.all(requests.map(({ request, expectedHashes }) => cache.ensure(request, { expectedHashes })))),
        bare: () => timed(warm, async (cache) => { for (const { request } of requests) await cache.ensure(request); }),
      });
      return [comparison('20 providers with expected hashes, warm, offline', times.ours, '20 bare hits', times.bare, 1.5)];
    } finally {
      await registry.close();
    }
  },
};
