/** What a policy says may go, goes, whole and by one rename; whatever somebody needs stays. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { lstat, mkdir, open, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { packageKey } from '../../src/cache/records.ts';
import { FileSystemError } from '../../src/errors.ts';
import type { ProviderCache, ProviderCacheOptions, ProviderPackage, PruneCandidate, PrunePolicy } from '../../src/index.ts';
import { tryBareLock } from '../../src/lock/bare-lock.ts';
import { acquireLock } from '../../src/lock/index.ts';
import { hashDirectory } from '../../src/verify/index.ts';
import type { EmbeddedRegistry } from '../support/registry/index.ts';
import { HOST, openCache, THING, treeOf, withCache } from './support.ts';

const DAY = 24 * 60 * 60_000;
const EVERYTHING: PrunePolicy = { maxBytes: 0 };

interface Filled {
  readonly cache: ProviderCache;
  readonly registry: EmbeddedRegistry;
  readonly directory: string;
  readonly packages: readonly ProviderPackage[];
}

const TYPES = ['one', 'two', 'three'] as const;
const request = (type: string) => ({ source: `${HOST}/acme/${type}`, version: '1.0.0', platform: 'linux_amd64' });

/** Three packages, installed one after the other; their executables have 1000, 2000 and 3000 bytes. */
async function withThree(t: TestContext, cacheOptions: Partial<ProviderCacheOptions> = {}): Promise<Filled> {
  const providers = TYPES.map((type, index) => ({
    address: `acme/${type}`,
    version: '1.0.0',
    files: { [`terraform-provider-${type}_v1.0.0`]: { data: Buffer.alloc(1000 * (index + 1), type), mode: 0o100755 } },
  }));
  const { cache, registry, directory } = await withCache(t, { registry: { providers }, cache: cacheOptions });
  const packages: ProviderPackage[] = [];
  for (const type of TYPES) packages.push(await cache.ensure(request(type)));
  return { cache, registry, directory, packages };
}

/** Makes an entry one of years ago. The look that follows binds its record anew. */
async function makeOld(cache: ProviderCache, { path, address }: ProviderPackage): Promise<void> {
  await utimes(path, new Date(0), new Date(0));
  assert.ok((await cache.lookup(request(address.type))) !== undefined);
}

async function present(cache: ProviderCache): Promise<string[]> {
  const found: string[] = [];
  for await (const { address } of cache.list()) found.push(address.type);
  return found;
}

const types = (entries: readonly PruneCandidate[]): string[] => entries.map(({ address }) => address.type);

async function trashOf(directory: string): Promise<string[]> {
  return readdir(join(directory, 'state/trash'));
}

describe('an entry that is pruned', () => {
  it('leaves the tree whole, with its records; the next ensure installs it', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    const found = await cache.ensure(THING);
    const running = await open(found.executable);
    t.after(() => running.close());
    const { removed, removedBytes, kept, keptBytes, pinned, busy, failed } = await cache.prune(EVERYTHING);
    assert.deepEqual([kept, keptBytes, pinned, busy, failed], [0, 0, [], [], []]);
    const [gone] = removed;
    assert.equal(gone?.package, `${HOST}/acme/thing/1.2.3/linux_amd64`);
    assert.equal(gone.path, found.path);
    assert.equal(gone.recorded, true);
    assert.equal(gone.bytes, removedBytes);
    assert.deepEqual([String(gone.address), String(gone.version), String(gone.platform)], [THING.source, THING.version, THING.platform]);

    const [trashed] = await trashOf(directory);
    assert.equal(await hashDirectory(join(directory, 'state/trash', String(trashed))), found.hashes[0]);
    assert.ok((await running.readFile()).length > 0);
    assert.deepEqual(await readdir(join(directory, 'state/records')), []);
    assert.deepEqual(await treeOf(join(directory, 'state/pins')), []);
    assert.deepEqual(await readdir(dirname(found.path)), ['linux_amd64.lock']);
    assert.equal(await cache.lookup(THING), undefined);
    assert.deepEqual(await present(cache), []);
    assert.equal((await cache.ensure(THING)).outcome, 'installed');
    assert.equal(registry.count('zip'), 2);
  });

  it('is not asked for in the network, and may be of a providers directory elsewhere', async (t) => {
    const { cache, registry, directory } = await withThree(t);
    const offline = await openCache(t, undefined, { directory, offline: true });
    const before = registry.requestLog.length;
    assert.deepEqual(types((await offline.prune({ filter: ({ address }) => address.type === 'two' })).removed), ['two']);
    assert.equal(registry.requestLog.length, before);
    assert.deepEqual(await present(cache), ['one', 'three']);
    const providersDirectory = join(directory, 'elsewhere');
    await mkdir(providersDirectory);
    const other = await openCache(t, registry, { directory: join(directory, 'other'), providersDirectory });
    await other.ensure(request('one'));
    assert.equal((await other.prune(EVERYTHING)).removed.length, 1);
    assert.equal(await other.lookup(request('one')), undefined);
  });

  it('goes when parts of the state were cleared away as well', async (t) => {
    const { cache, directory } = await withThree(t, { settleMs: 0 });
    for (const part of ['records', 'locks', 'pins', 'trash', 'staging']) await rm(join(directory, 'state', part), { recursive: true });
    const { removed, failed } = await cache.prune(EVERYTHING);
    assert.deepEqual(failed, []);
    assert.deepEqual(removed.map(({ recorded }) => recorded), [false, false, false]);
  });
});

