/** Mounts as they should not be, and some that are as good as the default one: what is reported of them, and what they do to look-ups and locks. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdir, rename, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { statFresh, writeFileAtomic } from '../../src/atomic/index.ts';
import { fileSystemTime } from '../../src/atomic/sweep.ts';
import { ProviderCache } from '../../src/index.ts';
import { acquireLock, probeLocking } from '../../src/lock/index.ts';
import { openCache, THING, THING_PATH, withRegistry } from '../cache/support.ts';
import { until } from '../lock/fixtures/until.ts';
import { createClient, mountAs } from './client.ts';
import { theLab, withoutFaults, withSharedDirectory } from './lab.ts';
import { mountWithoutLocks, startOldServer } from './old-server.ts';
import { command } from './shell.ts';

const TRY = { timeoutMs: 0 } as const;
const TIMEOUT = { code: 'ERR_LOCK_TIMEOUT' };

/** By default what it caches is believed for 30 s; longer, so that the slowest machine sees it. */
const NOCTO = 'nocto,actimeo=600';

/** The export as it is mounted here beside the lab's own mounts. */
type Name = typeof NOCTO | 'soft' | 'lookupcache=pos' | 'lookupcache=none' | 'nolock,local_lock=all' | 'nconnect=4' | 'vers=4.2' | 'vers=3,nolock' | 'vers=3,nolock,again';

const mountPoint = (name: Name): string => `/run/lab/with-${name}`;

/** Mounts it as B does, with these options. */
function mountOnB(name: Name): void {
  mountAs({ name: 'b' }, mountPoint(name), 'nosharecache', name);
}

/** What follows in this machine knows nothing of these mounts. */
function unmount(...names: readonly Name[]): void {
  command('umount', ...names.map(mountPoint));
}

/** A directory of A's as one of these mounts has it. */
function through(name: Name, directory: string): string {
  return join(mountPoint(name), directory.slice(theLab().a.length));
}

/** An empty directory, by A's eyes and through one of these mounts. */
async function withDirectory(t: TestContext, name: Name): Promise<{ readonly a: string; readonly other: string }> {
  const { a } = await withSharedDirectory(t);
  return { a, other: through(name, a) };
}

/** What a process hears that opens a cache here, so many times. */
async function hear(directory: string, times: number): Promise<{ events: unknown[]; warnings: unknown[] }> {
  const heard = { events: [] as unknown[], warnings: [] as unknown[] };
  const onEvent = (data: unknown): void => {
    const { mountPoint: point, warnings } = data as { mountPoint: string; warnings: { option: string }[] };
    heard.events.push([point, ...warnings.map(({ option }) => option)]);
  };
  const onWarning = (warning: Error & { code?: string }): void => void heard.warnings.push(warning.code);
  subscribe('rwx-cache:cache:mount-warning', onEvent);
  process.on('warning', onWarning);
  for (let opened = 0; opened < times; opened += 1) await (await ProviderCache.open({ directory: join(directory, 'cache') })).close();
  await setImmediate();
  process.off('warning', onWarning);
  unsubscribe('rwx-cache:cache:mount-warning', onEvent);
  return heard;
}

const plainly = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined)) !== undefined;
const freshly = async (path: string): Promise<boolean> => (await statFresh(path)) !== undefined;

/** Whether what A publishes, after it was asked for in vain, is seen with the next look. */
async function seesAtOnce(shared: { readonly a: string; readonly other: string }, look: (path: string) => Promise<boolean>): Promise<boolean> {
  const path = join(shared.other, 'file');
  assert.equal(await look(path), false);
  assert.equal(await look(path), false);
  await writeFileAtomic(join(shared.a, 'file'), 'content');
  return look(path);
}

