/** Real `terraform` takes the configurations that this library writes, and reads those that it reads in the same way. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { loadCliConfig, renderCliConfig } from '../../src/registry/index.ts';
import { HOST } from '../cache/support.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { init } from '../support/terraform.ts';
import { cacheOptions, lastWords, openCache, PLATFORM, release, required, terraform, withRegistryProcess, WITHOUT_TERRAFORM, workingDirectory } from './support.ts';

describe('a configuration that is written for terraform', { skip: WITHOUT_TERRAFORM }, () => {
  it('makes it install from the cache with the registry off, whatever the path is called', async (t) => {
    const root = await withTemporaryDirectory(t);
    const registry = await withRegistryProcess(t, { providers: [release('alpha')] });
    for (const name of ['plain', 'with "quotes" ${open \\ and 😀']) {
      const cache = await openCache(t, cacheOptions(registry, join(root, name, 'cache')));
      await cache.ensure(required('alpha'));
      const file = join(root, 'rendered.tfrc');
      await writeFile(file, renderCliConfig({ providersDirectory: cache.providersDirectory, include: [`${HOST}/*/*`], hosts: { [HOST]: { 'providers.v1': 'http://127.0.0.1:9/v1/' } } }));
      const directory = await workingDirectory(root, `work-${name.length}`, [required('alpha')]);
      const before = await registry.count(/./u);
      const result = await init(terraform(), directory, { environment: { TF_CLI_CONFIG_FILE: file } });
      assert.equal(result.code, 0, lastWords(result));
      assert.equal(await registry.count(/./u), before);
      assert.equal(await readlink(join(directory, '.terraform/providers', HOST, 'acme/alpha/1.2.3', PLATFORM)), join(cache.providersDirectory, HOST, 'acme/alpha/1.2.3', PLATFORM));
      assert.deepEqual((await loadCliConfig({ environment: { TF_CLI_CONFIG_FILE: file } })).sources, [{ type: 'filesystem_mirror', path: cache.providersDirectory, include: [`${HOST}/*/*`] }]);
    }
  });

  it('lets it ask the registry for what the tree is not for', async (t) => {
    const root = await withTemporaryDirectory(t);
    const registry = await withRegistryProcess(t, { providers: [release('alpha'), release('beta')] });
    const cache = await openCache(t, cacheOptions(registry, join(root, 'cache')));
    await cache.ensure(required('alpha'));
    const file = join(root, 'rendered.tfrc');
    await writeFile(file, renderCliConfig({ providersDirectory: cache.providersDirectory, include: [`${HOST}/acme/alpha`], direct: true, hosts: registry.hosts(HOST) }));
    const before = await registry.count(/alpha/u);
    const result = await init(terraform(), await workingDirectory(root, 'work', [required('alpha'), required('beta')]), { environment: { TF_CLI_CONFIG_FILE: file } });
    assert.equal(result.code, 0, lastWords(result));
    assert.equal(await registry.count(/alpha/u), before);
    assert.ok((await registry.count(/beta.*zip/u)) > 0);
  });
});

describe('a configuration that terraform refuses', { skip: WITHOUT_TERRAFORM }, () => {
  /** Whether `terraform` is content with it: it reads its configuration before anything else, complains, and goes on. */
  function accepts(file: string, home: string): boolean {
    const { status, stdout, stderr } = spawnSync(terraform().path, ['version'], { env: { PATH: process.env['PATH'], HOME: home, CHECKPOINT_DISABLE: '1', TF_CLI_CONFIG_FILE: file }, encoding: 'utf8', timeout: 60_000 });
    assert.equal(status, 0, stderr);
    return !`${stdout}${stderr}`.includes('may not behave as intended');
  }

  it('is refused here as well, and what it takes is taken', async (t) => {
    const root = await withTemporaryDirectory(t);
    await mkdir(join(root, 'there'));
    const installation = (methods: string): string => `provider_installation {\n  ${methods}\n}\n`;
    for (const text of [
      '',
      'unknown = 1\nunknown_block "a" { b = [1] }\n',
      'disable_checkpoint = true\n',
      'disable_checkpoint = "true"\n',
      'disable_checkpoint = 1\n',
      'plugin_cache_dir = true\n',
      `plugin_cache_dir = "${root}/there"\n`,
      `plugin_cache_dir = "${root}/missing"\n`,
      'host "example.com" {\n  services = { "providers.v1" = "http://127.0.0.1/" }\n}\n',
      'host "https://example.com" {}\n',
      'credentials "example.com" {\n  token = 5\n  other = 1\n}\n',
      'credentials "not a host" {}\n',
      'credentials_helper "a" {}\ncredentials_helper "b" {}\n',
      'credentials_helper "a" {\n  args = ["x"]\n}\n',
      installation('direct {}'),
      installation('direct {}').replace('installation', 'installation ='),
      installation('direct "x" {}'),
      installation('direct = {}'),
      installation('nonsense {}'),
      installation('filesystem_mirror {}'),
      installation('filesystem_mirror {\n    path = "/x"\n    include = ["*/*/*", "a/b"]\n  }'),
      installation('network_mirror {\n    url = ""\n  }'),
      installation('direct {}\n  dev_overrides {}'),
      installation('dev_overrides {\n    "a/b/c/d" = "/x"\n  }'),
      installation('direct {}') + installation('direct {}'),
      '{"provider_installation":{"direct":[{"exclude":["a/b"]}]}}',
      '{"credentials":{"example.com":{"token":"x"}}}',
      '{"credentials":[]}',
      'credentials "example.com" {\n',
      'a = = b\n',
    ]) {
      const file = join(root, 'cli.tfrc');
      await writeFile(file, text);
      const read = await loadCliConfig({ tool: 'terraform', environment: { TF_CLI_CONFIG_FILE: file } }).then(
        () => true,
        () => false,
      );
      assert.equal(read, accepts(file, root), text);
    }
  });
});
