/** B has asked for what is missing, and keeps asking; A publishes it; B sees it with the next look, however many levels were missing. */
import assert from 'node:assert/strict';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { makeDirectories, publishDirectory, removeTree, statFresh, withStagingDirectory, writeFileAtomic } from '../../src/atomic/index.ts';
import { acquireLock } from '../../src/lock/index.ts';
import type { ProviderCache, ProviderRequest } from '../../src/index.ts';
import { HOST, openCache, withRegistry } from '../cache/support.ts';
import type { EmbeddedRegistry } from '../support/registry/index.ts';
import { theLab, withSharedDirectory } from './lab.ts';

type Publish = (path: string, staging: string) => Promise<void>;

const PUBLISH: Readonly<Record<'file' | 'directory', Publish>> = {
  file: async (path) => {
    await writeFileAtomic(path, 'content');
  },
  directory: async (path, staging) => {
    await withStagingDirectory(staging, async (own) => {
      await mkdir(join(own, 'staged'));
      await publishDirectory(join(own, 'staged'), path);
    });
  },
};

/** B's mounts: the default one, and the one that believes its caches for a minute. */
const MOUNTS = theLab().slowB === undefined ? (['b'] as const) : (['b', 'slowB'] as const);

const exists = (look: (path: string) => Promise<unknown>) => async (path: string) => (await look(path).catch(() => undefined)) !== undefined;
const plainly = exists(stat);
const freshly = exists(statFresh);

/** Publishes what B has asked for, and asks once more at once. */
async function publishWhileAsked(t: TestContext, mount: 'b' | 'slowB', publish: Publish, levels: number, look: (path: string) => Promise<boolean>): Promise<boolean> {
  const shared = await withSharedDirectory(t);
  const path = join(...['one', 'two', 'three', 'four', 'five'].slice(0, levels));
  const asked = join(String(shared[mount]), path);
  assert.equal(await look(asked), false);
  assert.equal(await look(asked), false);
  await makeDirectories(dirname(join(shared.a, path)));
  await publish(join(shared.a, path), shared.a);
  return look(asked);
}

for (const mount of MOUNTS) {
  describe(`a fresh look-up, ${mount === 'b' ? 'default mount options' : 'actimeo=60'}`, () => {
    for (const [kind, publish] of Object.entries(PUBLISH)) {
      for (const levels of [1, 2, 3, 5]) {
        it(`sees a new ${kind} at once, ${levels} missing level(s) down`, async (t) => {
          assert.equal(await publishWhileAsked(t, mount, publish, levels, freshly), true);
        });
      }
      it(`is needed: plain stat misses a new ${kind}`, async (t) => {
        assert.equal(await publishWhileAsked(t, mount, publish, 1, plainly), false);
      });
    }
  });
}

describe('a directory that B has missed and A has made', () => {
  const WORK: Readonly<Record<string, (directory: string) => Promise<unknown>>> = {
    writeFileAtomic: (directory) => writeFileAtomic(join(directory, 'file'), 'content'),
    withStagingDirectory: (directory) => withStagingDirectory(directory, (path) => stat(path)),
    'acquireLock, kernel': async (directory) => (await acquireLock(join(directory, 'lock'))).release(),
    'acquireLock, lease': async (directory) => (await acquireLock(join(directory, 'lock'), { strategy: 'lease' })).release(),
    removeTree: async (directory) => {
      assert.deepEqual(await removeTree(directory), { removed: true });
    },
  };
  for (const [what, work] of Object.entries(WORK)) {
    it(`is worked in by ${what}`, async (t) => {
      const shared = await withSharedDirectory(t);
      assert.equal(await plainly(join(shared.b, 'made')), false);
      await mkdir(join(shared.a, 'made'));
      await work(join(shared.b, 'made'));
      assert.deepEqual(await readdir(shared.a), what === 'removeTree' ? [] : ['made']);
    });
  }
});

const OTHER_HOST = 'registry.example.org';
const FIRST: ProviderRequest = { source: `${HOST}/acme/thing`, version: '1.0.0', platform: 'linux_amd64' };
const NEW: Readonly<Record<string, ProviderRequest>> = {
  platform: { ...FIRST, platform: 'linux_arm64' },
  version: { ...FIRST, version: '2.0.0' },
  provider: { ...FIRST, source: `${HOST}/acme/other` },
  namespace: { ...FIRST, source: `${HOST}/apex/thing` },
  host: { ...FIRST, source: `${OTHER_HOST}/acme/thing` },
};

async function withEverything(t: TestContext): Promise<EmbeddedRegistry> {
  const platforms = ['linux_amd64', 'linux_arm64'];
  return withRegistry(t, {
    providers: [
      { address: 'acme/thing', version: '1.0.0', platforms },
      { address: 'acme/thing', version: '2.0.0', platforms },
      { address: 'acme/other', version: '1.0.0', platforms },
      { address: 'apex/thing', version: '1.0.0', platforms },
    ],
  });
}

async function openOn(t: TestContext, registry: EmbeddedRegistry, directory: string): Promise<ProviderCache> {
  return openCache(t, registry, { directory, hosts: { ...registry.hosts(HOST), ...registry.hosts(OTHER_HOST) } });
}

describe('a cache on B, default mount options and actimeo=60', () => {
  it(`sees at once what A has installed: a new ${Object.keys(NEW).join(', ')}`, async (t) => {
    const shared = await withSharedDirectory(t);
    const registry = await withEverything(t);
    const a = await openOn(t, registry, join(shared.a, 'cache'));
    const all = await Promise.all(MOUNTS.map((mount) => openOn(t, registry, join(String(shared[mount]), 'cache'))));
    await a.ensure(FIRST);
    for (const b of all) assert.equal((await b.lookup(FIRST))?.outcome, 'hit');
    for (const [level, request] of Object.entries(NEW)) {
      for (const b of all) assert.equal(await b.lookup(request), undefined);
      const installing = a.ensure(request);
      let asked = 0;
      for (let done = false; !done; asked += 1) {
        for (const b of all) await b.lookup(request);
        done = await Promise.race([installing.then(() => true), setTimeout(10, false)]);
      }
      assert.equal((await installing).outcome, 'installed');
      for (const b of all) {
        assert.equal((await b.lookup(request))?.outcome, 'hit');
        assert.equal((await b.ensure(request)).outcome, 'hit');
      }
      t.diagnostic(`${level}: B asked ${asked} times meanwhile`);
    }
    assert.equal(registry.count('zip'), 1 + Object.keys(NEW).length);
  });

  it('ensures at once what A has installed, without a look-up in between', async (t) => {
    const shared = await withSharedDirectory(t);
    const registry = await withEverything(t);
    const a = await openOn(t, registry, join(shared.a, 'cache'));
    const all = await Promise.all(MOUNTS.map((mount) => openOn(t, registry, join(String(shared[mount]), 'cache'))));
    for (const request of Object.values(NEW)) {
      for (const b of all) assert.equal(await b.lookup(request), undefined);
      await a.ensure(request);
      for (const b of all) assert.equal((await b.ensure(request)).outcome, 'hit');
    }
  });
});
