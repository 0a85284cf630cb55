/** What a cache does with the documents that it keeps: constraints within the lifetime, offline, and when the registry is away. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ProviderCache } from '../../src/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { HOST, openCache, THING, withCache } from './support.ts';

const LATEST = { ...THING, version: '>= 1' };

function providers(...versions: string[]): { readonly providers: { address: string; version: string }[] } {
  return { providers: versions.map((version) => ({ address: 'acme/thing', version })) };
}

describe('constraints', () => {
  it('are met without the network while the list is young, from other instances as well', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: providers('1.0.0', '1.1.0') });
    await cache.ensure(LATEST);
    const { connections, requestLog } = registry;
    const before = [connections, requestLog.length];
    const other = await openCache(t, registry, { directory });
    const found = await other.ensure(LATEST);
    assert.deepEqual([found.outcome, String(found.version)], ['hit', '1.1.0']);
    assert.deepEqual([registry.connections, registry.requestLog.length], before);
  });

  it('that nothing in a kept list meets are asked about anew', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: providers('1.0.0') });
    await cache.ensure(LATEST);
    await registry.publish({ address: 'acme/thing', version: '2.0.0' });
    const other = await openCache(t, registry, { directory });
    assert.equal(String((await other.ensure(LATEST)).version), '1.0.0');
    assert.equal(String((await other.ensure({ ...THING, version: '~> 2.0' })).version), '2.0.0');
    assert.equal(registry.count('versions'), 2);
    await assert.rejects(other.ensure({ ...THING, version: '~> 3.0' }), { code: 'ERR_VERSION_NOT_FOUND' });
    assert.equal(registry.count('versions'), 3);
  });

  it('with metadataLifetimeMs 0 are asked about each time', async (t) => {
    const { cache, registry } = await withCache(t, { registry: providers('1.0.0'), cache: { metadataLifetimeMs: 0 } });
    await cache.ensure(LATEST);
    await cache.ensure(LATEST);
    assert.equal(registry.count('versions'), 2);
  });

  it('with staleIfError are met by the list of before when the registry is away', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: providers('1.0.0') });
    await cache.ensure(LATEST);
    await registry.close();
    const options = { directory, metadataLifetimeMs: 0, http: { backoffMs: 1, retries: 0 } };
    await assert.rejects((await openCache(t, registry, options)).ensure(LATEST), { code: 'ERR_NETWORK' });
    assert.equal((await (await openCache(t, registry, { ...options, staleIfError: true })).ensure(LATEST)).outcome, 'hit');
  });
});

describe('constraints offline', () => {
  it('are met by the newest version that is here and in the kept list', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: providers('1.0.0', '1.1.0', '1.2.0') });
    for (const version of ['1.0.0', '1.1.0']) await cache.ensure({ ...THING, version });
    const installed = await openCache(t, registry, { directory, offline: true });
    assert.equal(String((await installed.ensure(LATEST)).version), '1.1.0', 'without a list, what is here decides');

    // The registry has withdrawn 1.1.0, and the list says so.
    registry.faults.inject({ on: 'versions', json: () => ({ versions: [{ version: '1.0.0' }, { version: '1.2.0' }] }) });
    assert.equal(String((await cache.ensure({ ...THING, version: '1.0.0' })).version), '1.0.0');
    assert.equal(String((await cache.ensure({ ...THING, version: '<= 1.0.0' })).version), '1.0.0');
    const { connections } = registry;
    for (const options of [{ offline: true }, { readOnly: true }]) {
      const limited = await openCache(t, registry, { directory, ...options });
      assert.equal(String((await limited.ensure(LATEST)).version), '1.0.0');
      assert.equal(String((await limited.ensure({ ...THING, version: '~> 1.1.0' })).version), '1.1.0', 'before nothing at all, what is here');
    }
    assert.equal(registry.connections, connections);
  });

  it('that nothing here meets say what is missing', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: providers('1.0.0', '1.2.0') });
    await cache.ensure({ ...THING, version: '1.0.0' });
    const offline = await openCache(t, registry, { directory, offline: true });
    const missing = `${HOST}/acme/thing ~> 1.2 linux_amd64`;
    await assert.rejects(offline.ensure({ ...THING, version: '~> 1.2' }), {
      code: 'ERR_OFFLINE',
      missing: `${missing} (the list of versions of ${HOST}/acme/thing is not kept either)`,
    });
    const discovered = await openCache(t, registry, { directory, offline: true, hosts: {} });
    await assert.rejects(discovered.ensure({ ...THING, version: '~> 1.2' }), { code: 'ERR_OFFLINE', missing: `${missing} (the service discovery of ${HOST} is not kept either)` });

    await cache.ensure({ ...THING, version: '< 1.2' });
    await assert.rejects(offline.ensure({ ...THING, version: '~> 1.2' }), { code: 'ERR_OFFLINE', missing: `${missing} (by the list that is kept it is version 1.2.0)` });
    await assert.rejects(offline.ensure({ ...THING, version: '~> 7.0' }), { code: 'ERR_OFFLINE', missing: /no version in the list that is kept will do either/u });
    const readOnly = await openCache(t, registry, { directory, readOnly: true });
    await assert.rejects(readOnly.ensure({ ...THING, version: '~> 1.2' }), { code: 'ERR_READ_ONLY', missing: /1\.2\.0/u });
  });
});

it('an exact version from a registry that needs no discovery keeps no document', async (t) => {
  const { cache, directory } = await withCache(t);
  await cache.ensure(THING);
  assert.ok(!(await readdir(join(directory, 'state'))).includes('metadata'));
});

it('options that are no durations are refused by name', async (t) => {
  const directory = await withTemporaryDirectory(t);
  for (const metadataLifetimeMs of [-1, NaN, Infinity]) await assert.rejects(ProviderCache.open({ directory, metadataLifetimeMs }), { code: 'ERR_INVALID_OPTION', option: 'metadataLifetimeMs' });
  for (const staleIfError of [-1, NaN, 'yes' as unknown as boolean]) await assert.rejects(ProviderCache.open({ directory, staleIfError }), { code: 'ERR_INVALID_OPTION', option: 'staleIfError' });
});
