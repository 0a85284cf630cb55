import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { THING, withCache } from './support.ts';

describe('closing a cache', () => {
  it('ends a call that asks for versions with a CacheClosedError', async (t) => {
    const { cache, registry } = await withCache(t, { registry: { faults: [{ on: 'versions', silent: true }] } });
    const call = assert.rejects(cache.ensure({ ...THING, version: '~> 1.0' }), { code: 'ERR_CACHE_CLOSED' });
    while (registry.count('versions') === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await cache.close();
    await call;
  });

  it('leaves no presence of a call that had only begun', async (t) => {
    const { cache, directory } = await withCache(t);
    const call = assert.rejects(cache.ensure(THING, { pin: true }), { code: 'ERR_CACHE_CLOSED' });
    await cache.close();
    await call;
    assert.deepEqual(await readdir(join(directory, 'state/presence')), []);
    assert.deepEqual(await readdir(join(directory, 'state/pins')), []);
  });
});

describe('a zip without an end', () => {
  it('is given up at the limit of what may be unpacked, and fills no volume', async (t) => {
    const block = Buffer.alloc(1 << 20);
    const server = createServer((_request, response) => {
      const send = (): void => {
        while (!response.destroyed && response.write(block));
        response.once('drain', send);
      };
      response.writeHead(200, { 'content-type': 'application/zip' });
      send();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/endless.zip`;
    const { cache, directory } = await withCache(t, {
      registry: { faults: [{ on: 'metadata', json: (document) => ({ ...document, download_url: url }) }] },
      cache: { archiveLimits: { bytes: 1 << 20 } },
    });
    await assert.rejects(cache.ensure(THING), { code: 'ERR_RESPONSE_TOO_LARGE' });
    assert.deepEqual(await readdir(join(directory, 'state/staging')), []);
  });
});