describe('a policy', () => {
  it('by age takes what is older, by the times of the file system', async (t) => {
    const { cache, packages } = await withThree(t);
    for (const index of [0, 2]) await makeOld(cache, packages[index] as ProviderPackage);
    const { removed } = await cache.prune({ olderThanMs: DAY });
    assert.deepEqual(types(removed).sort(), ['one', 'three']);
    assert.ok(removed.every(({ ageMs, recorded }) => ageMs > 10 * 365 * DAY && recorded));
    assert.deepEqual(await present(cache), ['two']);
  });

  it('without an age takes what is from the future as well, by the clock of the file system', async (t) => {
    const { cache, packages } = await withThree(t);
    const { path } = packages[0] as ProviderPackage;
    const future = new Date(Date.now() + DAY);
    await utimes(path, future, future);
    assert.ok((await cache.lookup(request('one'))) !== undefined);
    const byAge = await cache.prune({ olderThanMs: 0, filter: ({ address }) => address.type === 'one' });
    assert.deepEqual([types(byAge.removed), byAge.kept], [[], 3]);
    const { removed, kept } = await cache.prune(EVERYTHING);
    assert.deepEqual([types(removed), kept], [['two', 'three', 'one'], 0]);
    assert.ok(removed.every(({ ageMs, address }) => (address.type === 'one') === (ageMs < 0)));
  });

  it('by size takes the oldest first, and no more than it must', async (t) => {
    const { cache, packages } = await withThree(t);
    assert.deepEqual(types((await cache.prune({ maxBytes: 6000 })).removed), []);
    await makeOld(cache, packages[1] as ProviderPackage);
    const { removed, kept, keptBytes, removedBytes } = await cache.prune({ maxBytes: 3500 });
    assert.deepEqual(types(removed), ['two', 'one']);
    assert.deepEqual([kept, keptBytes, removedBytes], [1, 3000, 3000]);
    assert.deepEqual(await present(cache), ['three']);
  });

  it('of several conditions takes what meets all of them', async (t) => {
    const { cache, packages } = await withThree(t);
    for (const found of packages) await makeOld(cache, found);
    await cache.prune({ filter: ({ address }) => address.type === 'one' });
    await cache.ensure(request('one'));
    const { removed, keptBytes } = await cache.prune({ olderThanMs: DAY, maxBytes: 0, filter: ({ address }) => address.type !== 'two' });
    assert.deepEqual(types(removed), ['three']);
    assert.equal(keptBytes, 3000);
  });

  it('without a condition, or with one that is none, is refused', async (t) => {
    const { cache } = await withThree(t);
    const junk: readonly unknown[] = [
      {}, undefined, null, 'all', { dryRun: true }, { olderThanMs: -1 }, { olderThanMs: Number.NaN }, { olderThanMs: '1' }, { maxBytes: Infinity }, { maxBytes: '0' }, { filter: true },
      { ...EVERYTHING, dryRun: 'yes' }, { filter: () => Promise.resolve(false) }, { filter: () => undefined },
    ];
    for (const policy of junk) await assert.rejects(cache.prune(policy as PrunePolicy), { code: 'ERR_INVALID_OPTION' }, JSON.stringify(policy));
    const fault = new Error('fault of the filter');
    await assert.rejects(cache.prune({ filter: () => { throw fault; } }), fault);
    assert.equal((await present(cache)).length, 3);
  });

  it('with a word that it does not know, or a signal that is none, is refused, and the refusal names it', async (t) => {
    const { cache } = await withThree(t);
    const junk: Readonly<Record<string, unknown>> = {
      policy: [],
      olderThenMs: { ...EVERYTHING, olderThenMs: 5 },
      DryRun: { ...EVERYTHING, DryRun: true },
      signal: { ...EVERYTHING, signal: {} },
    };
    for (const [option, policy] of Object.entries(junk)) await assert.rejects(cache.prune(policy as PrunePolicy), { code: 'ERR_INVALID_OPTION', option });
    await assert.rejects(cache.prune({ ...EVERYTHING, signal: null } as unknown as PrunePolicy), { code: 'ERR_INVALID_OPTION', option: 'signal' });
    assert.equal((await present(cache)).length, 3);
  });

  it('that is only tried takes nothing, and tells what would go', async (t) => {
    const { cache, directory } = await withThree(t);
    const { pin } = await cache.ensure(request('two'), { pin: true });
    const before = await treeOf(directory);
    const tried = await cache.prune({ ...EVERYTHING, dryRun: true });
    assert.deepEqual(await treeOf(directory), before);
    assert.deepEqual([types(tried.removed), types(tried.pinned)], [['one', 'three'], ['two']]);
    assert.deepEqual([tried.removedBytes, tried.kept, tried.keptBytes], [4000, 1, 2000]);
    const { removed, pinned } = await cache.prune(EVERYTHING);
    assert.deepEqual([types(removed), types(pinned)], [['one', 'three'], ['two']]);
    await pin?.release();
  });

  it('is refused by a cache that may not write, and by one that is closed', async (t) => {
    const { directory, registry, cache } = await withThree(t);
    const readOnly = await openCache(t, registry, { directory, readOnly: true });
    for (const dryRun of [false, true]) await assert.rejects(readOnly.prune({ ...EVERYTHING, dryRun }), { code: 'ERR_READ_ONLY' });
    await cache.close();
    await assert.rejects(cache.prune(EVERYTHING), { code: 'ERR_CACHE_CLOSED' });
  });
});

