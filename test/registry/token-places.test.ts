/** A private registry, and a token from each of the places that it can come from. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { CredentialsHelperError, PlatformNotSupportedError, ProviderNotFoundError } from '../../src/errors.ts';
import { ProviderCache } from '../../src/index.ts';
import { parsePlatform, parseProviderAddress, parseVersion } from '../../src/layout/index.ts';
import { RegistryClient, type CliConfig, type RegistryClientOptions } from '../../src/registry/index.ts';
import { createCertificate } from '../support/certificate.ts';
import { startRegistry, type EmbeddedRegistry, type RegistryOptions } from '../support/registry/index.ts';
import { makeHome, type Home } from './cli-config/support.ts';

const HOST = 'private.example.com';
const ADDRESS = parseProviderAddress(`${HOST}/hashicorp/null`);
const REQUEST = { source: String(ADDRESS), version: '3.2.4', platform: 'linux_amd64' };
const WINDOWS = process.platform === 'win32' ? 'the helper of this test is a shell script' : false;
const BLOCK = `credentials "${HOST}" {\n  token = "t0ken"\n}\n`;

async function registryFor(t: TestContext, options: RegistryOptions = {}): Promise<EmbeddedRegistry> {
  const registry = await startRegistry({ providers: [{ address: 'hashicorp/null', version: '3.2.4' }], token: 't0ken', ...options });
  t.after(() => registry.close());
  return registry;
}

function hostBlock(registry: EmbeddedRegistry): string {
  return `host "${HOST}" {\n  services = { "providers.v1" = "${registry.origin}/v1/providers/" }\n}\n`;
}

function clientFor(t: TestContext, options: RegistryClientOptions): RegistryClient {
  const client = new RegistryClient({ environment: {}, ...options, http: { retries: 0, ...options.http } });
  t.after(() => client.close());
  return client;
}

/** Installs through a cache that has nothing but the configuration. */
async function installs(t: TestContext, home: Home, cliConfig: CliConfig, environment: Record<string, string> = {}, more: RegistryClientOptions = {}): Promise<void> {
  const cache = await ProviderCache.open({ directory: join(home.path, 'cache'), cliConfig, environment, http: { retries: 0 }, ...more });
  t.after(() => cache.close());
  assert.equal((await cache.ensure(REQUEST)).outcome, 'installed');
}

function shown(registry: EmbeddedRegistry): Record<string, string | undefined> {
  return Object.fromEntries(registry.requestLog.map(({ route, headers }) => [route, headers.authorization]));
}

const AS_USUAL = { metadata: 'Bearer t0ken', zip: undefined, sums: undefined, signature: undefined };

