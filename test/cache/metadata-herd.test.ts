/** Many processes that want what one lock file names: each document is asked for once, and a warm cache asks for none. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { ProviderCacheOptions } from '../../src/index.ts';
import { createCertificate } from '../support/certificate.ts';
import { startChild, type Child } from '../support/child.ts';
import type { EmbeddedRegistry } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import type { LockFileReport, LockFileTask } from './fixtures/lock-file.ts';
import { withRegistry } from './support.ts';

/** 64 processes and 20 providers for a full run: `RWX_CACHE_ROUNDS=64`. */
const PROCESSES = Math.min(64, Number(process.env['RWX_CACHE_ROUNDS'] ?? 6));
const PROVIDERS = PROCESSES < 64 ? 4 : 20;
const TYPES = Array.from({ length: PROVIDERS }, (_, index) => `thing${index}`);

interface Herd {
  readonly registry: EmbeddedRegistry;
  readonly directory: string;
  /** By discovery over TLS: the registry is none of the `hosts`. */
  readonly options: ProviderCacheOptions;
  readonly packages: LockFileTask['packages'];
  readonly children: readonly Child[];
}

/** A registry over https, an empty cache, and processes that are ready; `undefined` (and the test skipped) where there is no openssl. */
async function withHerd(t: TestContext, version: string): Promise<Herd | undefined> {
  const tls = await createCertificate(t);
  if (tls === undefined) return undefined;
  const registry = await withRegistry(t, { tls, validators: 'etag', providers: TYPES.map((type) => ({ address: `acme/${type}`, version: '1.0.0' })) });
  const host = `localhost:${new URL(registry.origin).port}`;
  const directory = join(await withTemporaryDirectory(t), 'cache');
  const packages = registry.releases.map(({ release, packages: zips }) => ({
    source: `${host}/${release.address}`,
    version,
    platform: 'linux_amd64',
    expectedHashes: [`zh:${zips.get('linux_amd64')?.sha256 ?? ''}`],
  }));
  const children = await Promise.all(
    Array.from({ length: PROCESSES }, async () => {
      const child = startChild(t, new URL('./fixtures/lock-file.js', import.meta.url));
      assert.equal(await child.message(), 'ready');
      return child;
    }),
  );
  return { registry, directory, options: { directory, environment: {}, http: { ca: tls.certificate } }, packages, children };
}

async function run(children: readonly Child[], task: LockFileTask): Promise<LockFileReport[]> {
  for (const child of children) child.process.send(task);
  return Promise.all(children.map(async (child) => (await child.message()) as LockFileReport));
}

function total(reports: readonly LockFileReport[], outcome: string): number {
  return reports.reduce((sum, { outcomes }) => sum + (outcomes[outcome] ?? 0), 0);
}

describe(`${PROCESSES} processes with a lock file of ${PROVIDERS} providers`, () => {
  it('discover the registry once and fetch each zip once; warm and offline they make no connection', async (t) => {
    const herd = await withHerd(t, '1.0.0');
    if (herd === undefined) return;
    const { registry, options, packages, children } = herd;
    const cold = await run(children, { cache: options, packages });
    assert.deepEqual(cold.flatMap(({ errors }) => errors), []);
    assert.equal(total(cold, 'installed'), PROVIDERS);
    assert.deepEqual([registry.count('discovery'), registry.count('zip')], [1, PROVIDERS]);
    assert.ok(registry.count('versions') <= PROVIDERS);
    assert.ok(cold.some((report) => report.connections > 0), 'connections are counted');
    const slowest = Math.round(Math.max(...cold.map(({ tookMs }) => tookMs)));
    t.diagnostic(`cold: ${registry.count('discovery')} discovery, ${registry.count('versions')} lists, ${registry.count('zip')} zips, ${slowest} ms at most`);

    const { connections } = registry;
    const warm = await run(children, { cache: { ...options, offline: true }, packages });
    assert.deepEqual(warm.flatMap(({ errors }) => errors), []);
    assert.equal(total(warm, 'hit'), PROCESSES * PROVIDERS);
    assert.equal(registry.connections, connections);
    assert.deepEqual(warm.map((report) => report.connections), children.map(() => 0));
    t.diagnostic(`warm and offline: ${Math.round(Math.max(...warm.map(({ tookMs }) => tookMs)))} ms at most, 0 connections`);
  });

  it('with constraints, ask for each list of versions once; warm and offline they make no connection', async (t) => {
    const herd = await withHerd(t, '~> 1.0');
    if (herd === undefined) return;
    const { registry, options, packages, children } = herd;
    const cold = await run(children, { cache: options, packages });
    assert.deepEqual(cold.flatMap(({ errors }) => errors), []);
    assert.deepEqual([registry.count('discovery'), registry.count('versions'), registry.count('zip')], [1, PROVIDERS, PROVIDERS]);
    const { connections } = registry;
    // A second time within the lifetime, with the network: nothing is asked either.
    const again = await run(children, { cache: options, packages });
    const warm = await run(children, { cache: { ...options, offline: true }, packages });
    for (const reports of [again, warm]) {
      assert.deepEqual(reports.flatMap(({ errors }) => errors), []);
      assert.deepEqual(reports.map((report) => report.connections), children.map(() => 0));
      assert.equal(total(reports, 'hit'), PROCESSES * PROVIDERS);
    }
    assert.equal(registry.connections, connections);
  });
});
