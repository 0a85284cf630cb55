/**
 * Nobody waits for caches: from the moment at which A's publish has returned, B's next look has it. What is measured contains the machine's own noise, so
 * the best of several rounds counts, and what a look-up by all of them takes right afterwards is taken off.
 */
import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { ProviderCache, ProviderRequest } from '../../src/index.ts';
import { HOST, openCache, withRegistry } from '../cache/support.ts';
import { theLab, withSharedDirectory } from './lab.ts';

const MOUNTS = theLab().slowB === undefined ? (['b'] as const) : (['b', 'slowB'] as const);
const VERSIONS = ['1.0.0', '2.0.0', '3.0.0', '4.0.0'];
/** As the promise has it: beside the publish itself. */
const LIMIT_MS = 100;
/** So long that whoever waits has begun to. */
const DOWNLOAD_MS = 700;

/** When B's polling look-up had it. */
async function poll(cache: ProviderCache, request: ProviderRequest): Promise<number> {
  while ((await cache.lookup(request)) === undefined) await setTimeout(20);
  return performance.now();
}

/** When B's `ensure`, which had to wait for A, had it. */
async function wait(cache: ProviderCache, request: ProviderRequest): Promise<number> {
  assert.equal((await cache.ensure(request)).outcome, 'joined');
  return performance.now();
}

describe('B waits for what A publishes', () => {
  it(`at most ${LIMIT_MS} ms longer than A itself, under default mount options and under actimeo=60`, async (t) => {
    const shared = await withSharedDirectory(t);
    const registry = await withRegistry(t, { providers: VERSIONS.map((version) => ({ address: 'acme/thing', version })) });
    registry.faults.inject({ on: 'zip', delayMs: DOWNLOAD_MS });
    const open = (directory: string): Promise<ProviderCache> => openCache(t, registry, { directory: join(directory, 'cache') });
    const a = await open(shared.a);
    const kinds = await Promise.all(
      MOUNTS.flatMap((mount) => [poll, wait].map(async (how) => ({ name: `${how === poll ? 'a polling lookup' : 'a waiting ensure'}, ${mount === 'b' ? 'default' : 'actimeo=60'}`, how, cache: await open(String(shared[mount])) }))),
    );
    const waits = new Map(kinds.map(({ name }) => [name, [] as number[]]));
    const looks: number[] = [];
    for (const version of VERSIONS) {
      const request = { source: `${HOST}/acme/thing`, version, platform: 'linux_amd64' };
      const installing = a.ensure(request).then(({ outcome }) => {
        assert.equal(outcome, 'installed');
        return performance.now();
      });
      while (registry.count('zip') < VERSIONS.indexOf(version) + 1) await setTimeout(5);
      const seen = await Promise.all(kinds.map(async ({ name, how, cache }) => ({ name, at: await how(cache, request) })));
      const published = await installing;
      const begun = performance.now();
      await Promise.all(kinds.map(async ({ cache }) => cache.lookup(request)));
      const floor = performance.now() - begun;
      looks.push(floor);
      for (const { name, at } of seen) waits.get(name)?.push(at - published - floor);
    }
    t.diagnostic(`a look-up by all at once takes ${looks.map(Math.round).join(', ')} ms`);
    for (const [name, times] of waits) t.diagnostic(`${name}: ${times.map(Math.round).join(', ')} ms beyond that after A's ensure has returned`);
    for (const [name, times] of waits) assert.ok(Math.min(...times) <= LIMIT_MS, `${name} waited ${times.map(Math.round).join(', ')} ms`);
    assert.equal(registry.count('zip'), VERSIONS.length);
  });

  for (const mount of MOUNTS) {
    it(`is needed: plain stat does not see it within a second, ${mount === 'b' ? 'default' : 'actimeo=60'}`, async (t) => {
      const shared = await withSharedDirectory(t);
      const registry = await withRegistry(t, { providers: [{ address: 'acme/thing', version: '1.2.3', platforms: ['linux_amd64', 'linux_arm64'] }] });
      const a = await openCache(t, registry, { directory: join(shared.a, 'cache') });
      const { path } = await a.ensure({ source: `${HOST}/acme/thing`, version: '1.2.3', platform: 'linux_amd64' });
      const next = join(path, '../linux_arm64').replace(shared.a, String(shared[mount]));
      const isThere = async (): Promise<boolean> => stat(next).then(() => true, () => false);
      assert.equal(await isThere(), false);
      await a.ensure({ source: `${HOST}/acme/thing`, version: '1.2.3', platform: 'linux_arm64' });
      const begun = performance.now();
      while (performance.now() - begun < 1000) {
        assert.equal(await isThere(), false);
        await setTimeout(20);
      }
    });
  }
});
