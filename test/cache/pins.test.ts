/** A pin stands before its package is handed out, ends with its process, and agrees with those who prune without any lock. */
import assert from 'node:assert/strict';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { uniqueName } from '../../src/atomic/index.ts';
import { sweepMarks } from '../../src/cache/marks.ts';
import { createPin, doomPackage, isPinned, type MarkContext } from '../../src/cache/pins.ts';
import { enterPresence } from '../../src/cache/presence.ts';
import type { ProviderPackage } from '../../src/index.ts';
import { startChild } from '../support/child.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { openCache, THING, THING_PATH, treeOf, withCache } from './support.ts';

const PACKAGE = THING_PATH.slice('providers/'.length);
const WAIT = { timeoutMs: 30_000, signal: new AbortController().signal };

/** Who puts up marks: a process of its own, as far as anybody can tell. */
async function withMarks(t: TestContext, state: string): Promise<MarkContext & { leave(): Promise<void> }> {
  const presence = await enterPresence(join(state, 'presence'));
  t.after(() => presence.leave());
  return { pins: join(state, 'pins'), presence: join(state, 'presence'), owner: presence.id, leave: () => presence.leave() };
}

async function pinsIn(directory: string): Promise<string[]> {
  return (await treeOf(join(directory, 'state/pins'))).filter((path) => path.includes('/'));
}

/** A process that holds a mark and is killed. */
async function withMarkOfTheDead(t: TestContext, state: string, kind: 'pin' | 'doom'): Promise<void> {
  const child = startChild(t, new URL('./fixtures/marks.js', import.meta.url), [state, PACKAGE, kind]);
  assert.equal(await child.message(), 'up');
  child.process.kill('SIGKILL');
  await child.ended;
}

describe('a pin', () => {
  it('stands before the package is handed out, carries the process’s presence, and ends when it is released', async (t) => {
    const { cache, directory } = await withCache(t);
    const found = await cache.ensure(THING, { pin: true });
    const [presence] = await readdir(join(directory, 'state/presence'));
    const [pin, ...more] = await pinsIn(directory);
    assert.ok(pin?.includes(`/${String(presence)}.`));
    assert.deepEqual(more, []);
    assert.equal(found.pin?.package, PACKAGE);
    const again = await cache.ensure(THING, { pin: true });
    assert.equal(again.outcome, 'hit');
    assert.equal((await pinsIn(directory)).length, 2);
    await found.pin.release();
    await found.pin.release();
    await again.pin?.[Symbol.asyncDispose]();
    assert.deepEqual(await pinsIn(directory), []);
  });

  it('of a package that was looked up is the same', async (t) => {
    const { cache, directory } = await withCache(t);
    await cache.ensure(THING);
    const found = await cache.lookup(THING);
    assert.ok(found !== undefined);
    const pin = await cache.pin(found);
    assert.equal(pin.package, PACKAGE);
    assert.equal((await pinsIn(directory)).length, 1);
    await pin.release();
    assert.deepEqual(await pinsIn(directory), []);
  });

  it('of a package that is not there any more, or is another one by now, is refused', async (t) => {
    const { cache, directory } = await withCache(t);
    const found = await cache.ensure(THING);
    await assert.rejects(cache.pin({ ...found, hashes: [`h1:${'A'.repeat(43)}=`] }), { code: 'ERR_HASH_MISMATCH' });
    await rm(found.path, { recursive: true });
    await assert.rejects(cache.pin(found), { code: 'ERR_PACKAGE_MISSING' });
    assert.deepEqual(await pinsIn(directory), []);
  });

  it('of something that is no package is refused', async (t) => {
    const { cache } = await withCache(t);
    for (const junk of [undefined, null, 'x', {}, { ...THING }]) {
      await assert.rejects(cache.pin(junk as ProviderPackage), { code: 'ERR_INVALID_OPTION' });
    }
  });

  it('of a call that fails is released', async (t) => {
    const { cache, directory } = await withCache(t, { registry: { providers: [] } });
    await assert.rejects(cache.ensure(THING, { pin: true }), { code: 'ERR_PLATFORM_NOT_SUPPORTED' });
    assert.deepEqual(await pinsIn(directory), []);
  });

  it('is refused by a cache that may not write', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    const found = await cache.ensure(THING);
    const readOnly = await openCache(t, registry, { directory, readOnly: true });
    await assert.rejects(readOnly.ensure(THING, { pin: true }), { code: 'ERR_READ_ONLY' });
    await assert.rejects(readOnly.pin(found), { code: 'ERR_READ_ONLY' });
  });

  it('outlives the cache that it was got from, and the presence with it', async (t) => {
    const { cache, directory } = await withCache(t);
    const one = await cache.ensure(THING, { pin: true });
    const two = await cache.ensure(THING, { pin: true });
    await cache.close();
    const other = await withMarks(t, join(directory, 'state'));
    assert.equal(await doomPackage(PACKAGE, other), undefined);
    await one.pin?.release();
    assert.equal(await doomPackage(PACKAGE, other), undefined);
    await two.pin?.release();
    assert.deepEqual(await readdir(join(directory, 'state/presence')), [other.owner]);
    assert.ok((await doomPackage(PACKAGE, other)) !== undefined);
  });
});

