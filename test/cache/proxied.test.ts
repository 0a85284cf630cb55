import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCertificate } from '../support/certificate.ts';
import { startProxy } from '../support/proxy.ts';
import { openCache, THING, withRegistry } from './support.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

const HOST = 'registry.example.com';

describe('a cache behind a proxy', () => {
  it('installs by discovery over TLS with a custom CA, and all goes through the proxy', async (t) => {
    const tls = await createCertificate(t, `DNS:${HOST}`);
    if (tls === undefined) return;
    const registry = await withRegistry(t, { tls });
    const proxy = await startProxy(t, { credentials: 'user:pass', hosts: { [`${HOST}:443`]: Number(new URL(registry.origin).port) } });
    const environment = { HTTPS_PROXY: proxy.origin.replace('//', '//user:pass@') };
    const cache = await openCache(t, undefined, { directory: await withTemporaryDirectory(t), environment, http: { ca: tls.certificate } });
    assert.equal((await cache.ensure(THING)).outcome, 'installed');
    assert.ok(proxy.requests.length > 0 && proxy.requests.every(({ method, target }) => method === 'CONNECT' && target === `${HOST}:443`));
    assert.deepEqual(['discovery', 'metadata', 'zip'].map((route) => registry.count(route as 'zip')), [1, 1, 1]);
    assert.equal((await cache.ensure(THING)).outcome, 'hit');
  });

  it('says which proxy it was, without its secrets, when it does not let it through', async (t) => {
    const proxy = await startProxy(t, { credentials: 'user:pass' });
    const cache = await openCache(t, undefined, { directory: await withTemporaryDirectory(t), environment: { https_proxy: proxy.origin.replace('//', '//user:secret@') } });
    await assert.rejects(cache.ensure(THING), (error: Error) => error.message.includes(proxy.origin) && /407/u.test(error.message) && !error.message.includes('secret'));
  });
});
