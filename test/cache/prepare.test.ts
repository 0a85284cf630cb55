/** What `prepareWorkingDirectory` leaves in a working directory, and what it answers; `test/clients/` has what real clients make of it. */
import assert from 'node:assert/strict';
import { lstat, mkdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { ProviderCache, ProviderCacheOptions } from '../../src/index.ts';
import { currentPlatform } from '../../src/layout/index.ts';
import { loadCliConfig, type CliConfig } from '../../src/registry/index.ts';
import { makeHome } from '../registry/cli-config/support.ts';
import type { EmbeddedRegistry } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { HOST, openCache, treeOf, withRegistry } from './support.ts';

const PLATFORM = String(currentPlatform());
const ALPHA = `${HOST}/acme/alpha`;

interface Scene {
  readonly registry: EmbeddedRegistry;
  readonly cache: ProviderCache;
  readonly directory: string;
  readonly lockFile: string;
}

async function scene(t: TestContext, options: Partial<ProviderCacheOptions> = {}, platforms = [PLATFORM]): Promise<Scene> {
  const registry = await withRegistry(t, { providers: [{ address: 'acme/alpha', version: '1.2.3', platforms }] });
  const cache = await openCache(t, registry, { directory: await withTemporaryDirectory(t), ...options });
  const directory = await withTemporaryDirectory(t);
  const lockFile = join(directory, '.terraform.lock.hcl');
  await writeFile(lockFile, `provider "${ALPHA}" {\n  version = "1.2.3"\n}\n`);
  return { registry, cache, directory, lockFile };
}

/** What the client would read, by our own reader, which reads as the clients do. */
async function readBack(path: string | undefined): Promise<CliConfig> {
  return loadCliConfig({ environment: { TF_CLI_CONFIG_FILE: String(path) }, homeDirectory: '/nonexistent' });
}

describe('prepareWorkingDirectory', () => {
  it('has the packages, links them where the lock file has our hash, and names a mirror of them', async (t) => {
    const { cache, directory, registry } = await scene(t);
    const prepared = await cache.prepareWorkingDirectory(directory, { update: true, cliConfig: false });
    const [found] = prepared.packages;
    assert.ok(found !== undefined && prepared.packages.length === 1);
    assert.equal(prepared.providersDirectory, join(directory, '.terraform/providers'));
    const below = join(ALPHA, '1.2.3', PLATFORM);
    assert.equal(await readlink(join(prepared.providersDirectory, below)), found.path);
    assert.equal(await readlink(join(prepared.mirrorDirectory, below)), found.path);
    assert.deepEqual(await treeOf(prepared.mirrorDirectory), [below]);
    assert.equal(await readFile(String(prepared.cliConfigPath), 'utf8'), prepared.cliConfig);
    assert.deepEqual(prepared.environment, { CHECKPOINT_DISABLE: '1', TF_PLUGIN_CACHE_DIR: '', TF_CLI_CONFIG_FILE: prepared.cliConfigPath });
    const { sources, hosts, disableCheckpoint, warnings } = await readBack(prepared.cliConfigPath);
    assert.deepEqual(sources?.[0], { type: 'filesystem_mirror', path: prepared.mirrorDirectory, include: [ALPHA] });
    assert.ok(sources.slice(1).every(({ exclude }) => exclude?.includes(ALPHA)), 'nobody else is asked for it');
    assert.equal(sources.at(-1)?.type, 'direct');
    assert.deepEqual(hosts, registry.hosts(HOST));
    assert.deepEqual([disableCheckpoint, warnings], [true, []]);
    const before = await stat(join(prepared.providersDirectory, below, '..'), { bigint: true });
    const again = await cache.prepareWorkingDirectory(directory, { update: true, cliConfig: false });
    assert.deepEqual([again.cliConfig, again.environment, again.packages[0]?.outcome], [prepared.cliConfig, prepared.environment, 'hit']);
    assert.equal((await stat(join(prepared.providersDirectory, below, '..'), { bigint: true })).mtimeNs, before.mtimeNs);
  });

  it('copies where the lock file has no hash of ours, and leaves the lock file alone unless it is to be updated', async (t) => {
    const { cache, directory, lockFile } = await scene(t);
    const text = await readFile(lockFile, 'utf8');
    const { providersDirectory } = await cache.prepareWorkingDirectory(directory, { cliConfig: false });
    const target = join(providersDirectory, ALPHA, '1.2.3', PLATFORM);
    assert.ok((await lstat(target)).isDirectory());
    assert.equal(await readFile(lockFile, 'utf8'), text);
    await cache.prepareWorkingDirectory(directory, { update: true, cliConfig: false });
    assert.ok((await lstat(target)).isSymbolicLink());
    assert.notEqual(await readFile(lockFile, 'utf8'), text);
  });

  it('replaces what was linked to something that is gone', async (t) => {
    const { cache, directory } = await scene(t);
    const places = [join(directory, '.terraform/providers', ALPHA, '1.2.3'), join(directory, '.terraform/rwx-cache/mirror', ALPHA, '1.2.3')];
    for (const place of places) {
      await mkdir(place, { recursive: true });
      await symlink('/gone/with/the/cache', join(place, PLATFORM));
    }
    const { packages } = await cache.prepareWorkingDirectory(directory, { update: true, cliConfig: false });
    for (const place of places) assert.equal(await readlink(join(place, PLATFORM)), packages[0]?.path);
  });

  it('keeps what the user’s configuration says, but for the plugin cache, and puts no token into a file', async (t) => {
    const home = await makeHome(t);
    const [plugins, mine] = [join(home.path, 'plugins'), join(home.path, 'mine')];
    await mkdir(plugins);
    await home.write(
      '.terraformrc',
      `
plugin_cache_dir = "${plugins}"
host "modules.example.com" {
  services = { "modules.v1" = "https://modules.example.com/v1/" }
}
credentials "private-one.example.com" {
  token = "secret-one"
}
credentials "bad.example.com" {
  token = "two words"
}
registry_protocols {
  retry_count             = 7
  request_timeout_seconds = 33
}
credentials_helper "vault" {
  args = ["--path", "a \\"b\\""]
}
provider_installation {
  dev_overrides {
    "acme/mine" = "${mine}"
  }
  network_mirror {
    url     = "https://mirror.example.com/"
    include = ["${HOST}/*/*"]
    exclude = ["${HOST}/acme/gone"]
  }
  filesystem_mirror {
    path = "${plugins}"
  }
  direct {}
}
`,
    );
    const cliConfig = await home.load();
    const { cache, directory, registry } = await scene(t, { credentials: { 'two.example.com:8443': { token: 'secret-two' } }, sources: undefined });
    const around = { TF_TOKEN_two_example_com: 'theirs', TF_REGISTRY_CLIENT_TIMEOUT: '5' };
    const prepared = await cache.prepareWorkingDirectory(directory, { cliConfig, environment: around });
    const { TF_CLI_CONFIG_FILE, ...environment } = prepared.environment;
    assert.equal(TF_CLI_CONFIG_FILE, prepared.cliConfigPath);
    assert.deepEqual(environment, {
      CHECKPOINT_DISABLE: '1',
      TF_PLUGIN_CACHE_DIR: '',
      TF_REGISTRY_DISCOVERY_RETRY: '7',
      'TF_TOKEN_private__one_example_com': 'secret-one',
      'TF_TOKEN_two_example_com:8443': 'secret-two',
    });
    for (const path of await treeOf(join(directory, '.terraform/rwx-cache'))) {
      const file = join(directory, '.terraform/rwx-cache', path);
      if ((await lstat(file)).isFile()) assert.ok(!/secret|two words/u.test(await readFile(file, 'utf8')), path);
    }
    const read = await readBack(prepared.cliConfigPath);
    assert.deepEqual(read.sources, [
      { type: 'filesystem_mirror', path: prepared.mirrorDirectory, include: [ALPHA] },
      { type: 'network_mirror', url: 'https://mirror.example.com/', include: [`${HOST}/*/*`], exclude: [`${HOST}/acme/gone`, ALPHA] },
      { type: 'filesystem_mirror', path: plugins, exclude: [ALPHA] },
      { type: 'direct', exclude: [ALPHA] },
    ]);
    assert.deepEqual(read.devOverrides, cliConfig.devOverrides);
    assert.deepEqual(read.hosts, { ...cliConfig.hosts, ...registry.hosts(HOST) });
    assert.deepEqual(read.credentialsHelper, { name: 'vault', args: ['--path', 'a "b"'] });
    assert.equal(read.pluginCacheDir, undefined);
    // An environment that has become the process's own leads to the file of the call before: it says the same once more.
    const again = await cache.prepareWorkingDirectory(directory, { cliConfig: read, environment: { ...around, ...prepared.environment } });
    assert.equal(again.cliConfig, prepared.cliConfig);
  });

  it('reads the user’s configuration where none is given', async (t) => {
    const home = await makeHome(t);
    await home.write('.terraformrc', `host "modules.example.com" {\n  services = {}\n}\ncredentials "one.example.com" {\n  token = "secret-one"\n}\n`);
    const { cache, directory } = await scene(t);
    const prepared = await cache.prepareWorkingDirectory(directory, { environment: { HOME: home.path } });
    assert.equal(prepared.environment['TF_TOKEN_one_example_com'], 'secret-one');
    assert.ok('modules.example.com' in (await readBack(prepared.cliConfigPath)).hosts);
    await home.write('.terraformrc', 'host "modules.example.com" {');
    await assert.rejects(cache.prepareWorkingDirectory(directory, { environment: { HOME: home.path } }), { code: 'ERR_HCL_SYNTAX' });
  });

  it('opens nothing else to the client when it is told so, or the cache is offline', async (t) => {
    const { cache, directory } = await scene(t);
    await cache.prepareWorkingDirectory(directory, { update: true, cliConfig: false });
    const offline = await openCache(t, undefined, { directory: cache.directory, offline: true });
    for (const prepared of [await cache.prepareWorkingDirectory(directory, { others: false, cliConfig: false }), await offline.prepareWorkingDirectory(directory, { cliConfig: false })]) {
      assert.deepEqual((await readBack(prepared.cliConfigPath)).sources, [{ type: 'filesystem_mirror', path: prepared.mirrorDirectory }]);
    }
  });

  it('has nothing to link without a lock file, and leaves the choice to the client', async (t) => {
    const { cache, registry } = await scene(t);
    const directory = await withTemporaryDirectory(t);
    const prepared = await cache.prepareWorkingDirectory(directory, { update: true, cliConfig: false, pin: true });
    assert.deepEqual(prepared.packages, []);
    const { sources = [] } = await readBack(prepared.cliConfigPath);
    // A list of nothing would be no list: the mirror would be asked for everything.
    assert.ok(sources[0]?.include?.length === 1 && sources[0].type === 'filesystem_mirror');
    assert.equal(sources.at(-1)?.type, 'direct');
    assert.equal(registry.requestLog.length, 0);
    await assert.rejects(lstat(join(directory, '.terraform.lock.hcl')));
  });

  it('keeps to the data directory, and writes no configuration where only the text is wanted', async (t) => {
    const { cache, directory } = await scene(t);
    const elsewhere = await withTemporaryDirectory(t);
    for (const [given, data] of [['data', join(directory, 'data')], [elsewhere, elsewhere]] as const) {
      const prepared = await cache.prepareWorkingDirectory(directory, { environment: { TF_DATA_DIR: given }, cliConfig: false, writeCliConfig: false });
      assert.equal(prepared.providersDirectory, join(data, 'providers'));
      assert.equal(prepared.cliConfigPath, undefined);
      assert.deepEqual(prepared.environment, { CHECKPOINT_DISABLE: '1', TF_PLUGIN_CACHE_DIR: '', TF_DATA_DIR: given });
      assert.deepEqual((await treeOf(join(data, 'rwx-cache'))).filter((path) => !path.startsWith('mirror/')), []);
    }
  });

  it('links only what is for this machine', async (t) => {
    const { cache, directory, lockFile } = await scene(t, {}, [PLATFORM, 'solaris_amd64']);
    const prepared = await cache.prepareWorkingDirectory(directory, { update: true, platforms: ['solaris_amd64'], cliConfig: false });
    assert.deepEqual(prepared.packages.map(({ platform }) => String(platform)), [PLATFORM, 'solaris_amd64']);
    assert.deepEqual(await treeOf(prepared.mirrorDirectory), [join(ALPHA, '1.2.3', PLATFORM)]);
    assert.ok((await readFile(lockFile, 'utf8')).includes(String(prepared.packages[1]?.hashes[0])));
  });

  it('links nothing when a package cannot be had, and says what is wrong with its arguments', async (t) => {
    const { cache, directory, lockFile } = await scene(t);
    await writeFile(lockFile, `provider "${ALPHA}" {\n  version = "1.2.3"\n  hashes  = ["h1:${'A'.repeat(43)}="]\n}\n`);
    await assert.rejects(cache.prepareWorkingDirectory(directory, { update: true, cliConfig: false }), { code: 'ERR_ENSURE_ALL' });
    await assert.rejects(lstat(join(directory, '.terraform')));
    await writeFile(lockFile, 'provider {');
    await assert.rejects(cache.prepareWorkingDirectory(directory, { cliConfig: false }), { code: 'ERR_HCL_SYNTAX' });
    await assert.rejects(cache.prepareWorkingDirectory(join(directory, 'mistyped')), { code: 'ERR_FILE_SYSTEM', systemCode: 'ENOENT' });
    await assert.rejects(cache.prepareWorkingDirectory(lockFile), { code: 'ERR_FILE_SYSTEM', systemCode: 'ENOTDIR' });
    await assert.rejects(cache.prepareWorkingDirectory(''), { code: 'ERR_INVALID_OPTION', option: 'directory' });
    await assert.rejects(cache.prepareWorkingDirectory(directory, { others: 'no' as never }), { code: 'ERR_INVALID_OPTION', option: 'others' });
    await assert.rejects(cache.prepareWorkingDirectory(directory, { method: 'teleport' as never }), { code: 'ERR_INVALID_OPTION', option: 'method' });
    await assert.rejects(cache.prepareWorkingDirectory(directory, { signal: AbortSignal.abort(new Error('before')) }), { message: 'before' });
  });

  it('ends with an abort and with the cache', async (t) => {
    const { cache, directory, registry } = await scene(t);
    registry.faults.inject({ on: 'zip', silent: true });
    const abort = new AbortController();
    const aborted = cache.prepareWorkingDirectory(directory, { signal: abort.signal, cliConfig: false });
    while (registry.count('zip') === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    abort.abort(new Error('enough'));
    await assert.rejects(aborted, { message: 'enough' });
    await assert.rejects(lstat(join(directory, '.terraform')));
    const closed = assert.rejects(cache.prepareWorkingDirectory(directory, { cliConfig: false }), { code: 'ERR_CACHE_CLOSED' });
    await cache.close();
    await closed;
  });
});