describe('a package of a private registry is installed with a token', () => {
  it('of TF_TOKEN_…, whether the cache or the configuration has read it', async (t) => {
    for (const by of ['cache', 'configuration']) {
      const [home, registry] = [await makeHome(t), await registryFor(t)];
      await home.write('.terraformrc', `${hostBlock(registry)}${BLOCK.replace('t0ken', 'wrong')}`);
      const variables = { TF_TOKEN_private_example_com: 't0ken' };
      await installs(t, home, await home.load(by === 'configuration' ? variables : {}), by === 'cache' ? variables : {});
      assert.deepEqual(shown(registry), AS_USUAL);
    }
  });

  it('of the credentials option, which beats the configuration', async (t) => {
    const [home, registry] = [await makeHome(t), await registryFor(t)];
    await home.write('.terraformrc', `${hostBlock(registry)}${BLOCK.replace('t0ken', 'wrong')}`);
    await installs(t, home, await home.load(), {}, { credentials: { [HOST]: { token: 't0ken' } } });
    assert.deepEqual(shown(registry), AS_USUAL);
  });

  it('of a credentials block', async (t) => {
    const [home, registry] = [await makeHome(t), await registryFor(t)];
    await home.write('.terraformrc', hostBlock(registry) + BLOCK);
    await installs(t, home, await home.load());
    assert.deepEqual(shown(registry), AS_USUAL);
  });

  it('of credentials.tfrc.json', async (t) => {
    const [home, registry] = [await makeHome(t), await registryFor(t)];
    await home.write('.terraformrc', hostBlock(registry));
    await home.write('.terraform.d/credentials.tfrc.json', JSON.stringify({ credentials: { [HOST]: { token: 't0ken' } } }));
    await installs(t, home, await home.load());
    assert.deepEqual(shown(registry), AS_USUAL);
  });

  it('of a credentials helper, asked once', { skip: WINDOWS }, async (t) => {
    const [home, registry] = [await makeHome(t), await registryFor(t)];
    await home.write('.terraformrc', `${hostBlock(registry)}credentials_helper "test" {}\n`);
    await home.helper('terraform-credentials-test', `echo "$*" >> ${home.path}/asked; echo '{"token":"t0ken"}'`);
    const config = await home.load({ PATH: process.env['PATH'] ?? '' });
    await installs(t, home, config);
    await clientFor(t, { cliConfig: config }).versions(ADDRESS);
    assert.deepEqual(shown(registry), { ...AS_USUAL, versions: 'Bearer t0ken' });
  });

  it('and, for the zip, with a user and password of .netrc', async (t) => {
    const [home, registry] = [await makeHome(t), await registryFor(t)];
    await home.write('.terraformrc', hostBlock(registry) + BLOCK);
    await home.write('.netrc', `machine ${registry.host} login me password pw`);
    await installs(t, home, await home.load(), { HOME: home.path, USERPROFILE: home.path }, { netrc: true });
    const basic = `Basic ${Buffer.from('me:pw').toString('base64')}`;
    assert.deepEqual(shown(registry), { metadata: 'Bearer t0ken', zip: basic, sums: basic, signature: basic });
  });

  it('and the hosts option beats the configuration, whatever the spelling', async (t) => {
    const [home, registry, other] = [await makeHome(t), await registryFor(t), await registryFor(t)];
    await home.write('.terraformrc', hostBlock(other) + BLOCK);
    await installs(t, home, await home.load(), {}, { hosts: registry.hosts('Private.EXAMPLE.com:443') });
    assert.deepEqual([shown(registry), other.requestLog.length], [AS_USUAL, 0]);
  });
});

describe('a helper that fails', { skip: WINDOWS }, () => {
  async function broken(t: TestContext, registry: EmbeddedRegistry): Promise<{ home: Home; config: CliConfig }> {
    const home = await makeHome(t);
    await home.write('.terraformrc', `${hostBlock(registry)}credentials_helper "test" {}\n`);
    await home.helper('terraform-credentials-test', 'echo broken >&2; exit 1');
    return { home, config: await home.load({ PATH: process.env['PATH'] ?? '' }) };
  }

  it('stops nothing that needs no token', async (t) => {
    const registry = await registryFor(t, { token: undefined });
    const { home, config } = await broken(t, registry);
    await installs(t, home, config);
    assert.equal(shown(registry)['metadata'], undefined);
  });

  it('is the error where the registry asks for a token, and the cause where it knows nothing', async (t) => {
    const registry = await registryFor(t);
    const client = clientFor(t, { cliConfig: (await broken(t, registry)).config });
    await assert.rejects(client.versions(ADDRESS), (error) => error instanceof CredentialsHelperError && error.hostname === HOST && error.problem.includes('broken'));
    registry.faults.inject({ on: 'versions', status: 404 });
    registry.faults.inject({ on: 'metadata', status: 404 });
    await assert.rejects(client.versions(ADDRESS), (error) => error instanceof ProviderNotFoundError && error.cause instanceof CredentialsHelperError);
    const metadata = client.package(ADDRESS, parseVersion('3.2.4'), parsePlatform('linux_amd64'));
    await assert.rejects(metadata, (error) => error instanceof PlatformNotSupportedError && error.cause instanceof CredentialsHelperError);
  });

  it('leaves discovery anonymous, and is its error where it asks for a token', async (t) => {
    const certificate = await createCertificate(t);
    if (certificate === undefined) return;
    const registry = await registryFor(t, { tls: certificate });
    const client = clientFor(t, { cliConfig: (await broken(t, registry)).config, http: { ca: certificate.certificate } });
    assert.deepEqual((await client.discover(registry.host)).ids, ['providers.v1']);
    assert.equal(shown(registry)['discovery'], undefined);
    const refusing = clientFor(t, { cliConfig: (await broken(t, registry)).config, http: { ca: certificate.certificate } });
    registry.faults.inject({ on: 'discovery', status: 403 });
    await assert.rejects(refusing.discover(registry.host), CredentialsHelperError);
  });
});
