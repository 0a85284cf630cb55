/** A takes away, or damages and repairs, what B has seen: B's cached hit outlives the entry by 19 s, and must not be believed. */
import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { writeFileAtomic } from '../../src/atomic/index.ts';
import type { ProviderCache, PrunePolicy } from '../../src/index.ts';
import { HOST, openCache, THING, THING_PATH, withRegistry } from '../cache/support.ts';
import { theLab, withSharedDirectory } from './lab.ts';
import { countRpcs, describeCounts, sum, type RpcCounts } from './mount-stats.ts';

const EVERYTHING: PrunePolicy = { maxBytes: 0 };

/** Both clients have the entry, and B has looked at it for so long that its cache is sure of it. */
async function withSeenEntry(t: TestContext, settledMs: number): Promise<{ a: ProviderCache; b: ProviderCache; entryA: string; entryB: string; zips: () => number; away: string }> {
  const shared = await withSharedDirectory(t);
  const registry = await withRegistry(t);
  const options = { hosts: registry.hosts(HOST), settleMs: 100 };
  const a = await openCache(t, registry, { directory: join(shared.a, 'cache'), ...options });
  const b = await openCache(t, registry, { directory: join(shared.b, 'cache'), ...options });
  await a.ensure(THING);
  await mkdir(join(shared.a, 'away'));
  for (let looks = 0; looks < 2; looks += 1) {
    const { executable } = await b.ensure(THING);
    await readFile(executable);
    await setTimeout(looks === 0 ? settledMs : 0);
  }
  return { a, b, entryA: join(shared.a, 'cache', THING_PATH), entryB: join(shared.b, 'cache', THING_PATH), zips: () => registry.count('zip'), away: join(shared.a, 'away', 'entry') };
}

// The waits are beside one another: each row has a directory of its own.
describe('an entry that another host takes away', { concurrency: true }, () => {
  it('is no hit any more', async (t) => {
    const { b, entryA, entryB, away, zips } = await withSeenEntry(t, 12_000);
    await rename(entryA, away);
    // The control: this client's plain stat still shows it.
    t.diagnostic(`plain stat says ${(await stat(entryB).catch(() => undefined)) === undefined ? 'missing' : 'present'}`);
    assert.equal(await b.lookup(THING), undefined);
    const again = await b.ensure(THING);
    assert.equal(again.outcome, 'installed');
    assert.equal(zips(), 2);
    assert.ok((await stat(again.executable)).isFile());
  });

  it('by a prune is no hit any more', async (t) => {
    const { a, b, entryB, zips } = await withSeenEntry(t, 12_000);
    assert.equal((await a.prune(EVERYTHING)).removed.length, 1);
    t.diagnostic(`plain stat says ${(await stat(entryB).catch(() => undefined)) === undefined ? 'missing' : 'present'}`);
    assert.equal(await b.lookup(THING), undefined);
    const again = await b.ensure(THING, { pin: true });
    assert.equal(again.outcome, 'installed');
    assert.equal(zips(), 2);
    assert.equal((await a.prune(EVERYTHING)).pinned.length, 1);
    assert.ok((await stat(again.executable)).isFile());
  });

  it('is no hit when the directories above it are removed as well', async (t) => {
    const { b, entryA } = await withSeenEntry(t, 0);
    await rm(join(entryA, '../..'), { recursive: true });
    assert.equal(await b.lookup(THING), undefined);
    assert.equal((await b.ensure(THING)).outcome, 'installed');
  });

  it('is needed: plain stat still shows it', async (t) => {
    const { entryA, entryB, away } = await withSeenEntry(t, 12_000);
    await stat(entryB);
    await rename(entryA, away);
    assert.notEqual(await stat(entryB).catch(() => undefined), undefined);
  });
});

