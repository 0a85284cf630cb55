import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { EnsureAllError, type ProviderCache, type ProviderPackage } from '../../src/index.ts';
import { readDependencyLocks } from '../../src/verify/index.ts';
import type { EmbeddedRegistry, ProviderRelease } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { makeZip } from '../support/zip.ts';
import { HOST, openCache, treeOf, withRegistry } from './support.ts';

const PLATFORMS = ['linux_amd64', 'darwin_arm64', 'windows_amd64'];
const RELEASES: readonly ProviderRelease[] = ['alpha', 'beta'].map((name) => ({ address: `acme/${name}`, version: '1.2.3', platforms: PLATFORMS }));
const MAIN = { platform: 'linux_amd64' } as const;

interface Scene {
  readonly registry: EmbeddedRegistry;
  readonly cache: ProviderCache;
  readonly directory: string;
  readonly path: string;
  /** The zip hash of a provider for a platform, as the signed checksums have it. */
  readonly zh: (name: string, platform?: string) => string;
  /** All of a provider's. */
  readonly allZh: (name: string) => string[];
  readonly lock: (hashes: Readonly<Record<string, readonly string[]>>) => Promise<string>;
}

async function scene(t: TestContext, releases: readonly ProviderRelease[] = RELEASES): Promise<Scene> {
  const registry = await withRegistry(t, { providers: releases });
  const work = await withTemporaryDirectory(t);
  const directory = await withTemporaryDirectory(t);
  const path = join(work, '.terraform.lock.hcl');
  const zh = (name: string, platform = 'linux_amd64'): string =>
    `zh:${String(registry.releases.find(({ release }) => release.address === `acme/${name}`)?.packages.get(platform)?.sha256)}`;
  return {
    registry,
    cache: await openCache(t, registry, { directory }),
    directory,
    path,
    zh,
    allZh: (name) => PLATFORMS.map((platform) => zh(name, platform)),
    lock: async (providers) => {
      const text = lockText(providers);
      await writeFile(path, text);
      return text;
    },
  };
}

/** As the reference writes it. */
function lockText(providers: Readonly<Record<string, readonly string[]>>, host = HOST): string {
  const blocks = Object.entries(providers).map(([name, hashes]) => {
    const list = hashes.length === 0 ? '' : `  hashes = [\n${[...hashes].sort().map((hash) => `    "${hash}",\n`).join('')}  ]\n`;
    return `\nprovider "${host}/acme/${name}" {\n  version     = "1.2.3"\n  constraints = "~> 1.2"\n${list}}\n`;
  });
  return `# This file is maintained automatically by "terraform init".\n# Manual edits may be lost in future updates.\n${blocks.join('')}`;
}

function h1Of(found: ProviderPackage | undefined): string {
  return found?.hashes.find((hash) => hash.startsWith('h1:')) ?? '';
}

async function failureOf(work: Promise<unknown>): Promise<EnsureAllError<ProviderPackage>> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof EnsureAllError, String(error));
  return error as EnsureAllError<ProviderPackage>;
}

