/** `terraform init` takes its providers from a cache that only this library filled. */
import assert from 'node:assert/strict';
import { lstat, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { ProviderCache, ProviderPackage } from '../../src/index.ts';
import { HOST } from '../cache/support.ts';
import type { RegistryProcess } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { init, readLockFile, writeLockFile } from '../support/terraform.ts';
import { cacheOptions, lastWords, openCache, PLATFORM, release, required, terraform, withRegistryProcess, WITHOUT_TERRAFORM, workingDirectory } from './support.ts';

const PROVIDERS = [required('alpha'), required('beta', '0.4.0-beta1'), required('gamma', '10.0.1')];

async function filledCache(t: TestContext): Promise<{ root: string; registry: RegistryProcess; cache: ProviderCache; packages: ProviderPackage[] }> {
  const root = await withTemporaryDirectory(t);
  const registry = await withRegistryProcess(t, { providers: [release('alpha'), release('beta', '0.4.0-beta1'), release('gamma', '10.0.1')] });
  const cache = await openCache(t, cacheOptions(registry, join(root, 'cache')));
  const packages = await Promise.all(PROVIDERS.map((request) => cache.ensure(request)));
  return { root, registry, cache, packages };
}

function h1Of(hashes: readonly string[]): string[] {
  return hashes.filter((hash) => hash.startsWith('h1:'));
}

function locked(packages: readonly ProviderPackage[]): { source: string; version: string; hashes: readonly string[] }[] {
  return packages.map(({ address, version, hashes }) => ({ source: String(address), version: String(version), hashes }));
}

describe('terraform init', { skip: WITHOUT_TERRAFORM }, () => {
  it('installs all providers through a filesystem mirror with the registry switched off, and locks our h1', async (t) => {
    const { root, registry, cache, packages } = await filledCache(t);
    await registry.close();
    const directory = await workingDirectory(root, 'work', PROVIDERS);
    const result = await init(terraform(), directory, { configuration: { hosts: registry.hosts(HOST), mirror: cache.providersDirectory } });
    assert.equal(result.code, 0, lastWords(result));
    const lockFile = await readLockFile(directory);
    assert.equal(lockFile.length, 3);
    assert.deepEqual(
      lockFile.map(({ source, version, hashes }) => ({ source, version, hashes })),
      locked(packages).map((each) => ({ ...each, hashes: h1Of(each.hashes) })),
    );
    for (const { address, version, path } of packages) {
      const link = join(directory, '.terraform/providers', String(address), String(version), PLATFORM);
      assert.equal(await readlink(link), path);
    }
  });

  it('installs them through TF_PLUGIN_CACHE_DIR and a lock file without a download', async (t) => {
    const { root, registry, cache, packages } = await filledCache(t);
    const directory = await workingDirectory(root, 'work', PROVIDERS);
    await writeLockFile(directory, locked(packages));
    const before = (await registry.requestLog()).length;
    const result = await init(terraform(), directory, {
      configuration: { hosts: registry.hosts(HOST) },
      environment: { TF_PLUGIN_CACHE_DIR: cache.providersDirectory },
    });
    assert.equal(result.code, 0, lastWords(result));
    const asked = (await registry.requestLog()).slice(before).map(({ route }) => route);
    assert.deepEqual(asked, ['versions', 'versions', 'versions']);
    for (const { address, version, path } of packages) {
      const link = join(directory, '.terraform/providers', String(address), String(version), PLATFORM);
      assert.equal((await lstat(link)).isSymbolicLink(), true);
      assert.equal(await readlink(link), path);
    }
  });

  it('accepts only our bytes: an entry that was changed fails against the lock file', async (t) => {
    const { root, registry, cache, packages } = await filledCache(t);
    const directory = await workingDirectory(root, 'work', PROVIDERS);
    const wrong = locked(packages).map((each) => ({ ...each, hashes: [`h1:${'A'.repeat(43)}=`] }));
    await writeLockFile(directory, wrong);
    const result = await init(terraform(), directory, { configuration: { hosts: registry.hosts(HOST), mirror: cache.providersDirectory } });
    assert.equal(result.code, 1);
    assert.match(result.output, /checksum/u);
  });
});
