/** Sixty-four processes, one cache: one download for each package, whoever is killed, and never a partial entry. */
import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { hashZipContents } from '../../src/verify/index.ts';
import { startChild, type Child } from '../support/child.ts';
import type { EmbeddedRegistry } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import type { EnsureReport, EnsureTask } from './fixtures/ensure.ts';
import type { WatchReport, WatchTask } from './fixtures/watch.ts';
import { HOST, openCache, treeOf, withRegistry } from './support.ts';

const PROCESSES = 64;
/** 20 for a full run: `RWX_CACHE_ROUNDS=20`. */
const ROUNDS = Number(process.env['RWX_CACHE_ROUNDS'] ?? 3);
const TYPES = ['one', 'two', 'three'];
const REQUESTS = TYPES.map((type) => ({ source: `${HOST}/acme/${type}`, version: '1.0.0', platform: 'linux_amd64' }));

/** Three packages of a megabyte, and the hash that each has by its zip. */
async function withThreePackages(t: TestContext): Promise<{ registry: EmbeddedRegistry; hashes: Record<string, string> }> {
  const providers = TYPES.map((type) => ({
    address: `acme/${type}`,
    version: '1.0.0',
    files: { LICENSE: type, [`terraform-provider-${type}_v1.0.0`]: { data: randomBytes(1 << 20), mode: 0o100755 } },
  }));
  const registry = await withRegistry(t, { providers });
  const scratch = await withTemporaryDirectory(t);
  const hashes: Record<string, string> = {};
  for (const { release, packages } of registry.releases) {
    const zip = join(scratch, 'package.zip');
    await writeFile(zip, packages.get('linux_amd64')?.source as Uint8Array);
    hashes[`${HOST}/${release.address}/1.0.0/linux_amd64`] = await hashZipContents(zip);
  }
  return { registry, hashes };
}

async function startReady(t: TestContext, program: string): Promise<Child> {
  const child = startChild(t, new URL(`./fixtures/${program}.js`, import.meta.url));
  assert.equal(await child.message(), 'ready');
  return child;
}

async function startProcesses(t: TestContext, count: number): Promise<Child[]> {
  return Promise.all(Array.from({ length: count }, () => startReady(t, 'ensure')));
}

/** An empty cache, watched by a reader from before its first entry to after its last. */
async function watched(t: TestContext, watcher: Child, hashes: Record<string, string>, use: (directory: string) => Promise<void>): Promise<WatchReport> {
  const directory = join(await withTemporaryDirectory(t), 'cache');
  await mkdir(join(directory, 'providers'), { recursive: true });
  watcher.process.send({ providers: join(directory, 'providers'), hashes } satisfies WatchTask);
  await use(directory);
  watcher.process.send('stop');
  return (await watcher.message()) as WatchReport;
}

/** What must hold whatever happened: three whole entries, nothing else in the tree, and no staging of the living. */
async function assertWhole(t: TestContext, directory: string, registry: EmbeddedRegistry, hashes: Record<string, string>): Promise<void> {
  const cache = await openCache(t, registry, { directory, verifyOnHit: 'hash', offline: true });
  for (const request of REQUESTS) {
    const found = await cache.ensure(request);
    assert.equal(found.hashes[0], hashes[`${HOST}/acme/${found.address.type}/1.0.0/linux_amd64`]);
  }
  await cache.close();
  const entries = (await treeOf(join(directory, 'providers'))).filter((path) => !path.endsWith('.lock'));
  assert.equal(entries.length, TYPES.length * 2);
}

describe(`${PROCESSES} processes that ask for 3 packages at once`, () => {
  it(`cause 3 downloads and get ${PROCESSES * 3} good results, ${ROUNDS} times in a row`, async (t) => {
    const { registry, hashes } = await withThreePackages(t);
    const watcher = await startReady(t, 'watch');
    const processes = await startProcesses(t, PROCESSES);
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = registry.count('zip');
      const seen = await watched(t, watcher, hashes, async (directory) => {
        for (const child of processes) child.process.send({ cache: { directory, hosts: registry.hosts(HOST) }, requests: REQUESTS } satisfies EnsureTask);
        const reports = (await Promise.all(processes.map((child) => child.message()))).flat() as EnsureReport[];
        assert.deepEqual(reports.filter(({ error }) => error !== undefined), []);
        assert.equal(reports.length, PROCESSES * 3);
        for (const { source, h1 } of reports) assert.equal(h1, hashes[`${source}/1.0.0/linux_amd64`]);
        assert.equal(reports.filter(({ outcome }) => outcome === 'installed').length, 3);
        await assertWhole(t, directory, registry, hashes);
        assert.deepEqual(await readdir(join(directory, 'state/staging')), []);
        assert.deepEqual(await readdir(join(directory, 'state/presence')), []);
      });
      assert.equal(registry.count('zip') - before, 3);
      assert.deepEqual(seen.wrong, []);
      assert.ok(seen.hashed > 0);
    }
  });

  it('survive that one in four of them is killed at a random moment', async (t) => {
    const { registry, hashes } = await withThreePackages(t);
    // So slow that most kills strike in the middle of an installation.
    for (const type of TYPES) registry.faults.inject({ on: 'zip', path: type, bytesPerSecond: 2 << 20 });
    const watcher = await startReady(t, 'watch');
    const kills = PROCESSES / 4;
    for (let round = 0; round < ROUNDS; round += 1) {
      const processes = await startProcesses(t, PROCESSES);
      const before = registry.count('zip');
      const moments = Array.from({ length: kills }, () => randomInt(0, 1500));
      const seen = await watched(t, watcher, hashes, async (directory) => {
        for (const child of processes) child.process.send({ cache: { directory, hosts: registry.hosts(HOST) }, requests: REQUESTS } satisfies EnsureTask);
        moments.forEach((moment, index) => setTimeout(() => processes[index]?.process.kill('SIGKILL'), moment));
        const survivors = processes.slice(kills);
        const reports = (await Promise.all(survivors.map((child) => child.message()))).flat() as EnsureReport[];
        assert.deepEqual(reports.filter(({ error }) => error !== undefined), [], `killed after ${moments.join(', ')} ms`);
        assert.equal(reports.length, survivors.length * 3);
        await Promise.all(processes.slice(0, kills).map((child) => child.ended));
        await assertWhole(t, directory, registry, hashes);
      });
      for (const child of processes) child.process.kill();
      assert.ok(registry.count('zip') - before <= 3 + kills, `${registry.count('zip') - before} downloads`);
      assert.deepEqual(seen.wrong, []);
      assert.ok(seen.hashed > 0);
    }
  });
});
