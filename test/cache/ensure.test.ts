import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { currentPlatform } from '../../src/layout/index.ts';
import { hashDirectory } from '../../src/verify/index.ts';
import type { ProgressEvent } from '../../src/index.ts';
import { HOST, leftovers, openCache, THING, THING_PATH, treeOf, withCache } from './support.ts';

describe('ensure', () => {
  it('installs a package in the layout of the clients, verified, unpacked and read-only', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    const found = await cache.ensure(THING);
    assert.equal(found.outcome, 'installed');
    assert.equal(found.path, join(directory, THING_PATH));
    assert.equal(found.executable, join(directory, THING_PATH, 'terraform-provider-thing_v1.2.3_x5'));
    const zip = registry.releases[0]?.packages.get('linux_amd64');
    assert.deepEqual(found.hashes, [await hashDirectory(found.path), `zh:${String(zip?.sha256)}`]);
    assert.equal((await stat(found.executable)).mode & 0o777, 0o555);
    assert.equal((await stat(join(found.path, 'LICENSE'))).mode & 0o777, 0o444);
    assert.equal((await stat(found.path)).mode & 0o777, 0o755);
    assert.deepEqual(await treeOf(join(directory, 'state/staging')), []);
    assert.equal(await readFile(join(directory, 'state/format'), 'utf8'), '1\n');
  });

  it('says in provenance what was verified', async (t) => {
    const { cache, registry } = await withCache(t);
    const { provenance } = await cache.ensure(THING);
    const [key] = registry.releases[0]?.keys ?? [];
    assert.equal(provenance.provedBy, 'archive');
    assert.equal(provenance.checksum, 'sums');
    assert.equal(provenance.signature.status, 'verified');
    assert.ok(key !== undefined && provenance.signature.fingerprint.endsWith(key.keyId));
    assert.equal(provenance.url, `${registry.origin}/releases/acme/thing/1.2.3/linux_amd64.zip`);
  });

  it('answers a hit without the network, from another instance as well', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    const first = await cache.ensure(THING);
    const requests = registry.requestLog.length;
    assert.equal((await cache.ensure(THING)).outcome, 'hit');
    const other = await openCache(t, registry, { directory });
    const hit = await other.ensure(THING);
    assert.equal(hit.outcome, 'hit');
    assert.deepEqual(hit.hashes, first.hashes);
    assert.deepEqual(hit.provenance, first.provenance);
    assert.equal(registry.requestLog.length, requests);
  });

  it('takes the newest version that constraints allow', async (t) => {
    const providers = ['1.0.0', '1.2.0', '1.9.1', '2.0.0', '1.10.0-beta1'].map((version) => ({ address: 'acme/thing', version }));
    const { cache } = await withCache(t, { registry: { providers } });
    assert.equal(String((await cache.ensure({ ...THING, version: '~> 1.0' })).version), '1.9.1');
    assert.equal(String((await cache.ensure({ ...THING, version: '< 1.2' })).version), '1.0.0');
    await assert.rejects(cache.ensure({ ...THING, version: '> 3' }), { code: 'ERR_VERSION_NOT_FOUND', available: ['2.0.0', '1.10.0-beta1', '1.9.1', '1.2.0', '1.0.0'] });
    const found = await cache.lookup({ ...THING, version: '>= 1' });
    assert.equal(String(found?.version), '1.9.1');
  });

  it('uses this machine’s platform and the default host when they are left out', async (t) => {
    const platform = String(currentPlatform());
    const { cache, directory } = await withCache(t, {
      registry: { providers: [{ address: 'acme/thing', version: '1.2.3', platforms: [platform] }] },
      cache: { defaultHost: HOST },
    });
    const found = await cache.ensure({ source: 'acme/thing', version: '1.2.3' });
    assert.equal(found.path, join(directory, `providers/${HOST}/acme/thing/1.2.3/${platform}`));
  });

  it('tells what it is doing', async (t) => {
    const { cache } = await withCache(t);
    const events: ProgressEvent[] = [];
    await cache.ensure(THING, {
      onProgress: (event) => {
        events.push(event);
        throw new Error('a listener cannot fail the work');
      },
    });
    const phases = [...new Set(events.map((event) => event.phase))];
    assert.deepEqual(phases, ['resolving', 'downloading', 'verifying', 'unpacking', 'publishing']);
    const last = events.filter((event) => event.phase === 'downloading').at(-1);
    assert.ok(last !== undefined && last.receivedBytes === last.totalBytes && last.receivedBytes > 0);
  });

  it('shares one installation among the calls of a process', async (t) => {
    const { cache, registry } = await withCache(t);
    const found = await Promise.all(Array.from({ length: 20 }, () => cache.ensure(THING)));
    assert.equal(registry.count('zip'), 1);
    assert.equal(found.filter(({ outcome }) => outcome === 'installed').length, 1);
    assert.equal(found.filter(({ outcome }) => outcome === 'joined').length, 19);
  });

  it('shares it among instances by the lock', async (t) => {
    const { directory, registry, cache } = await withCache(t);
    const caches = [cache, ...(await Promise.all(Array.from({ length: 5 }, () => openCache(t, registry, { directory }))))];
    const found = await Promise.all(caches.map((each) => each.ensure(THING)));
    assert.equal(registry.count('zip'), 1);
    assert.deepEqual(found.map(({ outcome }) => outcome).sort(), ['installed', 'joined', 'joined', 'joined', 'joined', 'joined']);
  });

  it('refuses requests that are not as they must be, before anything is asked', async (t) => {
    const { cache, registry } = await withCache(t);
    await assert.rejects(cache.ensure({ ...THING, source: 'a/b/c/d' }), { code: 'ERR_INVALID_PROVIDER_ADDRESS' });
    await assert.rejects(cache.ensure({ ...THING, version: 'latest' }), { code: 'ERR_INVALID_CONSTRAINTS' });
    await assert.rejects(cache.ensure({ ...THING, platform: 'linux' }), { code: 'ERR_INVALID_PLATFORM' });
    await assert.rejects(cache.ensure(THING, { expectedHashes: ['nothing'] }), { code: 'ERR_INVALID_OPTION' });
    assert.equal(registry.requestLog.length, 0);
  });
});

