/**
 * What the library is for: many processes on two hosts want the same packages of an empty cache, and each is downloaded once, whatever
 * happens meanwhile. The processes are started once, since that takes most of the time, and do each row in a directory of its own.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { EnsureReport, EnsureTask } from '../cache/fixtures/ensure.ts';
import { HOST, treeOf, withRegistry } from '../cache/support.ts';
import { startChild, type Child } from '../support/child.ts';
import type { EmbeddedRegistry } from '../support/registry/index.ts';
import { hashDirectory } from '../../src/verify/index.ts';
import { cutOff, rejoin, restartServer } from './faults.ts';
import { withoutFaults, withSharedDirectory, type SharedDirectory } from './lab.ts';

const EACH = Number(process.env['RWX_CACHE_NFS_PROCESSES'] ?? 16);
const KILLS = EACH / 2;
/** Between two kills. */
const LONGEST_PAUSE_MS = 500;
const SEED = Number(process.env['RWX_CACHE_SEED'] ?? randomInt(2 ** 31));

const TYPES = ['one', 'two', 'three'];
const REQUESTS = TYPES.map((type) => ({ source: `${HOST}/acme/${type}`, version: '1.0.0', platform: 'linux_amd64' }));
const PACKAGE_BYTES = 1 << 18;

/** All processes, and the registry that they ask. */
interface Crowd {
  readonly registry: EmbeddedRegistry;
  /** Those with an even number are on A, the others on B. */
  readonly children: readonly Child[];
}

async function gather(t: TestContext): Promise<Crowd> {
  const files = (type: string) => ({ LICENSE: type, [`terraform-provider-${type}_v1.0.0`]: { data: randomBytes(PACKAGE_BYTES), mode: 0o100755 } });
  const registry = await withRegistry(t, { providers: TYPES.map((type) => ({ address: `acme/${type}`, version: '1.0.0', files: files(type) })) });
  const begun = performance.now();
  const children = await Promise.all(
    Array.from({ length: 2 * EACH }, async () => {
      const child = startChild(t, new URL('../cache/fixtures/ensure.js', import.meta.url));
      assert.equal(await child.message(), 'ready');
      return child;
    }),
  );
  t.diagnostic(`${children.length} processes started in ${seconds(begun)}`);
  return { registry, children };
}

/** What came of one row. */
interface Outcome {
  /** `undefined`: of a process that was killed before it was done. */
  readonly reports: readonly (readonly EnsureReport[] | undefined)[];
  readonly downloads: number;
}

/**
 * Sets all of them off at once, does something to them as soon as the first download has begun, and hears them all. Each wants one package after the
 * other, and a third of them begins with each, so that with a process that is killed at most one download is lost.
 */
async function ensureAll(t: TestContext, crowd: Crowd, shared: SharedDirectory, meanwhile?: () => Promise<void>): Promise<Outcome> {
  const { registry, children } = crowd;
  const before = registry.count('zip');
  const begun = performance.now();
  for (const [index, child] of children.entries()) {
    const directory = join(index % 2 === 0 ? shared.a : shared.b, 'cache');
    const requests = REQUESTS.map((_, at) => REQUESTS[(at + index) % REQUESTS.length] ?? _);
    child.process.send({ cache: { directory, hosts: registry.hosts(HOST) }, requests, oneByOne: true } satisfies EnsureTask);
  }
  const reportsToCome = Promise.all(children.map(async (child) => child.message().catch(() => undefined)));
  while (registry.count('zip') === before) await setTimeout(5);
  await meanwhile?.();
  const reports = (await reportsToCome) as (readonly EnsureReport[] | undefined)[];
  const downloads = registry.count('zip') - before;
  t.diagnostic(`${downloads} downloads; ${seconds(begun)} from the first request to the last result`);
  return { reports, downloads };
}

/** Nobody failed, and all got the same; on either host there is nothing but the whole packages. */
async function checkAll(shared: SharedDirectory, { reports }: Outcome): Promise<EnsureReport[]> {
  const all = reports.flatMap((own) => own ?? []);
  assert.deepEqual(
    all.filter(({ error }) => error !== undefined),
    [],
  );
  const contents: string[] = [];
  for (const type of TYPES) {
    const entry = `${HOST}/acme/${type}/1.0.0/linux_amd64`;
    contents.push(`${entry}.lock`, `${entry}/LICENSE`, `${entry}/terraform-provider-${type}_v1.0.0`);
    const own = all.filter(({ source }) => source.endsWith(`/${type}`)).map(({ h1 }) => h1);
    for (const side of [shared.a, shared.b]) own.push(await hashDirectory(join(side, 'cache/providers', entry)));
    assert.equal(new Set(own).size, 1);
  }
  for (const side of [shared.a, shared.b]) assert.deepEqual(await treeOf(join(side, 'cache/providers')), contents.sort());
  return all;
}

describe(`2 hosts with ${EACH} processes each, 3 packages, an empty cache`, () => {
  it('cause 3 downloads', async (t) => {
    const crowd = await gather(t);

    await t.test(`and get ${2 * EACH * TYPES.length} good results`, async (row) => {
      const shared = await withSharedDirectory(row);
      const outcome = await ensureAll(row, crowd, shared);
      const all = await checkAll(shared, outcome);
      assert.equal(all.length, 2 * EACH * TYPES.length);
      assert.equal(all.filter((report) => report.outcome === 'installed').length, TYPES.length);
      assert.equal(outcome.downloads, TYPES.length);
    });

    await t.test('also when the server is restarted in the middle', { skip: withoutFaults() }, async (row) => {
      const shared = await withSharedDirectory(row);
      const outcome = await ensureAll(row, crowd, shared, restartServer);
      assert.equal((await checkAll(shared, outcome)).length, 2 * EACH * TYPES.length);
      assert.equal(outcome.downloads, TYPES.length);
    });

    await t.test('or at most one more for each package when one of them is cut off for 20 s in the middle', { skip: withoutFaults() }, async (row) => {
      const shared = await withSharedDirectory(row);
      const outcome = await ensureAll(row, crowd, shared, async () => {
        cutOff('b');
        await setTimeout(20_000);
        rejoin('b');
      });
      assert.equal((await checkAll(shared, outcome)).length, 2 * EACH * TYPES.length);
      assert.ok(outcome.downloads <= 2 * TYPES.length);
    });

    await t.test(`or at most one more for each process that is killed: ${KILLS} of them, at random moments (seed ${SEED})`, async (row) => {
      const shared = await withSharedDirectory(row);
      const random = randomNumbers(SEED);
      const victims = new Set<Child | undefined>();
      while (victims.size < KILLS) victims.add(crowd.children[Math.floor(random() * crowd.children.length)]);
      // Long enough to be killed in.
      crowd.registry.faults.inject({ on: 'zip', bytesPerSecond: PACKAGE_BYTES });
      const killAll = async (): Promise<void> => {
        for (const victim of victims) {
          await setTimeout(random() * LONGEST_PAUSE_MS);
          victim?.process.kill('SIGKILL');
        }
      };
      const outcome = await ensureAll(row, crowd, shared, killAll);
      const killed = outcome.reports.filter((own) => own === undefined).length;
      row.diagnostic(`${killed} were killed before they were done`);
      assert.ok(killed > 0);
      assert.equal((await checkAll(shared, outcome)).length, (2 * EACH - killed) * TYPES.length);
      assert.ok(outcome.downloads <= TYPES.length + killed);
    });
  });
});

function seconds(begun: number): string {
  return `${((performance.now() - begun) / 1000).toFixed(1)} s`;
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