describe('an entry that another host prunes', () => {
  it('stays whole while it is pinned from here, and is no hit any more when it has gone', async (t) => {
    const { a, b, entryB } = await withSeenEntry(t, 0);
    const { pin, executable } = await b.ensure(THING, { pin: true });
    const { removed, pinned } = await a.prune(EVERYTHING);
    assert.deepEqual([removed, pinned.map(({ package: path }) => path)], [[], [THING_PATH.slice('providers/'.length)]]);
    assert.equal((await b.ensure(THING)).outcome, 'hit');
    assert.ok((await readFile(executable)).length > 0);
    await pin?.release();
    await stat(entryB);
    assert.equal((await a.prune(EVERYTHING)).removed.length, 1);
    assert.equal(await b.lookup(THING), undefined);
    assert.equal((await b.ensure(THING)).outcome, 'installed');
    assert.equal((await a.ensure(THING, { pin: true })).outcome, 'hit');
  });

  it('can be pinned by whom it was handed out to, or is told to be gone', async (t) => {
    const { a, b } = await withSeenEntry(t, 0);
    const found = await b.lookup(THING);
    assert.ok(found !== undefined);
    const pin = await b.pin(found);
    assert.equal((await a.prune(EVERYTHING)).pinned.length, 1);
    await pin.release();
    const counts = await countRpcs(theLab().a, async () => {
      assert.equal((await a.prune(EVERYTHING)).removed.length, 1);
    });
    t.diagnostic(`a prune of one entry: ${describeCounts(counts)}`);
    await assert.rejects(b.pin(found), { code: 'ERR_PACKAGE_MISSING' });
  });

  it('at the moment at which it is pinned is either kept or installed again: 12 times', async (t) => {
    const { a, b, entryA } = await withSeenEntry(t, 0);
    const begun = performance.now();
    await a.prune(EVERYTHING);
    const took = performance.now() - begun;
    await b.ensure(THING);
    const seen = { hit: 0, joined: 0, installed: 0, removed: 0, pinned: 0, busy: 0 };
    for (let round = 0; round < 12; round += 1) {
      const pruning = a.prune(EVERYTHING);
      await setTimeout((took * round) / 12);
      const { pin, outcome, executable } = await b.ensure(THING, { pin: true });
      const { removed, pinned, busy, failed } = await pruning;
      assert.deepEqual(failed, []);
      assert.ok((await readFile(executable)).length > 0);
      assert.ok((await stat(entryA)).isDirectory());
      seen[outcome as 'hit'] += 1;
      seen.removed += removed.length;
      seen.pinned += pinned.length;
      seen.busy += busy.length;
      await pin?.release();
    }
    t.diagnostic(JSON.stringify(seen));
  });

  it('costs little to pin: the RPCs of a repeated hit with a pin', async (t) => {
    const shared = await withSharedDirectory(t);
    const registry = await withRegistry(t);
    const b = await openCache(t, registry, { directory: join(shared.b, 'cache') });
    await (await b.ensure(THING, { pin: true })).pin?.release();
    await setTimeout(500);
    let released: RpcCounts = {};
    const pinned = await countRpcs(theLab().b, async () => {
      const { pin } = await b.ensure(THING, { pin: true });
      released = await countRpcs(theLab().b, async () => pin?.release());
    });
    t.diagnostic(`pin, hit and release: ${describeCounts(pinned)}; of that the release: ${describeCounts(released)}`);
    assert.ok(sum(pinned) <= 12, describeCounts(pinned));
  });
});