describe('an entry that somebody needs', () => {
  it('stays while it is pinned, and the next in age goes instead', async (t) => {
    const { cache, registry, directory } = await withThree(t);
    const other = await openCache(t, registry, { directory });
    const one = await other.ensure(request('one'), { pin: true });
    const { removed, pinned, keptBytes } = await cache.prune({ maxBytes: 4000 });
    assert.deepEqual([types(removed), types(pinned), keptBytes], [['two'], ['one'], 4000]);
    await one.pin?.release();
    assert.deepEqual(types((await cache.prune({ maxBytes: 3000 })).removed), ['one']);
  });

  it('stays while its lock is held, ours or OpenTofu’s', async (t) => {
    const { cache, directory, packages } = await withThree(t);
    const [one, two] = packages;
    const own = await acquireLock(join(directory, 'state/locks', `${packageKey(`${HOST}/acme/one/1.0.0/linux_amd64`)}.lock`));
    const tofus = await tryBareLock(`${String(two?.path)}.lock`, { mode: 'exclusive' });
    const { removed, busy, kept } = await cache.prune(EVERYTHING);
    assert.deepEqual([types(removed), types(busy), kept], [['three'], ['one', 'two'], 2]);
    await own.release();
    await tofus?.release();
    assert.ok(one !== undefined && (await cache.prune(EVERYTHING)).removed.length === 2);
  });

  it('stays when it was replaced since it was looked at', async (t) => {
    const { cache, directory, packages } = await withThree(t);
    const { path } = packages[0] as ProviderPackage;
    let done: Promise<unknown> | undefined;
    const replace = async (): Promise<void> => {
      await rename(path, join(directory, 'aside'));
      await mkdir(path);
    };
    // The first that goes is the oldest; the filter is asked before anything goes.
    const { removed, busy } = await cache.prune({ filter: ({ address }) => {
      done ??= replace();
      return address.type === 'one';
    } });
    await done;
    assert.deepEqual([types(removed), types(busy)], [[], ['one']]);
  });
});