describe('a mount that weakens nothing', { skip: withoutFaults() }, () => {
  before(() => {
    for (const name of ['vers=4.2', 'lookupcache=pos', 'lookupcache=none', 'nolock,local_lock=all'] as const) mountOnB(name);
    mountAs(createClient('c'), mountPoint('nconnect=4'), 'nconnect=4');
  });
  after(() => {
    unmount('vers=4.2', 'lookupcache=pos', 'lookupcache=none', 'nolock,local_lock=all', 'nconnect=4');
  });

  it('is not told of: default options, actimeo=60, lookupcache, nconnect, version 4.2', async (t) => {
    const shared = await withSharedDirectory(t);
    const others = (['lookupcache=pos', 'nconnect=4', 'vers=4.2'] as const).map((name) => through(name, shared.a));
    for (const directory of [shared.a, shared.b, String(shared.slowB), ...others]) {
      assert.deepEqual(await hear(directory, 1), { events: [], warnings: [] });
      assert.deepEqual(await probeLocking(directory), { kernel: 'cluster' });
    }
  });

  for (const name of ['nconnect=4', 'vers=4.2'] as const) {
    it(`is one with ${name}: its look-ups are as fresh, its locks the server’s`, async (t) => {
      const shared = await withDirectory(t, name);
      assert.equal(await seesAtOnce(shared, freshly), true);
      const held = await acquireLock(join(shared.other, 'lock'));
      await assert.rejects(acquireLock(join(shared.a, 'lock'), TRY), TIMEOUT);
      await held.assertHeld();
      await held.release();
    });
  }

  it('is one of NFSv4 with nolock and local_lock=all: the kernel drops both, and the locks are the server’s', async (t) => {
    const { a, other } = await withDirectory(t, 'nolock,local_lock=all');
    assert.deepEqual(await probeLocking(other), { kernel: 'cluster' });
    const held = await acquireLock(join(a, 'lock'));
    await assert.rejects(acquireLock(join(other, 'lock'), TRY), TIMEOUT);
    await held.release();
  });

  for (const name of ['lookupcache=pos', 'lookupcache=none'] as const) {
    it(`keeps no misses with ${name}: even plain stat sees what A publishes`, async (t) => {
      assert.equal(await seesAtOnce(await withDirectory(t, name), plainly), true);
    });
  }
});

describe('a mount with a weakening option', { skip: withoutFaults() }, () => {
  before(() => {
    for (const name of [NOCTO, 'soft'] as const) mountOnB(name);
  });
  after(() => {
    unmount(NOCTO, 'soft');
  });

  for (const [option, name] of [['nocto', NOCTO], ['soft', 'soft']] as const) {
    it(`is told of once, as an event and as a warning: ${option}`, async (t) => {
      const { other } = await withDirectory(t, name);
      assert.deepEqual(await hear(other, 2), { events: [[mountPoint(name), option]], warnings: ['RWX_CACHE_MOUNT'] });
      const { kernel, reason } = await probeLocking(other);
      assert.equal(kernel, 'cluster');
      assert.match(String(reason), new RegExp(`^${option}: `, 'u'));
    });
  }

  it('is blind with nocto: a fresh look-up misses what A publishes, until something is changed there from this side', async (t) => {
    const shared = await withDirectory(t, NOCTO);
    assert.equal(await seesAtOnce(shared, freshly), false);
    const now = new Date();
    await utimes(shared.other, now, now);
    assert.equal(await freshly(join(shared.other, 'file')), true);
  });

  it('misses with nocto what A has installed, and hands out what A has taken away; ensure is right about what is new', async (t) => {
    const shared = await withDirectory(t, NOCTO);
    const registry = await withRegistry(t);
    const a = await openCache(t, registry, { directory: join(shared.a, 'cache') });
    const b = await openCache(t, registry, { directory: join(shared.other, 'cache'), settleMs: 100 });
    assert.equal(await b.lookup(THING), undefined);
    await a.ensure(THING);
    assert.equal(await b.lookup(THING), undefined);
    const { outcome, executable } = await b.ensure(THING);
    assert.ok((await stat(executable)).isFile());
    t.diagnostic(`ensure: ${outcome}, after ${registry.count('zip')} download(s)`);
    assert.equal((await b.lookup(THING))?.outcome, 'hit');
    await mkdir(join(shared.a, 'away'));
    await rename(join(shared.a, 'cache', THING_PATH), join(shared.a, 'away', 'entry'));
    assert.equal((await b.lookup(THING))?.outcome, 'hit');
    assert.equal(await a.lookup(THING), undefined);
  });
});

