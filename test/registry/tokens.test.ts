/** Who sees a host's token: nobody but its discovery origin and the origin of its service. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { PlatformNotSupportedError, ProviderNotFoundError, RegistryResponseError, UnauthorizedError } from '../../src/errors.ts';
import { parsePlatform, parseProviderAddress, parseVersion } from '../../src/layout/index.ts';
import { RegistryClient } from '../../src/registry/index.ts';
import { createCertificate } from '../support/certificate.ts';
import { startRegistry, type EmbeddedRegistry, type RegistryOptions } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

const ADDRESS = parseProviderAddress('example.com/hashicorp/null');
const [VERSION, PLATFORM] = [parseVersion('3.2.4'), parsePlatform('linux_amd64')];
const PROVIDERS = [{ address: 'hashicorp/null', version: '3.2.4' }];

async function registryFor(t: TestContext, options: RegistryOptions = {}): Promise<EmbeddedRegistry> {
  const registry = await startRegistry({ providers: PROVIDERS, ...options });
  t.after(() => registry.close());
  return registry;
}

function clientFor(t: TestContext, registry: EmbeddedRegistry, environment: Record<string, string> = {}): RegistryClient {
  const client = new RegistryClient({ environment, hosts: registry.hosts('example.com'), credentials: { 'EXAMPLE.com:443': { token: 'configured' } }, http: { retries: 0 } });
  t.after(() => client.close());
  return client;
}

function tokens(registry: EmbeddedRegistry): Record<string, string | undefined> {
  return Object.fromEntries(registry.requestLog.map(({ route, headers }) => [route, headers.authorization]));
}

test('the registry gets the token, and the zip, the checksums and the signature are fetched without it', async (t) => {
  const registry = await registryFor(t, { token: 'configured' });
  const client = clientFor(t, registry);
  await client.versions(ADDRESS);
  const metadata = await client.package(ADDRESS, VERSION, PLATFORM);
  await client.checksums(metadata);
  await client.download(metadata, join(await withTemporaryDirectory(t), 'zip'));
  assert.deepEqual(tokens(registry), { versions: 'Bearer configured', metadata: 'Bearer configured', zip: undefined, sums: undefined, signature: undefined });
});

test('TF_TOKEN beats a configured token', async (t) => {
  const registry = await registryFor(t);
  await clientFor(t, registry, { TF_TOKEN_example_com: 'environment' }).versions(ADDRESS);
  assert.deepEqual(tokens(registry), { versions: 'Bearer environment' });
});

test('the environment of the process counts unless another one is given', async (t) => {
  const registry = await registryFor(t);
  process.env['TF_TOKEN_example_com'] = 'process';
  t.after(() => delete process.env['TF_TOKEN_example_com']);
  const client = new RegistryClient({ hosts: registry.hosts('example.com') });
  t.after(() => client.close());
  await client.versions(ADDRESS);
  assert.deepEqual(tokens(registry), { versions: 'Bearer process' });
});

test('the token of another host is never sent', async (t) => {
  const registry = await registryFor(t);
  const client = new RegistryClient({ environment: { TF_TOKEN_other_example_com: 'other' }, hosts: registry.hosts('example.com'), credentials: { 'example.com:8443': { token: 'port' } } });
  t.after(() => client.close());
  await client.versions(ADDRESS);
  assert.deepEqual(tokens(registry), { versions: undefined });
});

test('a redirect to another origin carries neither token nor version header', async (t) => {
  const [registry, other] = [await registryFor(t), await registryFor(t, { providers: [] })];
  const client = clientFor(t, registry);
  registry.faults.inject({ on: 'versions', redirectTo: `${other.origin}/v1/providers/hashicorp/null/versions` });
  registry.faults.inject({ on: 'metadata', redirectTo: `${other.origin}/v1/providers/hashicorp/null/3.2.4/download/linux/amd64` });
  await assert.rejects(client.versions(ADDRESS), ProviderNotFoundError);
  await assert.rejects(client.package(ADDRESS, VERSION, PLATFORM), PlatformNotSupportedError);
  assert.deepEqual(tokens(registry), { versions: 'Bearer configured', metadata: 'Bearer configured' });
  assert.equal(other.requestLog.length, 2);
  for (const { headers } of other.requestLog) {
    assert.equal(headers.authorization, undefined);
    assert.equal(headers['x-terraform-version'], undefined);
  }
});

test('a redirect back to the origin of the discovery document may carry it, one to a stranger and back may not', async (t) => {
  const certificate = await createCertificate(t);
  if (certificate === undefined) return;
  // One process plays the host (over https); its service lies on the second one.
  const service = await registryFor(t, { tls: certificate });
  const host = await registryFor(t, { tls: certificate, services: { 'providers.v1': `${service.origin}/v1/providers/` } });
  const stranger = await registryFor(t, { tls: certificate });
  const client = new RegistryClient({ environment: {}, credentials: { [host.host]: { token: 'configured' } }, http: { retries: 0, ca: certificate.certificate } });
  t.after(() => client.close());
  const address = parseProviderAddress(`${host.host}/hashicorp/null`);
  const path = '/v1/providers/hashicorp/null/versions';

  service.faults.inject({ on: 'versions', redirectTo: `${host.origin}${path}`, times: 1 });
  assert.equal((await client.versions(address)).versions.length, 1);
  assert.deepEqual(tokens(host), { discovery: 'Bearer configured', versions: 'Bearer configured' });
  assert.deepEqual(tokens(service), { versions: 'Bearer configured' });

  service.faults.inject({ on: 'versions', redirectTo: `${stranger.origin}${path}`, times: 1 });
  stranger.faults.inject({ on: 'versions', redirectTo: `${host.origin}${path}`, times: 1 });
  assert.equal((await client.versions(address)).versions.length, 1);
  assert.deepEqual(tokens(stranger), { versions: undefined });
  assert.equal(host.requestLog.at(-1)?.headers.authorization, undefined);
});

test('metadata of a redirect counts its URLs from there', async (t) => {
  const [registry, other] = [await registryFor(t), await registryFor(t)];
  const client = clientFor(t, registry);
  registry.faults.inject({ on: 'metadata', redirectTo: `${other.origin}/v1/providers/hashicorp/null/3.2.4/download/linux/amd64` });
  const { downloadUrl, checksumsUrl } = await client.package(ADDRESS, VERSION, PLATFORM);
  assert.equal(downloadUrl, `${other.origin}/releases/hashicorp/null/3.2.4/linux_amd64.zip`);
  assert.equal(checksumsUrl, `${other.origin}/releases/hashicorp/null/3.2.4/SHA256SUMS`);
});

test('no error shows a token or the query of a URL', async (t) => {
  const registry = await registryFor(t, { token: 'another' });
  const client = clientFor(t, registry);
  const shown = (error: unknown): string => (error instanceof Error ? [error.message, JSON.stringify(error), String(error.stack), String(error.cause)].join() : '');
  await assert.rejects(client.versions(ADDRESS), (error) => error instanceof UnauthorizedError && !shown(error).includes('configured'));
  registry.faults.inject({ on: 'versions', redirectTo: '/v1/providers/hashicorp/null/versions?signature=hidden', times: 1 });
  registry.faults.inject({ on: 'versions', status: 200, body: 'not JSON' });
  await assert.rejects(client.versions(ADDRESS), (error) => error instanceof RegistryResponseError && error.url.endsWith('/versions?…') && !shown(error).includes('hidden'));
});