describe('what other programs put into the tree', () => {
  async function withForeign(t: TestContext, options: Partial<ProviderCacheOptions>): Promise<Filled & { foreign: string }> {
    const filled = await withThree(t, options);
    const foreign = join(filled.cache.providersDirectory, HOST, 'acme/foreign/2.0.0/linux_amd64');
    await mkdir(foreign, { recursive: true });
    await writeFile(join(foreign, 'terraform-provider-foreign_v2.0.0'), Buffer.alloc(500));
    await utimes(foreign, new Date(0), new Date(0));
    return { ...filled, foreign };
  }

  it('goes by the same policy', async (t) => {
    const { cache } = await withForeign(t, { settleMs: 0 });
    const { removed, keptBytes } = await cache.prune({ olderThanMs: DAY });
    assert.deepEqual(removed.map(({ package: path, bytes, recorded }) => [path, bytes, recorded]), [[`${HOST}/acme/foreign/2.0.0/linux_amd64`, 500, false]]);
    assert.equal(keptBytes, 6000);
  });

  it('stays until it has been left alone for a while, whatever time it says it is from', async (t) => {
    const { cache, foreign } = await withForeign(t, { settleMs: 60_000 });
    for (const dryRun of [true, false]) {
      const { removed, busy } = await cache.prune({ olderThanMs: DAY, dryRun });
      assert.deepEqual([types(removed), types(busy)], [[], ['foreign']]);
    }
    assert.ok((await lstat(foreign)).isDirectory());
  });

  it('and is reached through a symbolic link stays', async (t) => {
    const { cache, directory } = await withThree(t);
    const providers = cache.providersDirectory;
    await rename(join(providers, HOST, 'acme/one'), join(directory, 'one'));
    await symlink(join(directory, 'one'), join(providers, HOST, 'acme/one'));
    await mkdir(join(providers, HOST, 'acme/two/1.0.1'));
    await symlink('../1.0.0/linux_amd64', join(providers, HOST, 'acme/two/1.0.1/linux_amd64'));
    const { removed, kept } = await cache.prune({ maxBytes: 0, filter: ({ address, version }) => address.type !== 'two' || String(version) === '1.0.1' });
    assert.deepEqual(types(removed), ['three']);
    assert.equal(kept, 1);
    assert.ok((await cache.lookup(request('one'))) !== undefined);
    assert.ok((await lstat(join(providers, HOST, 'acme/two/1.0.1/linux_amd64'))).isSymbolicLink());
  });
});

describe('a prune that does not get through', () => {
  it('leaves what it cannot move as it was, and says why', async (t) => {
    const { cache, directory } = await withThree(t);
    await rm(join(directory, 'state/trash'), { recursive: true });
    await writeFile(join(directory, 'state/trash'), '');
    const { removed, failed, kept } = await cache.prune({ filter: ({ address }) => address.type === 'one' });
    assert.deepEqual([removed, kept], [[], 3]);
    const [failure] = failed;
    assert.equal(failure?.entry.address.type, 'one');
    assert.ok(failure.error instanceof FileSystemError);
    assert.equal(failure.error.systemCode, 'ENOTDIR');
    assert.equal((await cache.ensure(request('one'), { pin: true })).outcome, 'hit');
  });

  it('ends with its signal, between two entries', async (t) => {
    const { cache, directory } = await withThree(t);
    const reason = new Error('enough');
    await assert.rejects(cache.prune({ ...EVERYTHING, signal: AbortSignal.abort(reason) }), reason);
    const stop = new AbortController();
    const onPruned = (): void => {
      stop.abort(reason);
    };
    subscribe('rwx-cache:cache:pruned', onPruned);
    t.after(() => unsubscribe('rwx-cache:cache:pruned', onPruned));
    await assert.rejects(cache.prune({ ...EVERYTHING, signal: stop.signal }), reason);
    await cache.close();
    const again = await openCache(t, undefined, { directory, offline: true });
    assert.deepEqual(await present(again), ['three', 'two']);
    assert.deepEqual(await treeOf(join(directory, 'state/pins')), []);
  });

  it('ends when its cache is closed', async (t) => {
    const { cache, directory } = await withThree(t);
    let closed: Promise<void> | undefined;
    await assert.rejects(
      cache.prune({ filter: () => {
        closed ??= cache.close();
        return true;
      } }),
      { code: 'ERR_CACHE_CLOSED' },
    );
    await closed;
    assert.deepEqual(await trashOf(directory), []);
    assert.deepEqual(await readdir(join(directory, 'state/presence')), []);
  });
});
