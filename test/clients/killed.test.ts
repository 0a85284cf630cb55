/** What a killed `terraform` leaves in the cache never wedges it. */
import assert from 'node:assert/strict';
import { chmod, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { ProviderCache } from '../../src/index.ts';
import { hashDirectory, hashZipContents } from '../../src/verify/index.ts';
import { HOST, treeOf } from '../cache/support.ts';
import type { RegistryProcess } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { init, startInit, writeLockFile, type InitOptions } from '../support/terraform.ts';
import { cacheOptions, executableOf, largeZip, lastWords, openCache, PLATFORM, release, required, sizeOf, terraform, until, withRegistryProcess, WITHOUT_TERRAFORM, workingDirectory } from './support.ts';

const PROVIDER = required('heavy');
/** Enough to be caught in the middle; where that is not needed, less is quicker. */
const LARGE = 24 << 20;
const SMALL = 4 << 20;

interface Scene {
  readonly root: string;
  readonly registry: RegistryProcess;
  readonly cache: ProviderCache;
  /** Where the entry has to be. */
  readonly entry: string;
  readonly binary: string;
  /** The h1 of the zip that the registry serves. */
  readonly h1: string;
  /** `init` with our tree as its plugin cache. */
  readonly options: InitOptions;
}

async function prepare(t: TestContext, bytes: number): Promise<Scene> {
  const root = await withTemporaryDirectory(t);
  const zipPath = join(root, 'heavy.zip');
  await writeFile(zipPath, largeZip('heavy', bytes));
  const registry = await withRegistryProcess(t, { providers: [{ ...release('heavy'), zipPath }] });
  const cache = await openCache(t, cacheOptions(registry, join(root, 'cache'), { settleMs: 500 }));
  const entry = join(cache.providersDirectory, HOST, 'acme/heavy/1.2.3', PLATFORM);
  return {
    root,
    registry,
    cache,
    entry,
    binary: join(entry, executableOf('heavy')),
    h1: await hashZipContents(zipPath),
    options: { configuration: { hosts: registry.hosts(HOST) }, environment: { TF_PLUGIN_CACHE_DIR: cache.providersDirectory } },
  };
}

/** The next `init`, with a lock file and without one, in working directories of their own. */
async function initsWork({ root, registry, cache, entry, h1, options }: Scene): Promise<void> {
  const locked = await workingDirectory(root, 'locked', [PROVIDER]);
  await writeLockFile(locked, [{ ...PROVIDER, hashes: [h1] }]);
  const zips = await registry.count('zip');
  const first = await init(terraform(), locked, options);
  assert.equal(first.code, 0, lastWords(first));
  assert.equal(await registry.count('zip'), zips, 'the entry was taken as it is');
  const mirrored = await workingDirectory(root, 'mirrored', [PROVIDER]);
  const second = await init(terraform(), mirrored, { configuration: { mirror: cache.providersDirectory } });
  assert.equal(second.code, 0, lastWords(second));
  assert.equal(await hashDirectory(entry), h1);
}

describe('an entry of a terraform that was killed', { skip: WITHOUT_TERRAFORM }, () => {
  it('is repaired by the next ensure when it was killed half-way through its unzip, and the next init works', async (t) => {
    const scene = await prepare(t, LARGE);
    const { root, cache, binary, entry, h1 } = scene;
    const running = await startInit(terraform(), await workingDirectory(root, 'victim', [PROVIDER]), scene.options);
    let ended = false;
    void running.done.finally(() => {
      ended = true;
    });
    await until('a short binary', async () => ended || (await sizeOf(binary)) > LARGE / 8, { everyMs: 1 });
    running.kill('SIGKILL');
    const { signal } = await running.done;
    const size = await sizeOf(binary);
    const whole = size === LARGE && (await sizeOf(join(entry, 'z-notice.txt'))) > 0;
    t.diagnostic(`killed (${String(signal)}) at ${size} of ${LARGE} bytes`);
    const found = await cache.ensure(PROVIDER);
    // On a busy machine the kill may come when all is there: then it is as good as ours.
    assert.equal(found.outcome, whole ? 'adopted' : 'repaired');
    assert.ok(found.hashes.includes(h1));
    assert.equal(await hashDirectory(entry), h1);
    await initsWork(scene);
  });

  it('is adopted by the next ensure when terraform had finished', async (t) => {
    const scene = await prepare(t, SMALL);
    const { root, cache, entry, h1 } = scene;
    const result = await init(terraform(), await workingDirectory(root, 'before', [PROVIDER]), scene.options);
    assert.equal(result.code, 0, lastWords(result));
    const { ino } = await stat(entry);
    const found = await cache.ensure(PROVIDER);
    assert.equal(found.outcome, 'adopted');
    assert.equal((await stat(entry)).ino, ino);
    assert.ok(found.hashes.includes(h1));
    await initsWork(scene);
  });

  it('is repaired when it is cut down by hand, be it theirs or ours', async (t) => {
    const scene = await prepare(t, SMALL);
    const { root, cache, entry, binary, h1 } = scene;
    const result = await init(terraform(), await workingDirectory(root, 'before', [PROVIDER]), scene.options);
    assert.equal(result.code, 0, lastWords(result));
    for (const whose of ['theirs', 'ours']) {
      await chmod(binary, 0o755);
      await truncate(binary, SMALL / 4);
      const found = await cache.ensure(PROVIDER);
      assert.equal(found.outcome, 'repaired', whose);
      assert.equal(await hashDirectory(entry), h1, whose);
    }
    assert.deepEqual(await treeOf(join(cache.directory, 'state/staging')), []);
    await initsWork(scene);
  });
});
