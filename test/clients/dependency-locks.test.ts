/** Lock files of this library beside those of a real `terraform`: the same bytes for the same providers, and the same files refused. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { readDependencyLocks, updateDependencyLocks } from '../../src/verify/index.ts';
import { HOST } from '../cache/support.ts';
import type { RegistryProcess } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { init, type InitOptions, type RequiredProvider } from '../support/terraform.ts';
import { MALFORMATIONS, NO_LITERAL_HCL, providerBlock } from '../verify/lock-files.ts';
import { lastWords, PLATFORM, release, required, terraform, withRegistryProcess, WITHOUT_TERRAFORM, workingDirectory } from './support.ts';

const NAME = '.terraform.lock.hcl';
/** More than this machine's, so that the signed sums give more `zh:` hashes than one. */
const PLATFORMS = [...new Set([PLATFORM, 'linux_amd64', 'darwin_arm64', 'windows_amd64'])];

async function prepare(t: TestContext): Promise<{ root: string; registry: RegistryProcess; options: InitOptions }> {
  const root = await withTemporaryDirectory(t);
  const releases = [release('alpha'), release('beta', '0.4.0-beta1'), release('alpha-x', '2.0.1'), release('alpha', '1.2.4')];
  const registry = await withRegistryProcess(t, { providers: releases.map((each) => ({ ...each, platforms: PLATFORMS })) });
  return { root, registry, options: { configuration: { hosts: registry.hosts(HOST) } } };
}

async function initiated(root: string, name: string, providers: readonly RequiredProvider[], options: InitOptions): Promise<string> {
  const directory = await workingDirectory(root, name, providers);
  const result = await init(terraform(), directory, options);
  assert.equal(result.code, 0, lastWords(result));
  return directory;
}

describe("terraform's lock file", { skip: WITHOUT_TERRAFORM }, () => {
  const PROVIDERS = [required('beta', '0.4.0-beta1'), required('alpha', '>= 1.0.0, ~> 1.2, < 1.2.4'), required('alpha-x', '~> 2')];

  it('is byte for byte what is written here for the same providers, at once or one by one', async (t) => {
    const { root, options } = await prepare(t);
    const directory = await initiated(root, 'theirs', PROVIDERS, options);
    const theirs = await readFile(join(directory, NAME), 'utf8');
    const providers = [...(await readDependencyLocks(join(directory, NAME))).providers.values()];
    assert.equal(providers.length, 3);
    for (const { hashes } of providers) assert.ok(hashes.length > PLATFORMS.length);

    const ours = join(root, 'ours.hcl');
    await updateDependencyLocks(ours, () => providers.toReversed(), { tool: 'terraform' });
    assert.equal(await readFile(ours, 'utf8'), theirs);
    await rm(ours);
    // Half of what is to be said at a time, as text.
    for (const { address, version, constraints, hashes } of providers.toReversed()) {
      const change = { address: String(address), version: String(version) };
      await updateDependencyLocks(ours, () => [{ ...change, hashes: hashes.slice(2) }], { tool: 'terraform' });
      await updateDependencyLocks(ours, () => [{ ...change, constraints: String(constraints), hashes: hashes.slice(0, 3) }]);
    }
    assert.equal(await readFile(ours, 'utf8'), theirs);
  });

  it('stays as it is when it was written here beforehand, and grows in the same way', async (t) => {
    const { root, options } = await prepare(t);
    const theirs = join(await initiated(root, 'theirs', PROVIDERS, options), NAME);
    const { providers } = await readDependencyLocks(theirs);
    const directory = await workingDirectory(root, 'ours', PROVIDERS);
    const ours = join(directory, NAME);
    await updateDependencyLocks(ours, () => [...providers.values()], { tool: 'terraform' });
    const before = await stat(ours, { bigint: true });
    const result = await init(terraform(), directory, options);
    assert.equal(result.code, 0, lastWords(result));
    assert.equal(await readFile(ours, 'utf8'), await readFile(theirs, 'utf8'));
    const after = await stat(ours, { bigint: true });
    assert.deepEqual([after.ino, after.mtimeNs], [before.ino, before.mtimeNs], 'terraform found nothing to change');

    // Hashes that terraform cannot know stay when both of them add theirs.
    await updateDependencyLocks(ours, () => Array.from(providers.values(), (locked) => ({ ...locked, hashes: ['h1:other='] })));
    await updateDependencyLocks(theirs, () => Array.from(providers.values(), (locked) => ({ ...locked, hashes: ['h1:other='] })));
    assert.equal((await init(terraform(), directory, options)).code, 0);
    assert.equal(await readFile(ours, 'utf8'), await readFile(theirs, 'utf8'));
  });

  it('is written for a version that takes the place of another as it is written here', async (t) => {
    const { root, options } = await prepare(t);
    const old = join(await initiated(root, 'old', [required('alpha', '1.2.3'), required('beta', '0.4.0-beta1')], options), NAME);
    const upgraded = await initiated(root, 'new', [required('alpha', '1.2.4'), required('beta', '0.4.0-beta1')], options);
    const { providers } = await readDependencyLocks(join(upgraded, NAME));
    await updateDependencyLocks(old, () => [...providers.values()]);
    assert.equal(await readFile(old, 'utf8'), await readFile(join(upgraded, NAME), 'utf8'));
  });
});

