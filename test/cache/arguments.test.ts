/** What a caller without types may pass in: every refusal is one of the library's own errors, and nothing leaves the cache's tree. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { ProviderCache, type EnsureOptions, type ProviderCacheOptions, type ProviderRequest } from '../../src/index.ts';
import { RwxCacheError } from '../../src/errors.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { THING, withCache } from './support.ts';

const REQUESTS: readonly unknown[] = [
  undefined,
  null,
  {},
  { source: 5, version: '1.2.3' },
  { source: THING.source },
  { source: THING.source, version: 5 },
  { source: THING.source, version: {} },
  { ...THING, platform: 5 },
  { ...THING, platform: { os: '..', arch: '..', toString: () => '../../..' } },
  { ...THING, source: { hostname: 'x', namespace: '..', type: '..', toString: () => '../../..' } },
  { ...THING, version: { toString: () => '../../..' } },
];

describe('arguments of the wrong kind', () => {
  it('are refused as requests with a typed error', async (t) => {
    const { cache, directory } = await withCache(t);
    const around = await readdir(dirname(directory));
    for (const request of REQUESTS) {
      await assert.rejects(cache.ensure(request as ProviderRequest), RwxCacheError);
      await assert.rejects(cache.lookup(request as ProviderRequest), RwxCacheError);
    }
    for (const expectedHashes of [5, [5], [undefined], null]) {
      await assert.rejects(cache.ensure(THING, { expectedHashes: expectedHashes as unknown as string[] }), { code: 'ERR_INVALID_OPTION' });
    }
    assert.deepEqual((await readdir(dirname(directory))).filter((name) => name.includes('.lock')), around.filter((name) => name.includes('.lock')));
  });

  it('are refused as options of a call with a typed error that names the option', async (t) => {
    const { cache, registry } = await withCache(t);
    const found = await cache.ensure(THING);
    const asked = registry.requestLog.length;
    const signals: readonly unknown[] = [{}, null, 'abort', { aborted: false, throwIfAborted: () => undefined }];
    for (const signal of signals) {
      const options = { signal: signal as AbortSignal };
      const refusal = { code: 'ERR_INVALID_OPTION', option: 'signal' };
      await assert.rejects(cache.ensure(THING, options), refusal);
      await assert.rejects(cache.lookup(THING, options), refusal);
      await assert.rejects(cache.pin(found, options), refusal);
      await assert.rejects(cache.list(options).next(), refusal);
    }
    for (const pin of ['false', 1, null]) await assert.rejects(cache.ensure(THING, { pin: pin as unknown as boolean }), { code: 'ERR_INVALID_OPTION', option: 'pin' });
    for (const options of [null, 5, []]) {
      const refusal = { code: 'ERR_INVALID_OPTION', option: 'options' };
      await assert.rejects(cache.ensure(THING, options as unknown as EnsureOptions), refusal);
      await assert.rejects(cache.lookup(THING, options as unknown as EnsureOptions), refusal);
    }
    assert.equal(registry.requestLog.length, asked);
  });

  it('are taken as parsed addresses, versions and platforms when they are such', async (t) => {
    const { cache } = await withCache(t);
    const found = await cache.ensure(THING);
    assert.equal((await cache.ensure({ source: found.address, version: found.version, platform: found.platform })).path, found.path);
  });

  it('are refused as options with a typed error', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const options: readonly unknown[] = [
      undefined,
      {},
      { directory: 5 },
      { directory: `${directory}/a\0b` },
      { directory, providersDirectory: 5 },
      { directory, providersDirectory: '' },
      { directory, verification: null },
      { directory, verification: 'off' },
      { directory, verification: { hosts: { 'registry.example.com': undefined } } },
      { directory, readOnly: 'false' },
      { directory, offline: 1 },
    ];
    for (const given of options) await assert.rejects(ProviderCache.open(given as ProviderCacheOptions), { code: 'ERR_INVALID_OPTION' });
  });

  it('are refused as a providers directory in which our own state would lie', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (const providersDirectory of [directory, dirname(directory), join(directory, 'state'), join(directory, 'state/providers')]) {
      await assert.rejects(ProviderCache.open({ directory, providersDirectory }), { code: 'ERR_INVALID_OPTION' });
    }
    // The clients skip a dot-directory.
    await (await ProviderCache.open({ directory: join(directory, '.cache'), providersDirectory: directory })).close();
  });

  it('are refused as a directory to link into', async (t) => {
    const { cache } = await withCache(t);
    const found = await cache.ensure(THING);
    for (const directory of [undefined, 5, '']) await assert.rejects(found.linkInto(directory as string), { code: 'ERR_INVALID_OPTION' });
  });
});
