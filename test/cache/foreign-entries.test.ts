/** What somebody else put into the tree proves nothing: terraform's, a restore's, an attacker's. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFile, chmod, cp, mkdir, readdir, rename, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { hashDirectory } from '../../src/verify/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { leftovers, openCache, THING, THING_PATH, treeOf, withCache } from './support.ts';

const BINARY = 'terraform-provider-thing_v1.2.3_x5';
/** Somebody else's entry is replaced when it has stayed unchanged for so long; ten seconds is the default. */
const QUICK = { settleMs: 150 };

/** A cache whose entry came from elsewhere: the tree is there, and no record of it. */
async function withForeignEntry(t: TestContext, change: (entry: string) => Promise<void> = () => Promise.resolve()): Promise<Awaited<ReturnType<typeof withCache>> & { entry: string }> {
  const given = await withCache(t, { cache: QUICK });
  const elsewhere = await withTemporaryDirectory(t);
  const other = await openCache(t, given.registry, { directory: elsewhere });
  await other.ensure(THING);
  await cp(join(elsewhere, 'providers'), join(given.directory, 'providers'), { recursive: true });
  const entry = join(given.directory, THING_PATH);
  await chmod(entry, 0o755);
  await change(entry);
  given.registry.faults.heal();
  return { ...given, entry };
}

async function records(directory: string): Promise<string[]> {
  return readdir(join(directory, 'state/records'));
}

describe('an entry that somebody else put there', () => {
  it('is adopted when the caller expects its hash, without a request and without a lock', async (t) => {
    const { cache, directory, entry, registry } = await withForeignEntry(t);
    const before = registry.requestLog.length;
    const h1 = await hashDirectory(entry);
    assert.equal(await cache.lookup(THING), undefined);
    const found = await cache.ensure(THING, { expectedHashes: ['zh:00', h1] });
    assert.equal(found.outcome, 'adopted');
    assert.deepEqual(found.hashes, [h1]);
    assert.equal(found.provenance.provedBy, 'expected-hashes');
    assert.equal(found.provenance.signature.status, 'not-checked');
    assert.equal(registry.requestLog.length, before);
    assert.deepEqual(await readdir(join(directory, 'state/locks')), []);
    assert.equal((await cache.ensure(THING, { expectedHashes: [h1] })).outcome, 'hit');
  });

  it('is adopted when the verified zip has its hash, and stays as it is', async (t) => {
    const { cache, directory, entry } = await withForeignEntry(t);
    const before = await stat(entry);
    const found = await cache.ensure(THING);
    assert.equal(found.outcome, 'adopted');
    assert.equal(found.provenance.signature.status, 'verified');
    assert.equal((await stat(entry)).ino, before.ino);
    assert.equal((await cache.ensure(THING)).outcome, 'hit');
    assert.equal((await records(directory)).length, 1);
    assert.deepEqual(await treeOf(join(directory, 'state/staging')), []);
  });

  it('is not proved by being hashed: hashes that do not fit make no record', async (t) => {
    const { cache, directory } = await withForeignEntry(t, (entry) => appendFile(join(entry, 'LICENSE'), 'more'));
    assert.equal(await cache.lookup(THING), undefined);
    await assert.rejects(cache.ensure(THING, { expectedHashes: ['h1:AAAA'] }), { code: 'ERR_HASH_MISMATCH' });
    assert.deepEqual(await records(directory), []);
  });

  it('is replaced when it is not the package, and goes to the trash', async (t) => {
    const { cache, directory, entry } = await withForeignEntry(t, (path) => truncate(join(path, BINARY), 5));
    const found = await cache.ensure(THING);
    assert.equal(found.outcome, 'repaired');
    assert.equal(await hashDirectory(entry), found.hashes[0]);
    assert.equal((await readdir(join(directory, 'state/trash'))).length, 1);
    assert.equal((await records(directory)).length, 1);
    assert.equal((await cache.ensure(THING)).outcome, 'hit');
  });

  it('is an error that names both hashes where that was asked for, and stays', async (t) => {
    const { directory, entry, registry } = await withForeignEntry(t, (path) => truncate(join(path, BINARY), 5));
    const strict = await openCache(t, registry, { directory, ...QUICK, onConflict: 'error' });
    const actual = await hashDirectory(entry);
    await assert.rejects(strict.ensure(THING), (error: Error & { code: string; actual: string; expected: string; path: string }) => {
      assert.equal(error.code, 'ERR_ENTRY_CONFLICT');
      assert.equal(error.actual, actual);
      assert.match(error.expected, /^h1:/u);
      assert.equal(error.path, entry);
      return true;
    });
    assert.equal(await hashDirectory(entry), actual);
    assert.deepEqual(await leftovers(join(directory, 'state')), []);
  });

  it('is left alone for as long as somebody writes to it, and adopted when it has become the package', async (t) => {
    const { cache, entry, directory } = await withForeignEntry(t);
    const whole = join(directory, 'whole');
    await rename(join(entry, BINARY), whole);
    await writeFile(join(entry, BINARY), '');
    let settling = 0;
    const call = cache.ensure(THING, {
      onProgress: ({ phase }) => {
        if (phase === 'settling') settling += 1;
      },
    });
    // Half of the term between two writes, for several terms: only watching tells that it is not settled.
    for (let step = 0; step < 10; step += 1) {
      while (settling <= step) await new Promise((resolve) => setTimeout(resolve, 5));
      await appendFile(join(entry, BINARY), '.');
    }
    await rm(join(entry, BINARY));
    await rename(whole, join(entry, BINARY));
    assert.equal((await call).outcome, 'adopted');
    assert.deepEqual(await readdir(join(directory, 'state/trash')), []);
  });

  it('may be a file, a dangling symlink, or a directory without the executable', async (t) => {
    for (const make of [
      (entry: string) => writeFile(entry, 'a file'),
      (entry: string) => symlink('/nowhere/at/all', entry),
      async (entry: string) => {
        await mkdir(entry);
        await writeFile(join(entry, 'README'), 'no plugin');
      },
    ]) {
      const { cache, entry } = await withForeignEntry(t, async (path) => {
        await rm(path, { recursive: true });
        await make(path);
      });
      assert.equal((await cache.ensure(THING)).outcome, 'repaired');
      assert.ok((await stat(entry)).isDirectory());
    }
  });

  it('may be a symlink to the package in a mirror: it is read through, never written through', async (t) => {
    const { cache, entry, directory } = await withForeignEntry(t);
    const mirror = join(directory, 'mirror');
    await rename(entry, mirror);
    await symlink(mirror, entry);
    assert.equal((await cache.ensure(THING)).outcome, 'adopted');
    await truncate(join(mirror, BINARY), 3);
    assert.equal((await cache.ensure(THING)).outcome, 'repaired');
    assert.equal((await stat(join(mirror, BINARY))).size, 3);
  });
});

