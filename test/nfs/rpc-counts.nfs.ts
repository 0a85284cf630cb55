/** How many RPCs the operations cost: counts, not times, so that they are the same on every machine. */
import assert from 'node:assert/strict';
import { release } from 'node:os';
import { basename, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { statFresh, writeFileAtomic } from '../../src/atomic/index.ts';
import { acquireLock } from '../../src/lock/index.ts';
import { tryBareLock } from '../../src/lock/bare-lock.ts';
import { HOST, openCache, withRegistry } from '../cache/support.ts';
import { writeManyEntries } from './fixtures/entries.ts';
import { theLab, withoutFaults, withSharedDirectory } from './lab.ts';
import { countRpcs, describeCounts, sum, type RpcCounts } from './mount-stats.ts';
import { EXPORT } from './server.ts';

const { a } = theLab();

/** The client gives back what the server lent it with a file that was opened before (a delegation) when it likes, in the middle of something else. */
const LENT = ['DELEGRETURN'];

/** What a client sends for a call is its kernel's business: on another one the counts are shown, and hold nobody to anything. */
const PINNED = /^6\.1\./u.test(release());

function check(t: TestContext, counts: RpcCounts, budget: number, except: readonly string[] = []): void {
  t.diagnostic(`${describeCounts(counts)}${PINNED ? '' : `; the budget of ${budget} is for 6.1, and this is ${release()}`}`);
  if (PINNED) assert.ok(sum(counts, except) <= budget, `${describeCounts(counts)}; the budget is ${budget}`);
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

  it('taking and releasing a kernel lock: 5; 7 where the file is asked for by its name, and names its holder', async (t) => {
    const shared = await withSharedDirectory(t);
    const path = join(shared.a, 'lock');
    const bare = async (): Promise<void> => {
      await (await tryBareLock(path, { mode: 'exclusive' }))?.release();
    };
    const named = async (): Promise<void> => {
      await (await acquireLock(path)).release();
    };
    await named();
    check(t, await countRpcs(a, bare), 5, LENT);
    check(t, await countRpcs(a, named), 7, LENT);
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

  it('installing a package of one file into an existing version directory: 38 beside reads and writes of its bytes', async (t) => {
    const shared = await withSharedDirectory(t);
    const files = { 'terraform-provider-thing_v1.0.0': { data: Buffer.alloc(1000, 'x'), mode: 0o100755 } };
    const registry = await withRegistry(t, { providers: [{ address: 'acme/thing', version: '1.0.0', platforms: ['linux_amd64', 'linux_arm64', 'darwin_arm64'], files }] });
    const cache = await openCache(t, registry, { directory: join(shared.a, 'cache') });
    const request = (platform: string) => ({ source: `${HOST}/acme/thing`, version: '1.0.0', platform });
    await cache.ensure(request('linux_amd64'));
    // The sweep that follows the first entry is not part of it.
    await setTimeout(500);
    for (const platform of ['linux_arm64', 'darwin_arm64']) {
      const counts = await countRpcs(a, () => cache.ensure(request(platform)));
      // Of the writes one is the zip's and one the file's; the others are the holder's name, the record, and the fence. One file is lent: the zip.
      check(t, counts, 38 + 2 - 1, ['READ', ...LENT]);
    }
  });

  it('listing 1000 packages: 2 for each directory, once they are known; before that 3, and 6 for each package', { skip: withoutFaults() }, async (t) => {
    const shared = await withSharedDirectory(t);
    const registry = await withRegistry(t);
    const entries = await writeManyEntries(join(EXPORT, basename(shared.a), 'cache'), 1000);
    const cache = await openCache(t, registry, { directory: join(shared.a, 'cache') });
    let listed = 0;
    const list = async (): Promise<void> => {
      for await (const { path } of cache.list()) if (path.startsWith(shared.a)) listed += 1;
    };
    const first = await countRpcs(a, list);
    assert.equal(listed, 1000);
    // Reading one that was never read takes an ACCESS more; a package has its directory (GETATTR), its record (OPEN, READ, CLOSE) and its executable (ACCESS, LOOKUP).
    check(t, first, 3 * entries.directories + 6 * 1000 + 10, LENT);
    check(t, await countRpcs(a, list), 2 * (entries.directories + 1000), LENT);
  });
});
