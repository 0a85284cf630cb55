/** Real processes that prune, pin, install and are killed, all at once: what is pinned is there, and whatever is there is whole. */
import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { ProviderCacheOptions } from '../../src/index.ts';
import { hashDirectory } from '../../src/verify/index.ts';
import { startChild, type Child } from '../support/child.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import type { RaceReport } from './fixtures/mark-race.ts';
import type { PruneReport } from './fixtures/prune.ts';
import type { UseReport, UseTask } from './fixtures/use.ts';
import { HOST, openCache, treeOf, withRegistry } from './support.ts';

/** 2000 for a full run: `RWX_CACHE_ROUNDS=2000`. */
const ROUNDS = Number(process.env['RWX_CACHE_ROUNDS'] ?? 200);

const TYPES = ['one', 'two', 'three'];
const REQUESTS = TYPES.map((type) => ({ source: `${HOST}/acme/${type}`, version: '1.0.0', platform: 'linux_amd64' }));

/** Three small packages, and the options of a cache for each process. Nothing is signed: this is about what lies on disk. */
async function withPackages(t: TestContext): Promise<{ options: ProviderCacheOptions; directory: string }> {
  const providers = TYPES.map((type) => ({
    address: `acme/${type}`,
    version: '1.0.0',
    files: { [`terraform-provider-${type}_v1.0.0`]: { data: randomBytes(20_000), mode: 0o100755 }, LICENSE: type },
  }));
  const registry = await withRegistry(t, { providers });
  const directory = await withTemporaryDirectory(t);
  return { directory, options: { directory, hosts: registry.hosts(HOST), verification: { signature: 'off' } } };
}

async function start(t: TestContext, program: string, args: readonly string[] = []): Promise<Child> {
  const child = startChild(t, new URL(`./fixtures/${program}.js`, import.meta.url), args);
  assert.equal(await child.message(), 'ready');
  return child;
}

async function stop<T>(child: Child): Promise<T> {
  child.process.send('stop');
  return (await child.message()) as T;
}

/** Every entry in the tree, and in the trash, is one whole package. */
async function assertWhole(t: TestContext, options: ProviderCacheOptions): Promise<void> {
  const cache = await openCache(t, undefined, { ...options, verifyOnHit: 'hash', offline: true });
  const hashes = new Set<string>();
  for await (const { hashes: [h1] } of cache.list()) hashes.add(String(h1));
  const trash = join(cache.directory, 'state/trash');
  for (const name of await readdir(trash)) hashes.add(await hashDirectory(join(trash, name)));
  assert.ok(hashes.size <= TYPES.length, `${hashes.size} different trees`);
  const entries = (await treeOf(cache.providersDirectory)).filter((path) => path.includes('/linux_amd64/'));
  let listed = 0;
  for await (const found of cache.list()) listed += found.hashes.length > 0 ? 1 : 0;
  assert.equal(entries.length, 2 * listed);
}

describe('processes that pin and processes that prune', () => {
  it(`never find an entry pinned and gone, ${ROUNDS * 2} times in each of two processes`, async (t) => {
    const state = await withTemporaryDirectory(t);
    await mkdir(join(state, 'trash'));
    const pruners = [await start(t, 'mark-race', [state, 'prune']), await start(t, 'mark-race', [state, 'prune'])];
    const pinners = [await start(t, 'mark-race', [state, 'pin', String(ROUNDS * 2)]), await start(t, 'mark-race', [state, 'pin', String(ROUNDS * 2)])];
    for (const child of [...pruners, ...pinners]) child.process.send('go');
    const pinned = (await Promise.all(pinners.map((child) => child.message()))) as RaceReport[];
    const pruned = await Promise.all(pruners.map((child) => stop<RaceReport>(child)));
    t.diagnostic(`pruned ${pruned.map(({ done }) => done).join(' + ')} times`);
    assert.deepEqual(pinned, [{ done: ROUNDS * 2, bad: 0 }, { done: ROUNDS * 2, bad: 0 }]);
    assert.ok(pruned.some(({ done }) => done > 0));
  });

  it(`of whole packages likewise: ${ROUNDS} uses by 8 callers in 2 processes, beside 2 processes that prune everything`, async (t) => {
    const { options } = await withPackages(t);
    const pruners = [await start(t, 'prune'), await start(t, 'prune')];
    const users = [await start(t, 'use'), await start(t, 'use')];
    for (const child of pruners) child.process.send(options);
    const task: UseTask = { cache: options, requests: REQUESTS, atOnce: 4, rounds: ROUNDS / 2 };
    for (const child of users) child.process.send(task);
    const used = (await Promise.all(users.map((child) => child.message()))) as UseReport[];
    const pruned = await Promise.all(pruners.map((child) => stop<PruneReport>(child)));
    t.diagnostic(`${JSON.stringify(used.map(({ outcomes }) => outcomes))}, ${JSON.stringify(pruned)}`);
    assert.deepEqual(used.map(({ bad }) => bad), [[], []]);
    assert.deepEqual(pruned.map(({ failed }) => failed), [[], []]);
    assert.ok(pruned.some(({ removed }) => removed > 0) && pruned.some(({ pinned }) => pinned > 0));
    await assertWhole(t, options);
  });
});

describe('a process that is killed', () => {
  it('while it prunes leaves each entry whole, in the tree or in the trash, and holds up nobody', async (t) => {
    const { options, directory } = await withPackages(t);
    const cache = await openCache(t, undefined, options);
    const waits: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      const child = await start(t, 'prune');
      child.process.send(options);
      const until = performance.now() + randomInt(50, 300);
      while (performance.now() < until) {
        const begun = performance.now();
        const { path, hashes, pin } = await cache.ensure(REQUESTS[round % REQUESTS.length] ?? { source: '', version: '' }, { pin: true });
        waits.push(performance.now() - begun);
        assert.equal(await hashDirectory(path), hashes[0]);
        await pin?.release();
      }
      child.process.kill('SIGKILL');
      await child.ended;
      const begun = performance.now();
      await (await cache.ensure(REQUESTS[0] ?? { source: '', version: '' }, { pin: true })).pin?.release();
      waits.push(performance.now() - begun);
    }
    t.diagnostic(`${waits.length} calls, the longest took ${Math.round(Math.max(...waits))} ms`);
    // A mark that counted after its process would hold for ever; this is the limit of a busy machine, not of a wait.
    assert.ok(Math.max(...waits) < 20_000);
    await assertWhole(t, options);
    await cache.prune({ maxBytes: 0 });
    assert.deepEqual((await treeOf(join(directory, 'providers'))).filter((path) => !path.endsWith('.lock')), []);
  });

  it('and has pinned something gives it free', async (t) => {
    const { options } = await withPackages(t);
    const cache = await openCache(t, undefined, options);
    const child = startChild(t, new URL('./fixtures/ensure.js', import.meta.url));
    assert.equal(await child.message(), 'ready');
    child.process.send({ cache: options, requests: REQUESTS, options: { pin: true } });
    assert.equal(((await child.message()) as unknown[]).length, TYPES.length);
    // Its cache is closed by now, and its pins hold all the same.
    assert.equal((await cache.prune({ maxBytes: 0 })).pinned.length, TYPES.length);
    child.process.kill('SIGKILL');
    await child.ended;
    assert.equal((await cache.prune({ maxBytes: 0 })).removed.length, TYPES.length);
  });
});
