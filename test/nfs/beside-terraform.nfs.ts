/** Real `terraform` fills a cache on one host while the library fills it on the other: as its plugin cache, and as the mirror that it reads. */
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { ProviderCache } from '../../src/index.ts';
import { hashDirectory } from '../../src/verify/index.ts';
import { executableOf, lastWords, openCache, PLATFORM, release, required, terraform, WITHOUT_TERRAFORM, workingDirectory } from '../clients/support.ts';
import { HOST, treeOf, withRegistry } from '../cache/support.ts';
import { init } from '../support/terraform.ts';
import { withSharedDirectory } from './lab.ts';

const NAMES = ['one', 'two'];
const PROVIDERS = NAMES.map((name) => required(name));

interface Place {
  readonly a: string;
  /** B's cache: it does not believe what terraform has put there, and hashes it. */
  readonly cache: ProviderCache;
  readonly registry: Awaited<ReturnType<typeof withRegistry>>;
}

async function withPlace(t: TestContext): Promise<Place> {
  const shared = await withSharedDirectory(t);
  const registry = await withRegistry(t, { providers: NAMES.map((name) => release(name)) });
  const cache = await openCache(t, { directory: join(shared.b, 'cache'), hosts: registry.hosts(HOST), environment: {}, http: { backoffMs: 10 }, settleMs: 1000 });
  return { a: shared.a, cache, registry };
}

/** Both hosts see the whole packages and nothing else. */
async function checkEntries({ a, cache }: Place): Promise<void> {
  for (const name of NAMES) {
    const { path, hashes } = await cache.ensure(required(name));
    assert.ok(hashes.includes(await hashDirectory(path)));
    assert.ok(hashes.includes(await hashDirectory(join(a, 'cache/providers', HOST, 'acme', name, '1.2.3', PLATFORM))));
  }
  const contents = (await treeOf(join(a, 'cache/providers'))).filter((path) => !path.endsWith('.lock'));
  assert.deepEqual(contents, (await treeOf(cache.providersDirectory)).filter((path) => !path.endsWith('.lock')));
  assert.equal(contents.filter((path) => NAMES.some((name) => path.endsWith(executableOf(name)))).length, NAMES.length);
}

describe('terraform init on A, and ensure on B', { skip: WITHOUT_TERRAFORM }, () => {
  it('fill one cold cache at once: both succeed, and the entries are right', async (t) => {
    const place = await withPlace(t);
    await mkdir(join(place.a, 'cache/providers'), { recursive: true });
    const work = await workingDirectory(place.a, 'work', PROVIDERS);
    const [ended, ...found] = await Promise.all([
      init(terraform(), work, { configuration: { hosts: place.registry.hosts(HOST) }, environment: { TF_PLUGIN_CACHE_DIR: join(place.a, 'cache/providers') } }),
      ...PROVIDERS.map((provider) => place.cache.ensure(provider)),
    ]);
    assert.equal(ended.code, 0, lastWords(ended));
    t.diagnostic(`B: ${found.map(({ outcome }) => outcome).join(', ')}`);
    await checkEntries(place);
  });

  it('read what B has just filled, as a mirror: it needs no network', async (t) => {
    const place = await withPlace(t);
    await Promise.all(PROVIDERS.map((provider) => place.cache.ensure(provider)));
    const requests = place.registry.requestLog.length;
    const ended = await init(terraform(), await workingDirectory(place.a, 'work', PROVIDERS), { configuration: { mirror: join(place.a, 'cache/providers') } });
    assert.equal(ended.code, 0, lastWords(ended));
    assert.equal(place.registry.requestLog.length, requests);
    await checkEntries(place);
  });
});