describe('an entry of ours', () => {
  it('that was damaged is noticed and replaced', async (t) => {
    const { cache, directory, registry } = await withCache(t, { cache: QUICK });
    const { executable } = await cache.ensure(THING);
    await truncate(executable, 5);
    assert.equal(await cache.lookup(THING), undefined);
    assert.equal((await cache.ensure(THING)).outcome, 'repaired');
    assert.equal((await records(directory)).length, 1);
    assert.equal(registry.count('zip'), 2);
  });

  it('that was damaged behind its times is found by verifyOnHit: hash, and by nothing less', async (t) => {
    const { cache, directory, registry } = await withCache(t, { cache: QUICK });
    const { executable } = await cache.ensure(THING);
    const { atimeNs, mtimeNs, size } = await stat(executable, { bigint: true });
    await writeFile(executable, Buffer.alloc(Number(size), 'x'));
    execFileSync('touch', ['-d', `@${String(mtimeNs / 1_000_000_000n)}.${String(mtimeNs % 1_000_000_000n).padStart(9, '0')}`, executable]);
    assert.ok(atimeNs > 0n);
    assert.equal((await cache.ensure(THING)).outcome, 'hit');
    const careful = await openCache(t, registry, { directory, ...QUICK, verifyOnHit: 'hash' });
    assert.equal(await careful.lookup(THING), undefined);
    assert.equal((await careful.ensure(THING)).outcome, 'repaired');
    assert.equal((await careful.ensure(THING)).outcome, 'hit');
  });

  it('that was removed and refilled by somebody else is never handed out under the old record', async (t) => {
    const { cache, directory, registry } = await withCache(t, { cache: QUICK });
    const { path } = await cache.ensure(THING);
    await rm(path, { recursive: true });
    await mkdir(path);
    await writeFile(join(path, BINARY), 'somebody else’s', { mode: 0o755 });
    assert.equal(await cache.lookup(THING), undefined);
    const other = await openCache(t, registry, { directory, ...QUICK });
    assert.equal(await other.lookup(THING), undefined);
    assert.equal((await other.ensure(THING)).outcome, 'repaired');
  });

  it('that was only touched is hashed once and bound anew', async (t) => {
    const { cache, directory, registry } = await withCache(t, { cache: QUICK });
    const { path, executable } = await cache.ensure(THING);
    const [before] = await records(directory);
    await utimes(path, new Date(), new Date(0));
    await utimes(executable, new Date(), new Date(0));
    assert.equal((await cache.ensure(THING)).outcome, 'hit');
    const after = await records(directory);
    assert.equal(after.length, 1);
    assert.notEqual(after[0], before);
    assert.equal(registry.count('zip'), 1);
  });

  it('that was copied with its whole cache still hits after one re-hash', async (t) => {
    const { cache, directory } = await withCache(t);
    const original = await cache.ensure(THING);
    const copy = await withTemporaryDirectory(t);
    execFileSync('cp', ['-r', '.', copy], { cwd: directory });
    const moved = await openCache(t, undefined, { directory: copy, offline: true });
    const found = await moved.ensure(THING);
    assert.equal(found.outcome, 'hit');
    assert.deepEqual(found.hashes, original.hashes);
    assert.deepEqual(found.provenance, original.provenance);
    // Bound anew: the record's name carries the inode and mtime of the copy.
    const { ino } = await stat(found.path, { bigint: true });
    assert.deepEqual((await records(copy)).filter((name) => name.includes(`.${ino.toString(36)}-`)).length, 1);
  });

  it('without its record is proved by the zip again', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    await cache.ensure(THING);
    await rm(join(directory, 'state/records'), { recursive: true });
    await mkdir(join(directory, 'state/records'));
    const other = await openCache(t, registry, { directory });
    assert.equal((await other.ensure(THING)).outcome, 'adopted');
    assert.equal(registry.count('zip'), 2);
  });

  it('with a record that a crash cut short, likewise', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    await cache.ensure(THING);
    const [name] = await records(directory);
    await truncate(join(directory, 'state/records', String(name)), 40);
    const other = await openCache(t, registry, { directory });
    assert.equal((await other.ensure(THING)).outcome, 'adopted');
    assert.equal((await (await openCache(t, registry, { directory })).ensure(THING)).outcome, 'hit');
  });
});
