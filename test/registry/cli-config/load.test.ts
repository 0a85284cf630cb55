import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { CliConfigError, FileSystemError, HclSyntaxError, InvalidHostnameError, InvalidOptionError } from '../../../src/errors.ts';
import { loadCliConfig, type CliConfig } from '../../../src/registry/index.ts';
import { makeHome } from './support.ts';

const EVERY_WAY = process.env['RWX_CACHE_ROUNDS'] !== undefined;

/** Everything that the files can say. */
const GOOD = `# A comment
plugin_cache_dir   = "$CACHE/x"
disable_checkpoint = true
credentials "app.example.com" {
  token = "s3cret"
}
credentials_helper "store" {
  args = ["--host", "a b"]
}
host "Café.example.com:8443" {
  services = {
    "providers.v1" = "https://app.example.com/v1/"
    "other.v1" = 5
  }
}
provider_installation {
  dev_overrides {
    "acme/test" = "/home/dev/../test"
  }
  filesystem_mirror {
    path    = "/mirror"
    include = ["example.com/*/*"]
  }
  network_mirror {
    url = "https://mirror.example.com/p/"
    exclude = ["*/*/*", "hashicorp/aws"]
    trust_all_hashes = true
  }
  oci_mirror {
    repository_template = "example.com/\${namespace}/\${type}"
  }
  direct {
    exclude = ["example.com/*/*"]
    download_retry_count = 4
  }
}
registry_protocols {
  retry_count             = 256
  request_timeout_seconds = 50
  something_else          = "x"
}
future_setting = [1, 2]
future_block "a" "b" { c = "d" }
`;

const GOOD_JSON = JSON.stringify(
  {
    plugin_cache_dir: '$CACHE/x',
    disable_checkpoint: true,
    credentials: { 'app.example.com': { token: 's3cret' } },
    credentials_helper: { store: { args: ['--host', 'a b'] } },
    host: { 'Café.example.com:8443': { services: { 'providers.v1': 'https://app.example.com/v1/', 'other.v1': 5 } } },
    provider_installation: {
      dev_overrides: { 'acme/test': '/home/dev/../test' },
      filesystem_mirror: [{ path: '/mirror', include: ['example.com/*/*'] }],
      network_mirror: { url: 'https://mirror.example.com/p/', exclude: ['*/*/*', 'hashicorp/aws'], trust_all_hashes: true },
      oci_mirror: { repository_template: 'example.com/${namespace}/${type}' },
      direct: { exclude: ['example.com/*/*'], download_retry_count: 4 },
    },
    registry_protocols: { retry_count: 256, request_timeout_seconds: 50, something_else: 'x' },
    future_setting: [1, 2],
    future_block: [{ a: { b: { c: 'd' } } }, null],
  },
  undefined,
  2,
);

