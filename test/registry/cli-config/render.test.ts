import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { InvalidHostnameError, InvalidOptionError } from '../../../src/errors.ts';
import { renderCliConfig, type CliConfig, type RenderCliConfigOptions } from '../../../src/registry/index.ts';
import { makeHome, type Home } from './support.ts';

async function loaded(home: Home, options: RenderCliConfigOptions): Promise<CliConfig> {
  const file = await home.write('rendered.tfrc', renderCliConfig(options));
  return home.load({ TF_CLI_CONFIG_FILE: file });
}

async function roundTrip(t: TestContext, options: RenderCliConfigOptions): Promise<CliConfig> {
  return loaded(await makeHome(t), options);
}

describe('a configuration that is written', () => {
  it('installs from the tree and from nowhere else, and asks for no newer clients', async (t) => {
    assert.equal(
      renderCliConfig({ providersDirectory: '/cache/providers' }),
      'disable_checkpoint = true\n\nprovider_installation {\n  filesystem_mirror {\n    path = "/cache/providers"\n  }\n}\n',
    );
    const config = await roundTrip(t, { providersDirectory: '/cache/providers' });
    assert.deepEqual([config.sources, config.disableCheckpoint, config.warnings], [[{ type: 'filesystem_mirror', path: '/cache/providers' }], true, []]);
  });

  it('has patterns, registries, and hosts', async (t) => {
    const include = ['example.com/*/*', 'hashicorp/aws'];
    const config = await roundTrip(t, { providersDirectory: 'cache', include, exclude: ['example.com/a/*'], direct: true, disableCheckpoint: false, hosts: { 'Café.fr': { 'providers.v1': 'http://127.0.0.1:1/v1/' }, 'none.example.com': {} } });
    assert.deepEqual(config.sources, [{ type: 'filesystem_mirror', path: join(process.cwd(), 'cache'), include, exclude: ['example.com/a/*'] }, { type: 'direct', exclude: include }]);
    assert.deepEqual(config.hosts, { 'café.fr': { 'providers.v1': 'http://127.0.0.1:1/v1/' }, 'none.example.com': {} });
    assert.equal(config.disableCheckpoint, false);
    assert.deepEqual((await roundTrip(t, { providersDirectory: '/c', direct: true })).sources?.[1], { type: 'direct' });
    assert.deepEqual((await roundTrip(t, { providersDirectory: '/c', direct: { include: ['a/b'], exclude: ['c/*'] } })).sources?.[1], { type: 'direct', include: ['a/b'], exclude: ['c/*'] });
  });

  it('keeps every path', async (t) => {
    const home = await makeHome(t);
    const paths = ['/a b', '/"quoted"', '/back\\slash', '/${open', '/${closed}', '/$${x}', '/%{if}', '/line\nbreak', '/tab\t', '/\u0007', '/\u007f', '/ключ/😀', '/\u2028', '/$HOME', '/#x', '//', '/{}'];
    for (const path of paths) assert.equal((await loaded(home, { providersDirectory: path })).sources?.map((source) => 'path' in source && source.path)[0], path.replace(/\/+$/u, '') || '/');
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }).filter((name) => !/[\0/]/u.test(name) && !['', '.', '..'].includes(name)), async (name) => {
        assert.deepEqual((await loaded(home, { providersDirectory: `/${name}` })).sources, [{ type: 'filesystem_mirror', path: `/${name}` }]);
      }),
      { numRuns: 50 },
    );
  });

  it('is refused for what is no path, pattern or host', () => {
    for (const options of [{ providersDirectory: '' }, { providersDirectory: 'a\0b' }, {}, { providersDirectory: '/c', include: ['aws'] }, { providersDirectory: '/c', direct: { exclude: ['*/aws'] } }]) {
      assert.throws(() => renderCliConfig(options as RenderCliConfigOptions), InvalidOptionError);
    }
    assert.throws(() => renderCliConfig({ providersDirectory: '/c', hosts: { 'https://x': {} } }), InvalidHostnameError);
  });
});