describe('what terraform refuses', { skip: WITHOUT_TERRAFORM }, () => {
  /** `terraform version` reads the lock file and lists what it locks, or nothing where it refuses it. */
  async function lockedByTerraform(root: string, index: number, text: string): Promise<string[]> {
    const directory = join(root, String(index));
    await mkdir(directory);
    await writeFile(join(directory, NAME), text);
    const env = { PATH: process.env['PATH'], HOME: directory, CHECKPOINT_DISABLE: '1', TF_CLI_CONFIG_FILE: '/dev/null' };
    const { stdout } = await promisify(execFile)(terraform().path, ['version', '-json'], { cwd: directory, env });
    return Object.entries((JSON.parse(stdout) as { provider_selections?: Record<string, string> }).provider_selections ?? {}).map((pair) => pair.join(' '));
  }

  async function lockedHere(root: string, index: number): Promise<string[]> {
    return readDependencyLocks(join(root, String(index), NAME)).then(
      ({ providers }) => Array.from(providers, ([address, { version }]) => `${address} ${String(version)}`),
      () => [],
    );
  }

  it('is refused here, and what it takes is taken', async (t) => {
    const root = await withTemporaryDirectory(t);
    const VERSION = '  version = "1.0.0"';
    const address = 'registry.terraform.io/hashicorp/aws';
    const good = [
      providerBlock(VERSION, address),
      `\ufeff${providerBlock(`${VERSION}\n  constraints = ""\n  hashes = [\n    "h1:b", /* x */ "h1:a", "h1:a",\n  ]`, address).replaceAll('\n', '\r\n')}`,
      `provider "${address}" { version = "1.0.0" } // x`,
      `provider ${JSON.stringify(address)} {\n  version = "\\u0031.0\\U0000002e0"\n  hashes = ["x:$\${a}%%{b}$%"]\n}`,
    ];
    // The legacy namespace is of another host there, and expressions without variables are computed.
    const bad = [...MALFORMATIONS.map(({ text }) => text), ...NO_LITERAL_HCL].filter((text) => !/\/-\/|\$\{/u.test(text)).filter((_, index) => index % 3 === 0);
    const texts = [...good, ...bad];
    const verdicts: (readonly [string[], string[]])[] = [];
    for (const [index, text] of texts.entries()) verdicts.push([await lockedByTerraform(root, index, text), await lockedHere(root, index)]);
    for (const [index, [theirs, ours]] of verdicts.entries()) assert.deepEqual([ours, ours.length], [theirs, index < good.length ? 1 : 0], texts[index]);
  });
});