describe('an entry of which another host takes away a part', () => {
  for (const [what, spoil] of [
    ['removes its executable', (path: string) => rm(path)],
    ['replaces it by a rename', (path: string) => writeFileAtomic(path, 'spoiled')],
  ] as const) {
    it(`is no hit any more: ${what}`, async (t) => {
      const { b, entryA } = await withSeenEntry(t, 0);
      const [executable = ''] = (await readdir(entryA)).filter((name) => name.startsWith('terraform-provider-'));
      await spoil(join(entryA, executable));
      assert.equal(await b.lookup(THING), undefined);
    });
  }

  it('is left out of a list that is read on after a pause', async (t) => {
    const shared = await withSharedDirectory(t);
    const registry = await withRegistry(t, { providers: [{ address: 'acme/thing', version: '1.0.0', platforms: ['linux_amd64', 'linux_arm64'] }] });
    const a = await openCache(t, registry, { directory: join(shared.a, 'cache') });
    const b = await openCache(t, registry, { directory: join(shared.b, 'cache') });
    const packages = [];
    for (const platform of ['linux_amd64', 'linux_arm64']) packages.push(await a.ensure({ source: `${HOST}/acme/thing`, version: '1.0.0', platform }));
    const seen: string[] = [];
    for await (const { platform } of b.list()) {
      seen.push(String(platform));
      await rename(String(packages[1]?.path), join(shared.a, 'away')).catch(() => undefined);
      await setTimeout(300);
    }
    assert.deepEqual(seen, ['linux_amd64']);
  });

  it('is no hit of a cache that was opened before its directory was there', async (t) => {
    const shared = await withSharedDirectory(t);
    const registry = await withRegistry(t);
    const b = await openCache(t, registry, { directory: join(shared.b, 'cache'), readOnly: true });
    const a = await openCache(t, registry, { directory: join(shared.a, 'cache') });
    await a.ensure(THING);
    assert.equal((await b.lookup(THING))?.outcome, 'hit');
    await rename(join(shared.a, 'cache', THING_PATH), join(shared.a, 'away'));
    assert.equal(await b.lookup(THING), undefined);
  });

  it('is a hit where a symbolic link now leads to its new place, which this host has missed before', async (t) => {
    const shared = await withSharedDirectory(t);
    const registry = await withRegistry(t);
    const a = await openCache(t, registry, { directory: join(shared.a, 'cache') });
    const b = await openCache(t, registry, { directory: join(shared.b, 'cache') });
    await a.ensure(THING);
    await mkdir(join(shared.a, 'store'));
    await stat(join(shared.b, 'store/entry')).catch(() => undefined);
    const entry = join(shared.a, 'cache', THING_PATH);
    await rename(entry, join(shared.a, 'store/entry'));
    await symlink(relative(dirname(entry), join(shared.a, 'store/entry')), entry);
    assert.equal((await b.lookup(THING))?.outcome, 'hit');
  });
});

describe('an entry that another host replaces', () => {
  it('is a hit of the new one', async (t) => {
    const { a, b, entryA, entryB, away } = await withSeenEntry(t, 0);
    await rename(entryA, away);
    assert.equal((await a.ensure(THING)).outcome, 'installed');
    assert.equal((await b.ensure(THING)).outcome, 'hit');
    const [seen, real] = [await stat(entryB, { bigint: true }), await stat(entryA, { bigint: true })];
    assert.equal(seen.ino, real.ino);
  });

  it('is not handed out while a damaged one stands there', async (t) => {
    const { a, b, entryA, away } = await withSeenEntry(t, 0);
    await rename(entryA, away);
    await mkdir(entryA);
    await writeFile(join(entryA, 'terraform-provider-thing_v1.2.3_x5'), 'half', { mode: 0o755 });
    assert.equal(await b.lookup(THING), undefined);
    assert.equal((await a.ensure(THING)).outcome, 'repaired');
    const found = await b.lookup(THING);
    assert.equal(found?.outcome, 'hit');
    assert.notEqual(await readFile(found.executable, 'utf8'), 'half');
  });

  it('is hashed where that is asked for: one that was spoiled in place is repaired', async (t) => {
    const shared = await withSharedDirectory(t);
    const registry = await withRegistry(t);
    const options = { settleMs: 100, verifyOnHit: 'hash' } as const;
    const a = await openCache(t, registry, { directory: join(shared.a, 'cache'), ...options });
    const b = await openCache(t, registry, { directory: join(shared.b, 'cache'), ...options });
    const { executable } = await a.ensure(THING);
    const whole = await readFile(executable);
    assert.equal((await b.ensure(THING)).outcome, 'hit');
    await chmod(executable, 0o755);
    await writeFile(executable, 'spoiled');
    const repaired = await b.ensure(THING);
    assert.equal(repaired.outcome, 'repaired');
    assert.ok((await readFile(repaired.executable)).equals(whole));
    assert.equal((await a.ensure(THING)).outcome, 'hit');
    assert.ok((await readFile(executable)).equals(whole));
  });
});