describe('pins and prunes', () => {
  it('exclude each other, one package at a time', async (t) => {
    const state = await withTemporaryDirectory(t);
    const [a, b] = [await withMarks(t, state), await withMarks(t, state)];
    const pin = await createPin('one', a, WAIT);
    assert.equal(await doomPackage('one', b), undefined);
    assert.ok(await isPinned('one', b));
    const other = await doomPackage('two', b);
    await other?.withdraw();
    await pin.release();
    assert.equal(await isPinned('one', b), false);
    const doom = await doomPackage('one', b);
    assert.ok(doom !== undefined);
    await doom.withdraw();
    await doom.withdraw();
    assert.deepEqual(await treeOf(join(state, 'pins')), []);
  });

  it('of one process as well', async (t) => {
    const own = await withMarks(t, await withTemporaryDirectory(t));
    const pin = await createPin('one', own, WAIT);
    assert.equal(await doomPackage('one', own), undefined);
    await pin.release();
  });

  it('wait for each other: a pin until the prune is over', async (t) => {
    const state = await withTemporaryDirectory(t);
    const [a, b] = [await withMarks(t, state), await withMarks(t, state)];
    const doom = await doomPackage('one', a);
    let pinned = false;
    const waiting = createPin('one', b, WAIT).then((pin) => {
      pinned = true;
      return pin;
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(pinned, false);
    await doom?.withdraw();
    await (await waiting).release();
  });

  it('and the wait ends with its signal, its limit, or the other process; the pin of an ended wait is gone', async (t) => {
    const state = await withTemporaryDirectory(t);
    const [a, b] = [await withMarks(t, state), await withMarks(t, state)];
    assert.ok((await doomPackage('one', a)) !== undefined);
    const stop = new AbortController();
    const reason = new Error('enough');
    const aborted = assert.rejects(createPin('one', b, { ...WAIT, signal: stop.signal }), reason);
    stop.abort(reason);
    await aborted;
    await assert.rejects(createPin('one', b, { ...WAIT, timeoutMs: 1 }), { code: 'ERR_LOCK_TIMEOUT' });
    assert.equal(await isPinned('one', a), false);
    const waiting = createPin('one', b, WAIT);
    await a.leave();
    await (await waiting).release();
  });

  it('of the dead hold up nobody', async (t) => {
    const state = await withTemporaryDirectory(t);
    const own = await withMarks(t, state);
    await withMarkOfTheDead(t, state, 'pin');
    const doom = await doomPackage(PACKAGE, own);
    assert.ok(doom !== undefined);
    await doom.withdraw();
    await withMarkOfTheDead(t, state, 'doom');
    await (await createPin(PACKAGE, own, WAIT)).release();
  });

  it('are not led astray by what else lies there', async (t) => {
    const state = await withTemporaryDirectory(t);
    const own = await withMarks(t, state);
    const pin = await createPin('one', own, WAIT);
    const [key] = await readdir(own.pins);
    await pin.release();
    for (const directory of [String(key), `${String(key)}.doom`]) await mkdir(join(own.pins, directory, 'junk', uniqueName()), { recursive: true });
    await (await createPin('one', own, WAIT)).release();
    await (await doomPackage('one', own))?.withdraw();
    assert.ok((await doomPackage('one', own)) !== undefined);
    await sweepMarks(own.pins, () => Promise.resolve(true));
    assert.deepEqual(await treeOf(own.pins), []);
  });

  it('work after somebody has cleared them all away', async (t) => {
    const state = await withTemporaryDirectory(t);
    const own = await withMarks(t, state);
    await createPin('one', own, WAIT);
    await rm(own.pins, { recursive: true });
    assert.ok((await doomPackage('one', own)) !== undefined);
    await assert.rejects(stat(join(own.pins, 'x')), { code: 'ENOENT' });
  });
});