async function checkGood(t: TestContext, text: string): Promise<void> {
  const home = await makeHome(t);
  await mkdir(join(home.path, 'x'));
  const file = await home.write('.terraformrc', text);
  const config = await home.load({ CACHE: home.path });
  assert.deepEqual(config.files, [file]);
  assert.equal(config.pluginCacheDir, join(home.path, 'x'));
  assert.equal(config.disableCheckpoint, true);
  assert.equal(config.mayBreakLockFile, false);
  assert.deepEqual(config.hosts, { 'café.example.com:8443': { 'providers.v1': 'https://app.example.com/v1/' } });
  assert.deepEqual(config.sources, [
    { type: 'filesystem_mirror', path: '/mirror', include: ['example.com/*/*'] },
    { type: 'network_mirror', url: 'https://mirror.example.com/p/', trustAllHashes: true, exclude: ['*/*/*', 'hashicorp/aws'] },
    { type: 'oci_mirror', repositoryTemplate: 'example.com/${namespace}/${type}' },
    { type: 'direct', exclude: ['example.com/*/*'] },
  ]);
  assert.deepEqual([...config.devOverrides], [['registry.opentofu.org/acme/test', '/home/test']]);
  assert.equal(config.downloadRetryCount, 4);
  assert.deepEqual(config.registryProtocols, { retryCount: 256, requestTimeoutMs: 50_000 });
  assert.deepEqual(await config.credentialsFor('APP.example.com:443'), { token: 's3cret' });
  assert.deepEqual(config.warnings.map(({ path, message }) => [path, /"([^"]*)"/u.exec(message)?.[1]]), [[file, 'future_setting'], [file, 'future_block']]);
  // The other client's default host.
  assert.deepEqual([...(await home.load({ CACHE: home.path }, { tool: 'terraform' })).devOverrides.keys()], ['registry.terraform.io/acme/test']);
}

async function refused(t: TestContext, text: string, place: readonly [line: number, column: number], setting: string): Promise<CliConfigError> {
  const home = await makeHome(t);
  const path = await home.write('.terraformrc', text);
  let found: unknown;
  await assert.rejects(home.load(), (error) => {
    found = error;
    return error instanceof CliConfigError;
  }, text);
  assert.ok(found instanceof CliConfigError);
  assert.deepEqual([found.path, found.line, found.column, found.setting], [path, ...place, setting], `${text}\n${found.message}`);
  assert.ok(found.message.startsWith(`${path}:${place[0]}:${place[1]}: ${setting}: `), found.message);
  assert.doesNotMatch(found.message, /s3cret/u);
  return found;
}

describe('a file that says everything', () => {
  it('is read in HCL', (t) => checkGood(t, GOOD));
  it('is read in JSON, by its first character', (t) => checkGood(t, GOOD_JSON));
  it('is read in JSON behind white space', (t) => checkGood(t, `\ufeff \n${GOOD_JSON}`));
  it('is read without any line break where HCL 1 needs none', (t) => checkGood(t, GOOD.replace(/^#.*\n/u, '').replaceAll('\n', ' ')));
});

describe('a file that is cut or spoilt at any token', () => {
  /** Loads it; nothing but a typed error with a place may come of it, and never a token. */
  async function survives(home: Awaited<ReturnType<typeof makeHome>>, text: string): Promise<'read' | 'refused'> {
    const path = await home.write('.terraformrc', text);
    try {
      await home.load({ CACHE: home.path });
      return 'read';
    } catch (error) {
      assert.ok(error instanceof HclSyntaxError || error instanceof CliConfigError, `${String(error)}\n${text}`);
      assert.equal(error.path, path);
      assert.ok(Number(error.line) >= 1 && Number(error.line) <= text.split('\n').length && Number(error.column) >= 1, error.message);
      assert.doesNotMatch(error.message, /s3cret/u);
      return 'refused';
    }
  }

  for (const [name, good] of [['HCL', GOOD], ['JSON', GOOD_JSON]] as const) {
    it(`is an error with a place, or parses: ${name}`, async (t) => {
      const home = await makeHome(t);
      await mkdir(join(home.path, 'x'));
      const count = { read: 0, refused: 0 };
      const tokens = [...good.matchAll(/"(?:[^"\\]|\\.)*"|[\w.-]+|\S/gu)];
      assert.ok(tokens.length > 100);
      for (const [turn, { index, 0: token }] of tokens.entries()) {
        const [before, after] = [good.slice(0, index), good.slice(index + token.length)];
        const variants = [before, before + token.slice(0, Math.ceil(token.length / 2)), before + after, `${before}}${after}`, `${before}"${after}`, `${before}${token} ${token}${after}`, `${before}\u0000${after}`];
        // Every token is cut and spoilt; in which of the ways takes turns, unless more is asked for.
        const chosen = EVERY_WAY ? variants : [before, variants[1 + (turn % 6)] ?? ''];
        for (const spoilt of chosen) count[await survives(home, spoilt)] += 1;
      }
      assert.ok(count.refused > tokens.length, JSON.stringify(count));
      t.diagnostic(`${tokens.length} tokens: ${count.read} variants were read, ${count.refused} refused`);
    });
  }

  it('is an error with its place for JSON that JSON.parse refuses, and for nothing else', async (t) => {
    const home = await makeHome(t);
    const texts = ['{', '{}', '{"a"}', '{"a":1,}', '{"a":01}', '{"a":1}}', '{"a":"\\x"}', '{"a":"\t"}', '{"a":[1,]}', "{'a':1}", '{"a":nul}', '{"a":-}', '{"a":1.}', '{"a":"\\ud83d\\ude00"}', '{"a":[{}, 1, []]}', '{"a":1e5}', `{"a":${'['.repeat(200)}`];
    for (const text of texts) {
      const valid = ((): boolean => {
        try {
          JSON.parse(text);
          return true;
        } catch {
          return false;
        }
      })();
      await home.write('.terraformrc', text);
      if (valid) await home.load();
      else await assert.rejects(home.load(), HclSyntaxError, text);
    }
  });
});

describe('what a file says wrongly is an error with its place', () => {
  const installation = (methods: string): string => `provider_installation {\n  ${methods}\n}`;

  it('settings of another type', async (t) => {
    await refused(t, 'plugin_cache_dir = true', [1, 20], 'plugin_cache_dir');
    await refused(t, '\nplugin_cache_dir {}', [2, 1], 'plugin_cache_dir');
    for (const value of ['"maybe"', '"true"', '1', '[]']) await refused(t, `disable_checkpoint = ${value}`, [1, 22], 'disable_checkpoint');
    await refused(t, 'plugin_cache_may_break_dependency_lock_file = []', [1, 47], 'plugin_cache_may_break_dependency_lock_file');
    await refused(t, '{"disable_checkpoint":\n null}', [2, 2], 'disable_checkpoint');
  });

  it('hosts and credentials', async (t) => {
    await refused(t, 'host "https://example.com" {}', [1, 6], 'host');
    await refused(t, 'host "a.example.com" "b" {}', [1, 1], 'host');
    await refused(t, 'host = "a.example.com"', [1, 1], 'host');
    await refused(t, 'host "a.example.com" {\n  services = "x"\n}', [2, 14], 'services');
    await refused(t, 'credentials "a b" {\n  token = "s3cret"\n}', [1, 13], 'credentials');
    await refused(t, 'credentials "xn--abc.com" {\n  token = "s3cret"\n}', [1, 13], 'credentials');
    await refused(t, 'credentials {\n  token = "s3cret"\n}', [2, 3], 'credentials');
    await refused(t, '{"credentials":{"a b":{"token":"s3cret"}}}', [1, 17], 'credentials');
    await refused(t, 'credentials_helper "a" {}\ncredentials_helper "b" {}', [2, 20], 'credentials_helper');
    await refused(t, 'credentials_helper "../a" {}', [1, 20], 'credentials_helper');
    await refused(t, 'credentials_helper "a" {\n  args = "x"\n}', [2, 10], 'args');
    await refused(t, 'credentials_helper "a" {\n  args = ["x", true]\n}', [2, 16], 'args');
    await refused(t, '{"credentials":[]}', [1, 2], 'credentials');
  });

  it('methods of installation', async (t) => {
    await refused(t, 'provider_installation = {\n  direct {}\n}', [1, 1], 'provider_installation');
    await refused(t, 'provider_installation /* = */ = {\n  direct {}\n}', [1, 1], 'provider_installation');
    await refused(t, 'provider_installation "x" {\n  direct {}\n}', [1, 23], 'provider_installation');
    await refused(t, 'provider_installation = []', [1, 1], 'provider_installation');
    await refused(t, installation('direct = {}'), [2, 3], 'provider_installation');
    await refused(t, installation('direct "x" {}'), [2, 10], 'provider_installation');
    await refused(t, installation('direct = "x"'), [2, 3], 'provider_installation');
    await refused(t, installation('Direct {}'), [2, 3], 'provider_installation');
    await refused(t, installation('filesystem_mirror {}'), [2, 3], 'filesystem_mirror');
    await refused(t, installation('filesystem_mirror {\n    path = ""\n  }'), [3, 12], 'filesystem_mirror');
    await refused(t, installation('network_mirror {}'), [2, 3], 'network_mirror');
    await refused(t, installation('network_mirror {\n    url = "mirror.example.com"\n  }'), [3, 11], 'network_mirror');
    await refused(t, installation('network_mirror {\n    url = "ftp://mirror.example.com"\n  }'), [3, 11], 'network_mirror');
    await refused(t, installation('network_mirror {\n    url = "https://m.example.com/"\n trust_all_hashes = "x"\n  }'), [4, 21], 'trust_all_hashes');
    await refused(t, installation('oci_mirror {}'), [2, 3], 'oci_mirror');
    await refused(t, installation('direct {\n    download_retry_count = -1\n  }'), [3, 28], 'download_retry_count');
    await refused(t, installation('direct {\n    download_retry_count = "x"\n  }'), [3, 28], 'download_retry_count');
    await refused(t, installation('direct {}\n  dev_overrides {}'), [3, 3], 'dev_overrides');
    await refused(t, installation('dev_overrides {\n    "a/b/c/d" = "/x"\n  }'), [3, 5], 'dev_overrides');
    await refused(t, installation('dev_overrides {\n    "a/b" {}\n  }'), [3, 5], 'dev_overrides');
    await refused(t, `${installation('direct {}')}\n${installation('direct {}')}`, [4, 1], 'provider_installation');
    await refused(t, '{"provider_installation":[{"direct":{}},\n{"direct":{}}]}', [1, 2], 'provider_installation');
  });

  it('patterns', async (t) => {
    for (const pattern of ['aws', 'a/b/c/d', '', '*/aws', '*/hashicorp/aws', '*/*/aws', 'example.com/*/aws', 'a b/hashicorp/aws', 'hashicorp/', '/aws', 'hash.icorp/aws']) {
      const error = await refused(t, installation(`direct {\n    include = ["hashicorp/null", "${pattern}"]\n  }`), [3, 34], 'direct');
      assert.ok(error.message.includes(JSON.stringify(pattern)), error.message);
      assert.doesNotMatch(error.message, /Invalid option/u);
    }
    await refused(t, installation('direct {\n    exclude = "a/b"\n  }'), [3, 15], 'exclude');
  });

  it('registry_protocols', async (t) => {
    await refused(t, 'registry_protocols {\n  retry_count = "two"\n}', [2, 17], 'retry_count');
    await refused(t, 'registry_protocols {\n  request_timeout_seconds = 1.5\n}', [2, 29], 'request_timeout_seconds');
    await refused(t, 'registry_protocols {}\nregistry_protocols {}', [2, 1], 'registry_protocols');
    await refused(t, 'registry_protocols = {\n  retry_count = 1\n}', [1, 1], 'registry_protocols');
    await refused(t, 'registry_protocols "x" {}', [1, 20], 'registry_protocols');
  });

  it('a plugin cache directory that is not there', async (t) => {
    await refused(t, 'plugin_cache_dir = "/nonexistent/cache"', [1, 20], 'plugin_cache_dir');
    const home = await makeHome(t);
    await assert.rejects(home.load({ TF_PLUGIN_CACHE_DIR: '/nonexistent/cache' }), (error) => error instanceof CliConfigError && error.path === undefined && error.setting === 'TF_PLUGIN_CACHE_DIR');
  });

  it('a file that is too large, no text, or no file', async (t) => {
    const home = await makeHome(t);
    await home.write('.terraformrc', `# ${'x'.repeat(1 << 20)}`);
    await assert.rejects(home.load(), CliConfigError);
    execFileSync('sh', ['-c', `printf '# \\377' > ${join(home.path, '.terraformrc')}`]);
    await assert.rejects(home.load(), CliConfigError);
    await assert.rejects(home.load({ TF_CLI_CONFIG_FILE: home.path }), (error) => error instanceof FileSystemError && error.systemCode === 'EISDIR');
  });

  it('options', async () => {
    await assert.rejects(loadCliConfig({ tool: 'terragrunt' as 'tofu' }), InvalidOptionError);
    await assert.rejects(loadCliConfig({ helperTimeoutMs: 0 }), InvalidOptionError);
  });
});

describe('the files', () => {
  const marker = (name: string): string => `host "${name}.example.com" {}\n`;
  const names = ({ hosts }: CliConfig): string[] => Object.keys(hosts).map((host) => host.split('.', 1)[0] ?? '').sort();

  it('are those of both clients, in their order', async (t) => {
    const home = await makeHome(t);
    const xdg = join(home.path, 'xdg');
    assert.deepEqual((await home.load()).files, []);
    await home.write('xdg/opentofu/tofurc', marker('xdg'));
    assert.deepEqual(names(await home.load({ XDG_CONFIG_HOME: xdg })), ['xdg']);
    assert.deepEqual(names(await home.load({ XDG_CONFIG_HOME: xdg }, { tool: 'terraform' })), []);
    assert.deepEqual(names(await home.load()), []);
    await home.write('.terraformrc', marker('terraform'));
    assert.deepEqual(names(await home.load({ XDG_CONFIG_HOME: xdg })), ['terraform']);
    await home.write('.tofurc', marker('tofu'));
    assert.deepEqual(names(await home.load({ XDG_CONFIG_HOME: xdg })), ['tofu']);
    assert.deepEqual(names(await home.load({ XDG_CONFIG_HOME: xdg }, { tool: 'terraform' })), ['terraform']);
  });

  it('of the configuration directory come after, in the order of their names', async (t) => {
    const home = await makeHome(t);
    const main = await home.write('.terraformrc', `${marker('main')}credentials "a.example.com" { token = "main" }`);
    const b = await home.write('.terraform.d/b.tfrc', 'credentials "a.example.com" { token = "b" }');
    const a = await home.write('.terraform.d/a.tfrc.json', '{"credentials":{"A.example.com":{"token":"a"},"b.example.com":{"token":"a"}}}');
    await home.write('.terraform.d/a.tfrc.bak', 'nonsense {{{');
    await home.write('.terraform.d/plugins/c.tfrc', 'nonsense {{{');
    const config = await home.load();
    assert.deepEqual(config.files, [main, a, b]);
    assert.deepEqual(await config.credentialsFor('a.example.com'), { token: 'b' });
    assert.deepEqual(await config.credentialsFor('b.example.com'), { token: 'a' });
  });

  it('of OpenTofu’s own configuration directory, where the old one is not there', async (t) => {
    const home = await makeHome(t);
    const environment = { XDG_CONFIG_HOME: join(home.path, 'xdg') };
    await home.write('xdg/opentofu/a.tfrc', marker('xdg'));
    assert.deepEqual(names(await home.load(environment)), ['xdg']);
    assert.deepEqual(names(await home.load(environment, { tool: 'terraform' })), []);
    await home.write('.terraform.d/a.tfrc', marker('old'));
    assert.deepEqual(names(await home.load(environment)), ['old']);
  });

  it('are none but the one that the environment names', async (t) => {
    const home = await makeHome(t);
    await home.write('.terraformrc', marker('main'));
    await home.write('.terraform.d/a.tfrc', marker('directory'));
    const named = await home.write('named', marker('named'));
    const legacy = await home.write('legacy', marker('legacy'));
    assert.deepEqual((await home.load({ TF_CLI_CONFIG_FILE: named, TERRAFORM_CONFIG: legacy })).files, [named]);
    assert.deepEqual((await home.load({ TF_CLI_CONFIG_FILE: 'named' })).files, [named]);
    assert.deepEqual((await home.load({ TF_CLI_CONFIG_FILE: '', TERRAFORM_CONFIG: legacy })).files, [legacy]);
    assert.deepEqual((await home.load({ TF_CLI_CONFIG_FILE: '/dev/null' })).files, ['/dev/null']);
  });

  it('may be missing, with a warning where one was named', async (t) => {
    const home = await makeHome(t);
    await home.write('.terraformrc', marker('main'));
    const missing = join(home.path, 'missing');
    const config = await home.load({ TF_CLI_CONFIG_FILE: missing });
    assert.deepEqual([config.files, config.sources, config.warnings.map(({ path, line }) => [path, line])], [[], undefined, [[missing, undefined]]]);
    assert.deepEqual((await (await makeHome(t)).load()).warnings, []);
  });

  it('that hang can be left at once', async (t) => {
    const home = await makeHome(t);
    const pipe = join(home.path, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const leaving = new AbortController();
    const loading = home.load({ TF_CLI_CONFIG_FILE: pipe }, { signal: leaving.signal });
    setTimeout(() => {
      leaving.abort(new Error('left'));
    }, 20);
    await assert.rejects(loading, /left/u);
    // Lets the reader of the pipe end.
    execFileSync('sh', ['-c', `: > ${pipe}`]);
    await assert.rejects(home.load({}, { signal: AbortSignal.abort(new Error('before')) }), /before/u);
  });
});

describe('together', () => {
  it('the first plugin_cache_dir counts, and the environment before it, as it is', async (t) => {
    const home = await makeHome(t);
    for (const name of ['one', 'two', '$ONE']) await mkdir(join(home.path, name));
    await home.write('.terraformrc', 'plugin_cache_dir = "${ROOT}/one"');
    await home.write('.terraform.d/a.tfrc', `plugin_cache_dir = "${home.path}/two"`);
    assert.equal((await home.load({ ROOT: home.path })).pluginCacheDir, join(home.path, 'one'));
    assert.equal((await home.load({ ROOT: home.path, TF_PLUGIN_CACHE_DIR: `${home.path}/$ONE`, ONE: 'x' })).pluginCacheDir, join(home.path, '$ONE'));
    await home.write('.terraformrc', 'plugin_cache_dir = ""');
    assert.equal((await home.load()).pluginCacheDir, join(home.path, 'two'));
  });

  it('what is true once stays true', async (t) => {
    const home = await makeHome(t);
    await home.write('.terraformrc', 'Disable_Checkpoint = true\nplugin_cache_may_break_dependency_lock_file = true');
    await home.write('.terraform.d/a.tfrc', 'disable_checkpoint = false\nplugin_cache_may_break_dependency_lock_file = false');
    const config = await home.load({ TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE: '0' });
    assert.deepEqual([config.disableCheckpoint, config.mayBreakLockFile], [true, true]);
    const other = await makeHome(t);
    const byEnvironment = async (text: string): Promise<boolean> => (await other.load({ TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE: text })).mayBreakLockFile;
    assert.deepEqual(await Promise.all(['', '0', '1', 'false'].map(byEnvironment)), [false, false, true, true]);
  });

  it('provider_installation and credentials_helper may stand in one of them only', async (t) => {
    const home = await makeHome(t);
    await home.write('.terraformrc', 'provider_installation {\n  direct {}\n}\ncredentials_helper "a" {}');
    const path = await home.write('.terraform.d/a.tfrc', '\nprovider_installation {\n  direct {}\n}');
    await assert.rejects(home.load(), (error) => error instanceof CliConfigError && error.path === path && error.line === 2);
    await home.write('.terraform.d/a.tfrc', '\ncredentials_helper "b" {}');
    await assert.rejects(home.load(), (error) => error instanceof CliConfigError && error.path === path && error.line === 2);
    await home.write('.terraform.d/a.tfrc', 'credentials_helper "a" {}');
    assert.deepEqual((await home.load()).sources, [{ type: 'direct' }]);
  });

  it('a block of no methods is not the same as no block', async (t) => {
    const home = await makeHome(t);
    await home.write('.terraformrc', 'provider_installation {}');
    assert.deepEqual((await home.load()).sources, []);
    await home.write('.terraformrc', '');
    assert.equal((await home.load()).sources, undefined);
  });

  it('TF_REGISTRY_DISCOVERY_RETRY and TF_REGISTRY_CLIENT_TIMEOUT beat the block', async (t) => {
    const home = await makeHome(t);
    assert.deepEqual((await home.load()).registryProtocols, { retryCount: undefined, requestTimeoutMs: undefined });
    await home.write('.terraformrc', 'registry_protocols {\n  retry_count = 256\n  request_timeout_seconds = "50"\n  other = {}\n}');
    assert.deepEqual((await home.load()).registryProtocols, { retryCount: 256, requestTimeoutMs: 50_000 });
    assert.deepEqual((await home.load({ TF_REGISTRY_DISCOVERY_RETRY: '123', TF_REGISTRY_CLIENT_TIMEOUT: '456' })).registryProtocols, { retryCount: 123, requestTimeoutMs: 456_000 });
    assert.deepEqual((await home.load({ TF_REGISTRY_DISCOVERY_RETRY: 'x', TF_REGISTRY_CLIENT_TIMEOUT: '0' })).registryProtocols, { retryCount: 256, requestTimeoutMs: 50_000 });
  });

  it('a host block may be empty, and says then that the host has no services', async (t) => {
    const home = await makeHome(t);
    await home.write('.terraformrc', 'host "a.example.com" {}\nhost "B.example.com" {\n  services = {}\n}\nhost {\n  "c.example.com" {\n    services { "x.v1" = "/x" }\n  }\n}');
    assert.deepEqual((await home.load()).hosts, { 'a.example.com': {}, 'b.example.com': {}, 'c.example.com': { 'x.v1': '/x' } });
  });
});

describe('the credentials of a host', () => {
  it('are those of the environment, then of a block', async (t) => {
    const home = await makeHome(t);
    await home.write(
      '.terraformrc',
      'credentials "configured.example.com" {\n  token = "block"\n  expires = 5\n}\ncredentials "other-kind.example.com" {\n  username = "alfred"\n}\ncredentials "env.ドメイン名例.com" {\n  token = "block"\n}\ncredentials "number.example.com" {\n  token = 5\n}',
    );
    const config = await home.load({ TF_TOKEN_configured_example_com: 'environment', 'TF_TOKEN_env_xn--eckwd4c7cu47r2wf_com': 'punycode', TF_TOKEN_env_xn____caf__dma_fr: 'underscores' });
    const tokenOf = async (host: string): Promise<string | undefined> => (await config.credentialsFor(host))?.token;
    assert.equal(await tokenOf('configured.example.com'), 'environment');
    assert.equal(await tokenOf('env.ドメイン名例.com'), 'punycode');
    assert.equal(await tokenOf('env.café.fr'), 'underscores');
    for (const host of ['other-kind.example.com', 'number.example.com', 'unknown.example.com', 'configured.example.com:8443']) assert.equal(await tokenOf(host), undefined, host);
    await assert.rejects(config.credentialsFor('not a host'), InvalidHostnameError);
    await assert.rejects(config.credentialsFor('a.example.com', { signal: AbortSignal.abort(new Error('before')) }), /before/u);
  });

  it('that no header can carry are an error of that host alone', async (t) => {
    const home = await makeHome(t);
    const path = await home.write('.terraformrc', '\ncredentials "bad.example.com" {\n  token = "s3cret\\n"\n}\ncredentials "good.example.com" {\n  token = "good"\n}');
    const config = await home.load();
    assert.deepEqual(await config.credentialsFor('good.example.com'), { token: 'good' });
    await assert.rejects(config.credentialsFor('bad.example.com'), (error) => error instanceof CliConfigError && error.path === path && error.line === 2 && !error.message.includes('s3cret'));
  });
});
