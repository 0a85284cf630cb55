/** How many RPCs the operations cost: counts, not times, so that they are the same on every machine. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { statFresh, writeFileAtomic } from '../../src/atomic/index.ts';
import { acquireLock } from '../../src/lock/index.ts';
import { tryBareLock } from '../../src/lock/bare-lock.ts';
import { HOST, openCache, withRegistry } from '../cache/support.ts';
import { theLab, withSharedDirectory } from './lab.ts';
import { countRpcs, describeCounts, sum, type RpcCounts } from './mount-stats.ts';

const { a } = theLab();
/** Bytes that are read and written are not what a budget is about. */
const BYTES = ['READ', 'WRITE'];

function check(t: TestContext, counts: RpcCounts, budget: number, except: readonly string[] = []): void {
  t.diagnostic(describeCounts(counts));
  assert.ok(sum(counts, except) <= budget, `${describeCounts(counts)}; the budget is ${budget}`);
}

describe('the RPCs of', () => {
  it('deciding that a name is missing: 3', async (t) => {
    const shared = await withSharedDirectory(t);
    const path = join(shared.a, 'missing');
    await statFresh(path);
    check(t, await countRpcs(a, () => statFresh(path)), 3);
  });

  it('publishing a file durably: 6', async (t) => {
    const shared = await withSharedDirectory(t);
    await writeFileAtomic(join(shared.a, 'first'), 'content');
    check(t, await countRpcs(a, () => writeFileAtomic(join(shared.a, 'second'), 'content')), 6);
    t.diagnostic(`keeping what is there: ${describeCounts(await countRpcs(a, () => writeFileAtomic(join(shared.a, 'third'), 'content', { ifExists: 'keep' })))}`);
  });

  it('taking and releasing a kernel lock: 5', { todo: 'the check that the file still is the one at its path takes 2 more' }, async (t) => {
    const shared = await withSharedDirectory(t);
    const path = join(shared.a, 'lock');
    await (await acquireLock(path)).release();
    const bare = await countRpcs(a, async () => {
      await (await tryBareLock(path, { mode: 'exclusive' }))?.release();
    });
    const named = await countRpcs(a, async () => {
      await (await acquireLock(path)).release();
    });
    t.diagnostic(`with the holder's name in the file: ${describeCounts(named)}`);
    check(t, bare, 5);
  });

  it('a hit: 4 the first time, 2 repeated', async (t) => {
    const shared = await withSharedDirectory(t);
    const registry = await withRegistry(t);
    const request = { source: `${HOST}/acme/thing`, version: '1.2.3', platform: 'linux_amd64' };
    await (await openCache(t, registry, { directory: join(shared.b, 'cache') })).ensure(request);
    const cache = await openCache(t, registry, { directory: join(shared.a, 'cache') });
    t.diagnostic(`all anew: ${describeCounts(await countRpcs(a, () => cache.ensure(request)))}`);
    const other = await openCache(t, registry, { directory: join(shared.a, 'cache') });
    const first = await countRpcs(a, () => other.ensure(request));
    const repeated = await countRpcs(a, () => other.ensure(request));
    t.diagnostic(`repeated: ${describeCounts(repeated)}`);
    check(t, first, 4);
    check(t, repeated, 2);
    const missing = { ...request, version: '2.0.0' };
    await other.lookup(missing);
    check(t, await countRpcs(a, () => other.lookup(missing)), 3);
  });

  it('installing a package of one file into an existing version directory: 38 beside its bytes', { todo: 'it takes twice as many' }, async (t) => {
    const shared = await withSharedDirectory(t);
    const files = { 'terraform-provider-thing_v1.0.0': { data: Buffer.alloc(1000, 'x'), mode: 0o100755 } };
    const registry = await withRegistry(t, { providers: [{ address: 'acme/thing', version: '1.0.0', platforms: ['linux_amd64', 'linux_arm64', 'darwin_arm64'], files }] });
    const cache = await openCache(t, registry, { directory: join(shared.a, 'cache') });
    const request = (platform: string) => ({ source: `${HOST}/acme/thing`, version: '1.0.0', platform });
    await cache.ensure(request('linux_amd64'));
    // The sweep that follows the first entry is not part of it.
    await setTimeout(500);
    const counts = await countRpcs(a, () => cache.ensure(request('linux_arm64')));
    t.diagnostic(`again: ${describeCounts(await countRpcs(a, () => cache.ensure(request('darwin_arm64'))))}`);
    check(t, counts, 38, BYTES);
  });
});
