/** What the library is for: many processes on two hosts want the same packages of an empty cache, and each is downloaded once. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startChild } from '../support/child.ts';
import type { EnsureReport, EnsureTask } from '../cache/fixtures/ensure.ts';
import { HOST, withRegistry } from '../cache/support.ts';
import { withSharedDirectory } from './lab.ts';

const EACH = Number(process.env['RWX_CACHE_NFS_PROCESSES'] ?? 8);
const TYPES = ['one', 'two', 'three'];

describe(`2 hosts with ${EACH} processes each, 3 packages, an empty cache`, () => {
  it(`cause 3 downloads and get ${2 * EACH * TYPES.length} good results`, async (t) => {
    const shared = await withSharedDirectory(t);
    const files = (type: string) => ({ LICENSE: type, [`terraform-provider-${type}_v1.0.0`]: { data: randomBytes(1 << 20), mode: 0o100755 } });
    const registry = await withRegistry(t, { providers: TYPES.map((type) => ({ address: `acme/${type}`, version: '1.0.0', files: files(type) })) });
    const children = await Promise.all(Array.from({ length: 2 * EACH }, async () => {
      const child = startChild(t, new URL('../cache/fixtures/ensure.js', import.meta.url));
      assert.equal(await child.message(), 'ready');
      return child;
    }));
    const requests = TYPES.map((type) => ({ source: `${HOST}/acme/${type}`, version: '1.0.0', platform: 'linux_amd64' }));
    const begun = performance.now();
    for (const [index, child] of children.entries()) {
      const directory = join(index % 2 === 0 ? shared.a : shared.b, 'cache');
      child.process.send({ cache: { directory, hosts: registry.hosts(HOST) }, requests } satisfies EnsureTask);
    }
    const reports = (await Promise.all(children.map((child) => child.message()))).flat() as EnsureReport[];
    t.diagnostic(`${Math.round(performance.now() - begun)} ms from the first request to the last result`);
    assert.deepEqual(reports.filter(({ error }) => error !== undefined), []);
    for (const type of TYPES) {
      const own = reports.filter(({ source }) => source.endsWith(`/${type}`));
      assert.equal(own.length, 2 * EACH);
      assert.equal(new Set(own.map(({ h1 }) => h1)).size, 1);
      assert.equal(own.filter(({ outcome }) => outcome === 'installed').length, 1);
    }
    assert.equal(registry.count('zip'), TYPES.length);
  });
});
