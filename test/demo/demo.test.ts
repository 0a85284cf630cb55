import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { HOST, treeOf } from '../cache/support.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { findClient } from '../support/terraform.ts';
import { parseDemoArguments, UsageError } from './arguments.ts';
import { checklist, permissions, size, table, tree } from './report.ts';

/** Runs the demo as its users do. Its temporary files go to `temporary`, which is empty again afterwards. */
async function runDemo(t: TestContext, args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<{ code: number | null; output: string; errors: string; left: string[] }> {
  const temporary = await withTemporaryDirectory(t);
  const child = spawn(process.execPath, [fileURLToPath(new URL('./main.js', import.meta.url)), ...args], {
    env: { ...process.env, TMPDIR: temporary, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close') as Promise<[number | null]>]);
  return { code, output, errors, left: await readdir(temporary) };
}

describe('npm run demo', () => {
  it('shows one download for eight processes, the tree, the hashes, and a real init where there is a client', async (t) => {
    const { code, output, errors, left } = await runDemo(t, []);
    assert.equal(code, 0, output + errors);
    assert.equal(output.match(/^ {2}pid +\d+ +(installed|joined|hit) +\d+ {2}ms$/gmu)?.length, 8);
    assert.equal(output.match(/^ {2}pid +\d+ +installed /gmu)?.length, 1);
    assert.match(output, /^ {2}1 × package metadata, 1 × SHA256SUMS, 1 × signature, 1 × zip$/mu);
    assert.match(output, /✔ the registry served the zip once/u);
    assert.match(output, /terraform-provider-thing_v1\.2\.3_x5 +r-xr-xr-x +16\.0 MiB/u);
    assert.match(output, /SHA256SUMS signed by [0-9A-F]{40}/u);
    const client = findClient('terraform', 'tofu');
    const hashes = output.match(/h1:\S{44}/gu) ?? [];
    assert.equal(hashes.length, client === undefined ? 2 : 4);
    assert.equal(new Set(hashes).size, 1);
    assert.match(output, client === undefined ? /neither terraform nor tofu/u : /in its \.terraform\.lock\.hcl/u);
    assert.deepEqual(left, []);
  });

  it('says so where there is neither terraform nor tofu', async (t) => {
    const { code, output, errors } = await runDemo(t, [], { PATH: '' });
    assert.equal(code, 0, output + errors);
    assert.match(output, /neither terraform nor tofu on the PATH/u);
  });

  it('keeps the cache with --directory, and then everybody hits', async (t) => {
    const directory = join(await withTemporaryDirectory(t), 'cache');
    assert.equal((await runDemo(t, ['--directory', directory])).code, 0);
    assert.ok((await treeOf(directory)).some((path) => path.startsWith(`providers/${HOST}/acme/thing/1.2.3/`)));
    const { code, output, errors, left } = await runDemo(t, ['--directory', directory]);
    assert.equal(code, 0, output + errors);
    assert.equal(output.match(/^ {2}pid +\d+ +hit /gmu)?.length, 8);
    assert.match(output, /✔ the registry served no zip/u);
    assert.deepEqual(left, []);
  });

  it('fails when something is not as it should be', async (t) => {
    const directory = join(await withTemporaryDirectory(t), 'cache');
    await mkdir(join(directory, 'state/staging/left-by-someone'), { recursive: true });
    const { code, output } = await runDemo(t, ['--directory', directory]);
    assert.equal(code, 1);
    assert.match(output, /✘ nothing is left in staging/u);
  });

  it('fails with the typed error of every process when the registry cannot be reached', async (t) => {
    // Port 1 of this machine: refused at once, whatever network there is.
    const { code, output, left } = await runDemo(t, ['--registry', 'localhost:1', 'hashicorp/null', '3.2.4']);
    assert.equal(code, 1);
    assert.equal(output.match(/^ {2}pid +\d+ +ERR_[A-Z_]+ +\d+ {2}ms$/gmu)?.length, 8);
    assert.match(output, /^ {2}ERR_DISCOVERY: .*localhost:1.*ECONNREFUSED/mu);
    assert.match(output, /✘ the package was installed/u);
    assert.deepEqual(left, []);
  });

  it('fails when the directory cannot be used', async (t) => {
    const file = join(await withTemporaryDirectory(t), 'file');
    await writeFile(file, '');
    const { code, errors, left } = await runDemo(t, ['--directory', file]);
    assert.equal(code, 1);
    assert.match(errors, /The demo failed: /u);
    assert.deepEqual(left, []);
  });

  it('prints its usage', async (t) => {
    const { code, output } = await runDemo(t, ['--help']);
    assert.equal(code, 0);
    assert.match(output, /--registry HOST \[SOURCE \[VERSION\]\]/u);
  });

  it('refuses a command line that makes no sense, and says why', async (t) => {
    const { code, output, errors } = await runDemo(t, ['hashicorp/null']);
    assert.equal(code, 2);
    assert.equal(output, '');
    assert.match(errors, /^hashicorp\/null: .*--registry/u);
    assert.match(errors, /--help/u);
  });
});

describe('the arguments of the demo', () => {
  it('name a registry, a package and a directory', () => {
    assert.deepEqual(parseDemoArguments(['--registry', 'registry.opentofu.org', 'hashicorp/null', '3.2.4', '--directory', 'x']), {
      help: false,
      registry: 'registry.opentofu.org',
      source: 'registry.opentofu.org/hashicorp/null',
      version: '3.2.4',
      directory: 'x',
    });
    assert.equal(parseDemoArguments(['--registry=registry.terraform.io', 'hashicorp/aws', '~> 5.0']).version, '~> 5.0');
    assert.deepEqual(parseDemoArguments([]), { help: false, registry: undefined, source: `${HOST}/acme/thing`, version: '1.2.3', directory: undefined });
  });

  it('are refused when they make no sense', () => {
    for (const bad of [
      ['hashicorp/null'],
      ['--registry'],
      ['--registry', ''],
      ['--registry', 'r', 'a/b', '1.0.0', 'more'],
      ['--registry', 'r', 'null'],
      ['--registry', 'r', 'registry.opentofu.org/hashicorp/null'],
      ['--directory', ''],
      ['--colour'],
    ]) {
      assert.throws(() => parseDemoArguments(bad), UsageError, bad.join(' '));
    }
  });
});

describe('the report of the demo', () => {
  it('draws trees, with directories of one directory in one line', () => {
    const files = ['a/b/c/file', 'a/b/c/longer-file', 'a/b/z/', 'top'].map((path) => ({ path, note: path.endsWith('file') ? '1 B' : '' }));
    assert.deepEqual(tree(files), ['├── a/b/', '│   ├── c/', '│   │   ├── file         1 B', '│   │   └── longer-file  1 B', '│   └── z/', '└── top']);
    assert.deepEqual(tree(files, 3), ['├── a/b/', '│   ├── c/', '… and 4 lines more']);
  });

  it('sets tables, sizes, permissions and checks', () => {
    assert.deepEqual(table([['a', 5, 'x'], ['bcd', 10, 'y']]), ['a     5  x', 'bcd  10  y']);
    assert.deepEqual([size(0), size(1023), size(1024), size(16 << 20)], ['0 B', '1023 B', '1.0 KiB', '16.0 MiB']);
    assert.deepEqual([permissions(0o100555), permissions(0o640)], ['r-xr-xr-x', 'rw-r-----']);
    assert.deepEqual(checklist([{ what: 'good', holds: true }, { what: 'bad', holds: false }]), ['✔ good', '✘ bad']);
  });
});