describe('pins and prunes on a mount with nocto', { skip: withoutFaults() }, () => {
  before(() => {
    mountOnB(NOCTO);
  });
  after(() => {
    unmount(NOCTO);
  });

  it('agree all the same: their marks are never looked up in a cache', async (t) => {
    const shared = await withDirectory(t, NOCTO);
    const registry = await withRegistry(t);
    const a = await openCache(t, registry, { directory: join(shared.a, 'cache') });
    const b = await openCache(t, registry, { directory: join(shared.other, 'cache') });
    await a.ensure(THING);
    // Both have pinned, and know by heart that nobody else has.
    for (const cache of [a, b, a]) await (await cache.ensure(THING, { pin: true })).pin?.release();
    for (const [one, two] of [[a, b], [b, a]] as const) {
      const { pin } = await one.ensure(THING, { pin: true });
      assert.equal((await two.prune({ maxBytes: 0 })).pinned.length, 1);
      await pin?.release();
    }
    await b.close();
  });
});

describe('a mount that keeps its locks on this host: NFSv3 with nolock', { skip: withoutFaults() }, () => {
  before(() => {
    startOldServer();
    for (const name of ['vers=3,nolock', 'vers=3,nolock,again'] as const) mountWithoutLocks(mountPoint(name));
  });
  after(() => {
    unmount('vers=3,nolock', 'vers=3,nolock,again');
  });

  it('is told of once', async (t) => {
    const { other } = await withDirectory(t, 'vers=3,nolock');
    assert.deepEqual(await hear(other, 2), { events: [[mountPoint('vers=3,nolock'), 'nolock', 'vers=3']], warnings: ['RWX_CACHE_MOUNT'] });
    assert.equal((await probeLocking(other)).kernel, 'host');
  });

  // NFSv3 knows a directory by its times alone, so what is published within the tick of the last change may be missed (ctime-server.nfs.ts).
  it('has fresh look-ups all the same from the next tick on, where plain stat misses', async (t) => {
    for (const [look, seen] of [[freshly, true], [plainly, false]] as const) {
      const shared = await withDirectory(t, 'vers=3,nolock');
      const { mtimeNs } = await stat(shared.a, { bigint: true });
      await until(async () => (await fileSystemTime(theLab().a)) > mtimeNs, 'the server’s clock ticks');
      assert.equal(await seesAtOnce(shared, look), seen);
    }
  });

  it('gives no lock that others have to see, only one for this host, or a lease', async (t) => {
    const { a, other } = await withDirectory(t, 'vers=3,nolock');
    const elsewhere = through('vers=3,nolock,again', a);
    await assert.rejects(acquireLock(join(other, 'lock')), { code: 'ERR_LOCK_UNSUPPORTED', message: /nolock/u });
    const lease = await acquireLock(join(other, 'lock'), { strategy: 'lease' });
    await assert.rejects(acquireLock(join(elsewhere, 'lock'), { strategy: 'lease', ...TRY }), TIMEOUT);
    await lease.release();
  });

  it('makes a cache take leases, and say so', async (t) => {
    const { other } = await withDirectory(t, 'vers=3,nolock');
    const events: unknown[] = [];
    const onEvent = (data: unknown): void => void events.push(data);
    subscribe('rwx-cache:cache:lease-fallback', onEvent);
    const cache = await openCache(t, await withRegistry(t), { directory: join(other, 'cache') });
    assert.equal((await cache.ensure(THING)).outcome, 'installed');
    unsubscribe('rwx-cache:cache:lease-fallback', onEvent);
    assert.equal(events.length, 1);
    // It lets go of the mount before that is taken away.
    await cache.close();
  });

  it('tells nobody whether a process of another host lives, so what that has pinned is not pruned', async (t) => {
    const { a, other } = await withDirectory(t, 'vers=3,nolock');
    const registry = await withRegistry(t);
    const one = await openCache(t, registry, { directory: join(other, 'cache') });
    const two = await openCache(t, registry, { directory: join(through('vers=3,nolock,again', a), 'cache') });
    const { pin } = await one.ensure(THING, { pin: true });
    assert.equal((await two.prune({ maxBytes: 0 })).pinned.length, 1);
    await pin?.release();
    assert.equal((await two.prune({ maxBytes: 0 })).removed.length, 1);
    // They let go of the mount before that is taken away.
    await one.close();
    await two.close();
  });

  it('is needed: both of two mounts are granted the kernel’s lock at once', async (t) => {
    const { a, other } = await withDirectory(t, 'vers=3,nolock');
    const elsewhere = through('vers=3,nolock,again', a);
    const locks = [await acquireLock(join(other, 'lock'), { strategy: 'kernel', ...TRY }), await acquireLock(join(elsewhere, 'lock'), { strategy: 'kernel', ...TRY })];
    for (const lock of locks) await lock.release();
  });
});