describe('cancellation', () => {
  it('lets one caller go and finishes for the other', async (t) => {
    const { cache, registry } = await withCache(t, { registry: { faults: [{ on: 'zip', delayMs: 500 }] } });
    const leaving = new AbortController();
    const gone = cache.ensure(THING, { signal: leaving.signal });
    while (registry.count('zip') === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const staying = cache.ensure(THING);
    // It has joined when it hears what the work is at.
    await new Promise<void>((resolve) => void cache.ensure(THING, { onProgress: () => { resolve(); } }));
    leaving.abort(new Error('had enough'));
    await assert.rejects(gone, /had enough/u);
    assert.equal((await staying).outcome, 'joined');
    assert.equal(registry.count('zip'), 1);
  });

  it('stops the work with its last caller and leaves nothing', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: { faults: [{ on: 'zip', stallAt: 100, times: 1 }] } });
    const leaving = new AbortController();
    const calls = [1, 2].map(() => cache.ensure(THING, { signal: leaving.signal }));
    while (registry.count('zip') === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    leaving.abort(new Error('had enough'));
    for (const call of calls) await assert.rejects(call, /had enough/u);
    assert.equal((await cache.ensure(THING)).outcome, 'installed');
    assert.deepEqual(await treeOf(join(directory, 'state/staging')), []);
  });

  it('does nothing for a signal that has aborted already', async (t) => {
    const { cache, registry } = await withCache(t);
    await assert.rejects(cache.ensure(THING, { signal: AbortSignal.abort(new Error('too late')) }), /too late/u);
    assert.equal(registry.requestLog.length, 0);
  });

  it('ends every call when the cache is closed, and leaves nothing', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: { faults: [{ on: 'zip', stallAt: 100 }] } });
    const call = cache.ensure(THING);
    while (registry.count('zip') === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const closed = cache.close();
    await assert.rejects(call, { code: 'ERR_CACHE_CLOSED' });
    await closed;
    assert.deepEqual(await leftovers(directory), []);
    assert.deepEqual(await treeOf(join(directory, 'state/presence')), []);
    await assert.rejects(cache.ensure(THING), { code: 'ERR_CACHE_CLOSED' });
  });
});
