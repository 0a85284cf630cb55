/**
 * `terraform init` after `prepareWorkingDirectory`, with everything switched off from which the packages came, and where it can be had without any network:
 * it succeeds, and its lock file stays byte for byte what this library wrote.
 */
import assert from 'node:assert/strict';
import { cp, lstat, mkdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { PreparedDirectory, ProviderCacheOptions } from '../../src/index.ts';
import { hashDirectory, updateDependencyLocks } from '../../src/verify/index.ts';
import { HOST } from '../cache/support.ts';
import { makeHome, type Home } from '../registry/cli-config/support.ts';
import { createCertificate } from '../support/certificate.ts';
import { startMirror, type MirroredZip } from '../support/network-mirror.ts';
import { startProxy } from '../support/proxy.ts';
import { startRegistry, type EmbeddedRegistry, type RegistryOptions } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { canGoOffline, init, type InitResult, type RequiredProvider } from '../support/terraform.ts';
import { lastWords, openCache, PLATFORM, release, required, terraform, WITHOUT_TERRAFORM, workingDirectory } from './support.ts';

const OFFLINE = canGoOffline();
const NAMES = ['alpha', 'beta'];

/** Where a row's packages come from. */
interface Origin {
  readonly options: Partial<ProviderCacheOptions>;
  /** The host of their addresses. */
  readonly host: string;
  /** Switches it off. */
  stop(): Promise<void>;
  /** Looks whether it was really asked. */
  check?(): void;
}

interface Row {
  readonly from: string;
  /** `undefined` where it cannot be had here; then it has skipped the test. */
  readonly origin: (t: TestContext, root: string) => Promise<Origin | undefined>;
}

const TOKEN = 'a.private-token';
const RELEASES = NAMES.map((name) => ({ ...release(name), platforms: [PLATFORM, 'windows_arm64'] }));

async function registryOf(t: TestContext, options: RegistryOptions = {}): Promise<EmbeddedRegistry> {
  const registry = await startRegistry({ providers: RELEASES, ...options });
  t.after(() => registry.close());
  return registry;
}

async function direct(t: TestContext, options: RegistryOptions, more: (registry: EmbeddedRegistry) => Partial<ProviderCacheOptions>): Promise<Origin> {
  const registry = await registryOf(t, options);
  return { host: HOST, options: { hosts: registry.hosts(HOST), ...more(registry) }, stop: () => registry.close() };
}

/** A private registry, by the token in a home directory as the clients have it. */
async function byHome(t: TestContext, fill: (home: Home) => Promise<unknown>): Promise<Origin> {
  const home = await makeHome(t);
  await fill(home);
  const cliConfig = await home.load();
  return direct(t, { token: TOKEN }, () => ({ cliConfig }));
}

/** The zips of all packages, as a mirror offers them. */
async function zips(t: TestContext): Promise<MirroredZip[]> {
  const registry = await registryOf(t);
  const found = registry.releases.flatMap(({ release: { address, version }, packages }) =>
    [...packages].map(([platform, { source }]) => ({ address: `${HOST}/${address}`, version, platform, zip: source instanceof Uint8Array ? source : Buffer.alloc(0) })),
  );
  await registry.close();
  return found;
}

const ROWS: readonly Row[] = [
  { from: 'a registry', origin: (t) => direct(t, {}, () => ({})) },
  { from: 'a private registry, by a token of the options', origin: (t) => direct(t, { token: TOKEN }, () => ({ credentials: { [HOST]: { token: TOKEN } } })) },
  { from: 'a private registry, by TF_TOKEN_*', origin: (t) => direct(t, { token: TOKEN }, () => ({ environment: { TF_TOKEN_registry_example_com: TOKEN } })) },
  { from: 'a private registry, by a credentials block', origin: (t) => byHome(t, (home) => home.write('.terraformrc', `credentials "${HOST}" {\n  token = "${TOKEN}"\n}\n`)) },
  { from: 'a private registry, by credentials.tfrc.json', origin: (t) => byHome(t, (home) => home.write('.terraform.d/credentials.tfrc.json', JSON.stringify({ credentials: { [HOST]: { token: TOKEN } } }))) },
  {
    from: 'a private registry, by a credentials helper',
    origin: (t) =>
      byHome(t, async (home) => {
        await home.write('.terraformrc', 'credentials_helper "test" {\n  args = []\n}\n');
        await home.helper('terraform-credentials-test', `echo '{"token":"${TOKEN}"}'`);
      }),
  },
  {
    from: 'a network mirror',
    origin: async (t) => {
      const mirror = await startMirror(t, await zips(t));
      return { host: HOST, options: { sources: [{ type: 'network_mirror', url: mirror.url }] }, stop: () => mirror.close(), check: () => { assert.ok(mirror.requests.length > 0); } };
    },
  },
  {
    from: 'a filesystem mirror of zips',
    origin: async (t, root) => {
      const path = join(root, 'mirror');
      for (const { address, version, platform, zip } of await zips(t)) {
        await mkdir(join(path, address), { recursive: true });
        await writeFile(join(path, address, `terraform-provider-${basename(address)}_${version}_${platform}.zip`), zip);
      }
      return { host: HOST, options: { sources: [{ type: 'filesystem_mirror', path }] }, stop: () => rm(path, { recursive: true }) };
    },
  },
  {
    from: 'a filesystem mirror of unpacked packages',
    origin: async (t, root) => {
      const registry = await registryOf(t);
      const first = await openCache(t, { directory: join(root, 'first'), environment: {}, hosts: registry.hosts(HOST) });
      await first.ensureAll(requiredFrom(HOST));
      await first.close();
      await registry.close();
      const path = join(root, 'mirror');
      await cp(first.providersDirectory, path, { recursive: true });
      await rm(first.directory, { recursive: true });
      return { host: HOST, options: { sources: [{ type: 'filesystem_mirror', path }] }, stop: () => rm(path, { recursive: true }) };
    },
  },
  {
    from: 'a registry that is discovered by TLS with a certificate authority of one’s own',
    origin: async (t) => {
      const tls = await createCertificate(t);
      if (tls === undefined) return undefined;
      const registry = await registryOf(t, { tls });
      return { host: registry.host, options: { http: { backoffMs: 10, ca: tls.certificate } }, stop: () => registry.close(), check: () => { assert.ok(registry.count('discovery') > 0); } };
    },
  },
  {
    from: 'a private registry behind a proxy that wants a password, by TLS',
    origin: async (t) => {
      const tls = await createCertificate(t, 'DNS:registry.test');
      if (tls === undefined) return undefined;
      const registry = await registryOf(t, { tls, token: TOKEN });
      const proxy = await startProxy(t, { hosts: { 'registry.test:443': Number(new URL(registry.origin).port) }, credentials: 'user:password' });
      return {
        host: 'registry.test',
        options: {
          environment: { HTTPS_PROXY: proxy.origin.replace('//', '//user:password@'), TF_TOKEN_registry_test: TOKEN },
          http: { backoffMs: 10, ca: tls.certificate },
        },
        stop: () => registry.close(),
        check: () => { assert.ok(proxy.requests.every(({ method, target }) => method === 'CONNECT' && target === 'registry.test:443') && proxy.requests.length > 0); },
      };
    },
  },
];

function requiredFrom(host: string): RequiredProvider[] {
  return NAMES.map((name) => ({ ...required(name), source: `${host}/acme/${name}` }));
}

/** Without an `h1:` the client installs anew, whatever stands in a plugin cache. */
function zipsOnly(hashes: readonly string[]): string[] {
  return hashes.filter((hash) => hash.startsWith('zh:'));
}

/** `init` with what was answered, and nothing else. */
async function initPrepared(directory: string, { environment }: PreparedDirectory, offline = OFFLINE): Promise<InitResult> {
  return init(terraform(), directory, { environment, offline });
}

describe('terraform init after prepareWorkingDirectory', { skip: WITHOUT_TERRAFORM }, () => {
  if (!OFFLINE) it('runs in a network of its own', { skip: 'unshare --net does not work here: the origins are closed, and that is all' }, () => undefined);

  for (const { from, origin } of ROWS) {
    it(`works offline with packages from ${from}`, async (t) => {
      const root = await withTemporaryDirectory(t);
      const place = await origin(t, root);
      if (place === undefined) return;
      const cache = await openCache(t, { directory: join(root, 'cache'), environment: {}, http: { backoffMs: 10 }, ...place.options });
      const providers = requiredFrom(place.host);
      const directory = await workingDirectory(root, 'work', providers);
      const lockFile = join(directory, '.terraform.lock.hcl');
      const chosen = await cache.ensureAll(providers.map(({ source, version }) => ({ source, version: `= ${version}` })));
      await updateDependencyLocks(lockFile, () => chosen.map(({ address, version, lockHashes }) => ({ address, version, constraints: String(version), hashes: lockHashes })), { tool: 'terraform' });
      const prepared = await cache.prepareWorkingDirectory(directory, { update: true, ...(place.options.cliConfig === undefined ? { cliConfig: false } : {}) });
      assert.deepEqual(new Set(prepared.packages.map(({ outcome }) => outcome)), new Set(['hit']));
      place.check?.();
      await place.stop();
      const written = await readFile(lockFile, 'utf8');
      const result = await initPrepared(directory, prepared);
      assert.equal(result.code, 0, lastWords(result));
      assert.equal(await readFile(lockFile, 'utf8'), written);
      for (const { address, version, path } of chosen) {
        assert.equal(await readlink(join(directory, '.terraform/providers', String(address), String(version), PLATFORM)), path);
      }
      assert.ok(!(await readFile(String(prepared.cliConfigPath), 'utf8')).includes(TOKEN));
    });
  }

  it('finds the very lock file that it would have written itself', async (t) => {
    const root = await withTemporaryDirectory(t);
    const registry = await registryOf(t);
    const cache = await openCache(t, { directory: join(root, 'cache'), environment: {}, hosts: registry.hosts(HOST) });
    const providers = requiredFrom(HOST);
    const [theirs, ours] = [await workingDirectory(root, 'theirs', providers), await workingDirectory(root, 'ours', providers)];
    const result = await init(terraform(), theirs, { configuration: { hosts: registry.hosts(HOST) } });
    assert.equal(result.code, 0, lastWords(result));
    const packages = await cache.ensureAll(providers);
    await updateDependencyLocks(join(ours, '.terraform.lock.hcl'), () => packages.map(({ address, version, lockHashes }) => ({ address, version, constraints: String(version), hashes: lockHashes })), { tool: 'terraform' });
    assert.equal(await readFile(join(ours, '.terraform.lock.hcl'), 'utf8'), await readFile(join(theirs, '.terraform.lock.hcl'), 'utf8'));
  });

  it('leaves the cache as it was where the lock file had no hash of ours: what it finds is a copy', async (t) => {
    const root = await withTemporaryDirectory(t);
    const registry = await registryOf(t);
    const cache = await openCache(t, { directory: join(root, 'cache'), environment: {}, hosts: registry.hosts(HOST) });
    const directory = await workingDirectory(root, 'work', requiredFrom(HOST));
    const packages = await cache.ensureAll(requiredFrom(HOST));
    await updateDependencyLocks(join(directory, '.terraform.lock.hcl'), () => packages.map(({ address, version, lockHashes }) => ({ address, version, constraints: String(version), hashes: zipsOnly(lockHashes) })), { tool: 'terraform' });
    const prepared = await cache.prepareWorkingDirectory(directory, { cliConfig: false });
    const before = await Promise.all(packages.map(async ({ executable }) => stat(executable, { bigint: true })));
    for (const { address } of packages) assert.ok((await lstat(join(prepared.providersDirectory, String(address), '1.2.3', PLATFORM))).isDirectory());
    await registry.close();
    const result = await initPrepared(directory, prepared);
    assert.equal(result.code, 0, lastWords(result));
    for (const [index, { executable, path, hashes }] of packages.entries()) {
      const after = await stat(executable, { bigint: true });
      assert.deepEqual([after.ino, after.mtimeNs, after.mode], [before[index]?.ino, before[index]?.mtimeNs, before[index]?.mode]);
      assert.equal(await hashDirectory(path), hashes.find((hash) => hash.startsWith('h1:')));
    }
    // What it then wrote into the lock file is what `update` would have written.
    const theirs = await readFile(join(directory, '.terraform.lock.hcl'), 'utf8');
    const again = await cache.ensureLockFile(join(directory, '.terraform.lock.hcl'), { update: true });
    assert.equal(again.length, 2);
    assert.equal(await readFile(join(directory, '.terraform.lock.hcl'), 'utf8'), theirs);
  });

  it('may take what the lock file does not name from its registry, unless that is switched off', async (t) => {
    const root = await withTemporaryDirectory(t);
    const registry = await registryOf(t, { token: TOKEN });
    const cache = await openCache(t, { directory: join(root, 'cache'), environment: {}, hosts: registry.hosts(HOST), credentials: { [HOST]: { token: TOKEN } } });
    const [alpha, beta] = requiredFrom(HOST);
    assert.ok(alpha !== undefined && beta !== undefined);
    const [found] = await cache.ensureAll([alpha]);
    assert.ok(found !== undefined);
    for (const others of [true, false]) {
      const directory = await workingDirectory(root, `work-${String(others)}`, [alpha, beta]);
      await updateDependencyLocks(join(directory, '.terraform.lock.hcl'), () => [{ address: found.address, version: found.version, constraints: '1.2.3', hashes: found.lockHashes }]);
      const before = registry.requestLog.length;
      const prepared = await cache.prepareWorkingDirectory(directory, { others, cliConfig: false });
      const result = await initPrepared(directory, prepared, false);
      assert.equal(result.code, others ? 0 : 1, lastWords(result));
      // Nothing is asked about what the lock file names.
      const asked = registry.requestLog.slice(before).map(({ path }) => path);
      assert.deepEqual(asked.filter((path) => path.includes('/alpha/')), []);
      assert.equal(asked.some((path) => path.includes('/beta/')), others);
    }
  });

  it('works with a plugin cache that is this cache’s own tree, and with a data directory elsewhere', async (t) => {
    const root = await withTemporaryDirectory(t);
    const registry = await registryOf(t);
    const cache = await openCache(t, { directory: join(root, 'cache'), environment: {}, hosts: registry.hosts(HOST) });
    const directory = await workingDirectory(root, 'work', requiredFrom(HOST));
    const packages = await cache.ensureAll(requiredFrom(HOST));
    await updateDependencyLocks(join(directory, '.terraform.lock.hcl'), () => packages.map(({ address, version, lockHashes }) => ({ address, version, constraints: '1.2.3', hashes: zipsOnly(lockHashes) })));
    const around = { TF_PLUGIN_CACHE_DIR: cache.providersDirectory, TF_DATA_DIR: 'data/of/its/own' };
    const prepared = await cache.prepareWorkingDirectory(directory, { environment: around, cliConfig: false });
    assert.equal(prepared.providersDirectory, join(directory, 'data/of/its/own/providers'));
    await registry.close();
    // Of versions that were pruned: what an earlier call left in the mirror leads nowhere.
    for (const below of ['alpha/0.9.0', 'gone/1.0.0']) {
      await mkdir(join(prepared.mirrorDirectory, HOST, 'acme', below), { recursive: true });
      await symlink('/gone/with/the/cache', join(prepared.mirrorDirectory, HOST, 'acme', below, PLATFORM));
    }
    // Its own links are gone: it has to take the packages from the mirror.
    await rm(prepared.providersDirectory, { recursive: true });
    const result = await init(terraform(), directory, { environment: { ...around, ...prepared.environment }, offline: OFFLINE });
    assert.equal(result.code, 0, lastWords(result));
    await assert.rejects(lstat(join(directory, '.terraform/providers')));
  });
});