describe('ensureLockFile', () => {
  it('has every provider of the file by its exact version and hashes, and leaves the file alone', async (t) => {
    const { cache, registry, path, lock, zh } = await scene(t);
    const text = await lock({ beta: [zh('beta')], alpha: [zh('alpha'), 'zh:unknown'] });
    const before = await stat(path, { bigint: true });
    const found = await cache.ensureLockFile(path, MAIN);
    assert.deepEqual(found.map(({ address, version, platform }) => `${String(address)} ${String(version)} ${String(platform)}`), [`${HOST}/acme/beta 1.2.3 linux_amd64`, `${HOST}/acme/alpha 1.2.3 linux_amd64`]);
    assert.equal(registry.count('versions'), 0);
    assert.equal(registry.count('zip'), 2);
    assert.equal(await readFile(path, 'utf8'), text);
    assert.equal((await stat(path, { bigint: true })).mtimeNs, before.mtimeNs);
    assert.deepEqual((await cache.ensureLockFile(path, MAIN)).map(({ outcome }) => outcome), ['hit', 'hit']);
  });

  it('writes what the file lacks when it is asked to: h1 of the platform, zh of all that are signed', async (t) => {
    const { cache, path, lock, zh, allZh } = await scene(t);
    await lock({ alpha: [zh('alpha')], beta: [] });
    const [alpha, beta] = await cache.ensureLockFile(path, { ...MAIN, update: true });
    const expected = lockText({ alpha: [h1Of(alpha), ...allZh('alpha')], beta: [h1Of(beta), ...allZh('beta')] });
    assert.equal(await readFile(path, 'utf8'), expected);
    const before = await stat(path, { bigint: true });
    await cache.ensureLockFile(path, { ...MAIN, update: true });
    const after = await stat(path, { bigint: true });
    assert.deepEqual([after.ino, after.mtimeNs], [before.ino, before.mtimeNs]);
  });

  it('has the packages of further platforms, and writes their h1', async (t) => {
    const { cache, registry, path, lock, zh, allZh } = await scene(t);
    await lock({ alpha: [zh('alpha')], beta: [] });
    const found = await cache.ensureLockFile(path, { ...MAIN, platforms: ['darwin_arm64', 'linux_amd64', 'windows_amd64', 'darwin_arm64'], update: true });
    assert.deepEqual(
      found.map(({ address, platform }) => `${address.type} ${String(platform)}`),
      PLATFORMS.flatMap((platform) => [`alpha ${platform}`, `beta ${platform}`]),
    );
    assert.equal(registry.count('zip'), 6);
    const h1 = (name: string): string[] => found.filter(({ address }) => address.type === name).map(h1Of);
    assert.equal(await readFile(path, 'utf8'), lockText({ alpha: [...h1('alpha'), ...allZh('alpha')], beta: [...h1('beta'), ...allZh('beta')] }));
  });

  it('leaves what has come into the file meanwhile as it is', async (t) => {
    const { cache, registry, path, lock, zh } = await scene(t);
    await lock({ alpha: [zh('alpha')] });
    const other = lockText({ alpha: [zh('alpha')], gamma: ['h1:x'] }).replace('"1.2.3"', '"2.0.0"');
    let go = (): void => undefined;
    registry.faults.inject({ on: 'zip', until: new Promise<void>((resolve) => (go = resolve)) });
    const running = cache.ensureLockFile(path, { ...MAIN, update: true });
    while (registry.count('zip') === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await writeFile(path, other);
    go();
    await running;
    assert.equal(await readFile(path, 'utf8'), other);
  });

  it('refuses a package that has none of the hashes, tells of all of them, and leaves the file as it was', async (t) => {
    const { cache, path, lock, zh, directory } = await scene(t, [...RELEASES, { address: 'acme/gamma', version: '1.2.3', platforms: PLATFORMS }]);
    const text = await lock({ alpha: [`zh:${'0'.repeat(64)}`, `h1:${'A'.repeat(43)}=`], beta: [`h1:${'B'.repeat(43)}=`], gamma: [zh('gamma')] });
    for (const pin of [false, true]) {
      const error = await failureOf(cache.ensureLockFile(path, { ...MAIN, update: true, pin }));
      assert.deepEqual(error.errors.map(({ name }) => name), ['HashMismatchError', 'HashMismatchError']);
      assert.deepEqual(error.packages.map((found) => found?.address.type), [undefined, undefined, 'gamma']);
      assert.equal(await readFile(path, 'utf8'), text);
    }
    assert.deepEqual((await treeOf(join(directory, 'state/pins'))).filter((name) => name.includes('/')), []);
  });

  it('refuses a further platform’s package when its signed checksums are those of another release', async (t) => {
    const { cache, registry, path, lock, zh } = await scene(t);
    // The file and the package for linux mean this release; what is signed for darwin is another one of the same name.
    await cache.ensureLockFile((await lock({ alpha: [zh('alpha')] }), path), MAIN);
    const zip = makeZip({ 'terraform-provider-alpha_v1': 'other' });
    const sums = `${createHash('sha256').update(zip).digest('hex')}  terraform-provider-alpha_1.2.3_darwin_arm64.zip\n${'1'.repeat(64)}  terraform-provider-alpha_1.2.3_linux_amd64.zip\n`;
    const other = await withRegistry(t, { providers: [{ address: 'acme/alpha', version: '1.2.3', platforms: ['darwin_arm64'], zip, sums }] });
    const directory = await withTemporaryDirectory(t);
    const mixed = await openCache(t, other, { directory });
    const text = await readFile(path, 'utf8');
    await registry.close();
    // The linux package comes from the first cache, as a restore would put it there.
    await cp(cache.providersDirectory, mixed.providersDirectory, { recursive: true });
    const [found] = await cache.ensureLockFile(path, MAIN);
    await writeFile(path, lockText({ alpha: [zh('alpha'), h1Of(found)] }));
    const error = await failureOf(mixed.ensureLockFile(path, { ...MAIN, platforms: ['darwin_arm64'], update: true }));
    assert.deepEqual(error.failures.map(({ index, request, error: { name } }) => [index, request, name]), [[1, `${HOST}/acme/alpha 1.2.3 darwin_arm64`, 'HashMismatchError']]);
    assert.notEqual(await readFile(path, 'utf8'), text);
    assert.equal(await readFile(path, 'utf8'), lockText({ alpha: [zh('alpha'), h1Of(found)] }));
  });

  it('adds the platform that the file knows nothing of, which a hash of another platform cannot prove', async (t) => {
    const { cache, path, lock } = await scene(t);
    const linux = await cache.ensure({ source: `${HOST}/acme/alpha`, version: '1.2.3', platform: 'linux_amd64' });
    await lock({ alpha: [h1Of(linux)] });
    const found = await cache.ensureLockFile(path, { ...MAIN, platforms: ['darwin_arm64'], update: true });
    const { hashes = [] } = (await readDependencyLocks(path)).providers.get(`${HOST}/acme/alpha`) ?? {};
    for (const each of found) assert.ok(hashes.includes(h1Of(each)));
    assert.ok(found.length === 2 && h1Of(found[0]) !== h1Of(found[1]));
  });

  it('serves a second run offline, further platforms too', async (t) => {
    const { cache, registry, path, lock, zh, directory } = await scene(t);
    await lock({ alpha: [zh('alpha')], beta: [zh('beta')] });
    const options = { ...MAIN, platforms: ['darwin_arm64'], update: true };
    const [alpha] = await cache.ensureLockFile(path, options);
    await registry.close();
    // A restore brings the entries without their records: the hashes prove them.
    await rm(join(directory, 'state'), { recursive: true });
    const offline = await openCache(t, undefined, { directory, offline: true });
    assert.deepEqual((await offline.ensureLockFile(path, options)).slice(0, 2).map(({ outcome }) => outcome), ['adopted', 'adopted']);
    await lock({ alpha: [h1Of(alpha)], gamma: [] });
    const error = await failureOf(offline.ensureLockFile(path, MAIN));
    assert.deepEqual(error.failures.map(({ request, error: { name } }) => [request, name]), [[`${HOST}/acme/gamma 1.2.3 linux_amd64`, 'OfflineError']]);
  });

  it('has nothing to do for an empty file, and says what is wrong with one that is missing or malformed', async (t) => {
    const { cache, path } = await scene(t);
    await assert.rejects(cache.ensureLockFile(path, MAIN), { code: 'ERR_FILE_SYSTEM', systemCode: 'ENOENT', path });
    await assert.rejects(cache.ensureLockFile(path, { ...MAIN, update: true }), { code: 'ERR_FILE_SYSTEM', systemCode: 'ENOENT' });
    for (const text of ['', '# Nothing yet.\n']) {
      await writeFile(path, text);
      assert.deepEqual(await cache.ensureLockFile(path, { ...MAIN, update: true }), []);
      assert.equal(await readFile(path, 'utf8'), text);
    }
    await writeFile(path, 'provider "registry.example.com/acme/thing" {\n  version = \n}\n');
    await assert.rejects(cache.ensureLockFile(path, { ...MAIN, update: true }), { code: 'ERR_HCL_SYNTAX', line: 2 });
    await writeFile(path, 'provider "Not/An/Address" {\n  version = "1.0.0"\n}\n');
    await assert.rejects(cache.ensureLockFile(path, MAIN), { code: 'ERR_DEPENDENCY_LOCKS' });
    await rm(path);
    await mkdir(path);
    await assert.rejects(cache.ensureLockFile(path, MAIN), { name: /FileSystemError|DependencyLocksError/u });
  });

  it('ends with an abort, with nothing pinned and the file as it was', async (t) => {
    const { cache, registry, path, lock, zh } = await scene(t);
    const text = await lock({ alpha: [zh('alpha')], beta: [zh('beta')] });
    registry.faults.inject({ on: 'zip', path: 'beta', silent: true });
    const abort = new AbortController();
    const running = cache.ensureLockFile(path, { ...MAIN, update: true, pin: true, signal: abort.signal });
    while (registry.count('zip') < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    abort.abort(new Error('enough'));
    await assert.rejects(running, { message: 'enough' });
    assert.equal(await readFile(path, 'utf8'), text);
  });

  it('refuses options that are none', async (t) => {
    const { cache, path, lock } = await scene(t);
    await lock({});
    await assert.rejects(cache.ensureLockFile(''), { code: 'ERR_INVALID_OPTION', option: 'path' });
    await assert.rejects(cache.ensureLockFile(path, { platforms: 'linux_amd64' as never }), { code: 'ERR_INVALID_OPTION', option: 'platforms' });
    await assert.rejects(cache.ensureLockFile(path, { platforms: ['linux'] }), { code: 'ERR_INVALID_PLATFORM' });
    await assert.rejects(cache.ensureLockFile(path, { platform: 'x' }), { code: 'ERR_INVALID_PLATFORM' });
    await assert.rejects(cache.ensureLockFile(path, { update: 'yes' as never }), { code: 'ERR_INVALID_OPTION', option: 'update' });
    await assert.rejects(cache.ensureLockFile(path, { concurrency: 0 }), { code: 'ERR_INVALID_OPTION', option: 'concurrency' });
    await assert.rejects(cache.ensureLockFile(path, { signal: AbortSignal.abort(new Error('before')) }), { message: 'before' });
    await cache.close();
    await assert.rejects(cache.ensureLockFile(path), { code: 'ERR_CACHE_CLOSED' });
  });
});
