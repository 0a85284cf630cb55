import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  DownloadIncompleteError,
  HttpStatusError,
  NetworkError,
  PlatformNotSupportedError,
  ProtocolNotSupportedError,
  ProviderNotFoundError,
  RegistryResponseError,
  ResponseTooLargeError,
  ServiceNotProvidedError,
  UnauthorizedError,
} from '../../src/errors.ts';
import { parsePlatform, parseProviderAddress, parseVersion } from '../../src/layout/index.ts';
import { RegistryClient, type PackageMetadata, type RegistryClientOptions } from '../../src/registry/index.ts';
import { startRegistry, type EmbeddedRegistry, type Fault, type RegistryOptions } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

const HAPPYCLOUD = parseProviderAddress('example.com/awesomesauce/happycloud');
const VERSION = parseVersion('1.2.0');
const LINUX = parsePlatform('linux_amd64');
const PROVIDERS = [
  { address: 'awesomesauce/happycloud', version: '0.1.0', protocols: ['1.0'] },
  { address: 'awesomesauce/happycloud', version: '2.0.0', protocols: ['99.0'] },
  { address: 'awesomesauce/happycloud', version: '1.2.0', protocols: ['5.0'] },
  { address: 'awesomesauce/happycloud', version: '1.0.0', protocols: ['5.0'] },
];

interface Setting {
  readonly registry: EmbeddedRegistry;
  readonly client: RegistryClient;
}

async function setting(t: TestContext, options: RegistryOptions = {}, clientOptions: RegistryClientOptions = {}): Promise<Setting> {
  const registry = await startRegistry({ providers: PROVIDERS, ...options });
  const client = new RegistryClient({ environment: {}, hosts: registry.hosts('example.com'), ...clientOptions, http: { retries: 3, backoffMs: 1, ...clientOptions.http } });
  t.after(async () => {
    await client.close();
    await registry.close();
  });
  return { registry, client };
}

function metadata(client: RegistryClient, platform = LINUX): Promise<PackageMetadata> {
  return client.package(HAPPYCLOUD, VERSION, platform);
}

test('versions come sorted, whatever the order of the server', async (t) => {
  const { registry, client } = await setting(t, { warnings: ['moved to example.net'] });
  const { versions, warnings } = await client.versions(HAPPYCLOUD);
  assert.deepEqual(versions.map(({ version, protocols }) => [String(version), ...protocols]), [['0.1.0', '1.0'], ['1.0.0', '5.0'], ['1.2.0', '5.0'], ['2.0.0', '99.0']]);
  assert.deepEqual(warnings, ['moved to example.net']);
  const { headers, path } = registry.requestLog[0] ?? {};
  assert.equal(path, '/v1/providers/awesomesauce/happycloud/versions');
  assert.match(String(headers?.['user-agent']), /^rwx-cache\//u);
  assert.match(String(headers?.['x-terraform-version']), /^\d+\.\d+\.\d+$/u);
  assert.equal(headers?.authorization, undefined);
});

test('a host without providers, and one with another version of them', async (t) => {
  const client = new RegistryClient({ environment: {}, hosts: { 'not.example.com': {}, 'too-new.example.com': { 'providers.v99': 'http://127.0.0.1:9/' } } });
  t.after(() => client.close());
  await assert.rejects(client.versions(parseProviderAddress('not.example.com/foo/bar')), (error) => error instanceof ServiceNotProvidedError && error.otherVersions.length === 0);
  await assert.rejects(client.versions(parseProviderAddress('too-new.example.com/foo/bar')), (error) => error instanceof ServiceNotProvidedError && error.otherVersions.join() === 'providers.v99');
});

test('a provider that the registry does not know', async (t) => {
  const { client } = await setting(t);
  await assert.rejects(client.versions(parseProviderAddress('example.com/nonexist/nonexist')), (error) => error instanceof ProviderNotFoundError && error.address === 'example.com/nonexist/nonexist');
});

test('401 and 403 say whether a token was sent', async (t) => {
  const { client } = await setting(t, { token: 'right' });
  await assert.rejects(client.versions(HAPPYCLOUD), (error) => error instanceof UnauthorizedError && !error.hadCredentials && error.hostname === 'example.com');
  const { registry, client: wrong } = await setting(t, { token: 'right' }, { credentials: { 'example.com': { token: 'wrong-token' } } });
  await assert.rejects(metadata(wrong), (error) => error instanceof UnauthorizedError && error.hadCredentials && !error.message.includes('wrong-token'));
  registry.faults.inject({ on: 'versions', status: 403 });
  await assert.rejects(wrong.versions(HAPPYCLOUD), UnauthorizedError);
  assert.equal(registry.count('versions'), 1, 'a refusal is not retried');
});

test('429 with Retry-After and 500 twice are waited out', async (t) => {
  const { registry, client } = await setting(t, { faults: [{ on: 'versions', status: 429, headers: { 'retry-after': '1' }, times: 1 }, { on: 'versions', status: 500, times: 2 }] });
  const began = performance.now();
  assert.equal((await client.versions(HAPPYCLOUD)).versions.length, 4);
  assert.equal(registry.count('versions'), 4);
  assert.ok(performance.now() - began >= 1000, 'Retry-After was obeyed');
});

test('500 for ever is an error that says how often it was tried', async (t) => {
  const { client } = await setting(t, { faults: [{ on: 'versions', status: 500 }] });
  await assert.rejects(client.versions(HAPPYCLOUD), (error) => error instanceof HttpStatusError && error.status === 500 && error.attempts === 4);
});

test('a connection that is closed for ever is a network error', async (t) => {
  const { registry, client } = await setting(t, { faults: [{ on: 'versions', destroy: true }] });
  await assert.rejects(client.versions(HAPPYCLOUD), (error) => error instanceof NetworkError && error.attempts === 4);
  assert.equal(registry.count('versions'), 4);
});

test('malformed answers name URL and field', async (t) => {
  const bad: [Omit<Fault, 'on'>, string][] = [
    [{ body: '<html>' }, ''],
    [{ body: '{"versions": [' }, ''],
    [{ body: 'null' }, ''],
    [{ json: () => ({ versions: [{ version: 1 }] }) }, 'versions[0].version'],
  ];
  for (const [fault, path] of bad) {
    const { registry, client } = await setting(t, { faults: [{ on: 'versions', times: 1, ...fault }] });
    await assert.rejects(client.versions(HAPPYCLOUD), (error) => error instanceof RegistryResponseError && error.field === path && error.url === `${registry.origin}/v1/providers/awesomesauce/happycloud/versions`);
    assert.equal((await client.versions(HAPPYCLOUD)).versions.length, 4);
  }
});

test('an endless answer is cut off', async (t) => {
  const { client } = await setting(t, { faults: [{ on: 'versions', body: `"${'x'.repeat(17 << 20)}"`, chunked: true }] });
  await assert.rejects(client.versions(HAPPYCLOUD), (error) => error instanceof ResponseTooLargeError && error.limitBytes === 16 << 20);
});

test('a base without a final slash loses its last segment', async (t) => {
  const { registry } = await setting(t);
  const client = new RegistryClient({ environment: {}, hosts: { 'example.com': { 'providers.v1': `${registry.origin}/v1/providers?x#y` } } });
  t.after(() => client.close());
  await assert.rejects(client.versions(HAPPYCLOUD), ProviderNotFoundError);
  assert.equal(registry.requestLog[0]?.path, '/v1/awesomesauce/happycloud/versions');
});

test('package metadata has absolute URLs and the key that signed', async (t) => {
  const { registry, client } = await setting(t);
  const found = await metadata(client);
  assert.equal(found.filename, 'terraform-provider-happycloud_1.2.0_linux_amd64.zip');
  assert.equal(found.downloadUrl, `${registry.origin}/releases/awesomesauce/happycloud/1.2.0/linux_amd64.zip`);
  assert.equal(found.checksumsUrl, `${registry.origin}/releases/awesomesauce/happycloud/1.2.0/SHA256SUMS`);
  assert.equal(found.signatureUrl, `${registry.origin}/releases/awesomesauce/happycloud/1.2.0/SHA256SUMS.sig`);
  assert.match(found.signingKeys[0]?.asciiArmor ?? '', /^-----BEGIN PGP PUBLIC KEY BLOCK-----/u);
  assert.equal(registry.requestLog[0]?.path, '/v1/providers/awesomesauce/happycloud/1.2.0/download/linux/amd64');
});

test('build metadata stays as it is in the URL', async (t) => {
  const { registry, client } = await setting(t, { providers: [{ address: 'awesomesauce/happycloud', version: '1.2.0+a.b' }] });
  assert.equal(String((await client.package(HAPPYCLOUD, parseVersion('1.2.0+a.b'), LINUX)).version), '1.2.0+a.b');
  assert.equal(registry.requestLog[0]?.path, '/v1/providers/awesomesauce/happycloud/1.2.0+a.b/download/linux/amd64');
});

test('a platform that is not offered', async (t) => {
  const { client } = await setting(t);
  await assert.rejects(metadata(client, parsePlatform('nonexist_amd64')), (error) => error instanceof PlatformNotSupportedError && error.platform === 'nonexist_amd64' && error.version === '1.2.0');
});

test('a package of another protocol names the closest version that will do', async (t) => {
  const { client } = await setting(t);
  for (const version of ['0.1.0', '2.0.0']) {
    await assert.rejects(client.package(HAPPYCLOUD, parseVersion(version), LINUX), (error) => error instanceof ProtocolNotSupportedError && error.closest === '1.2.0' && error.version === version);
  }
  const { client: hopeless } = await setting(t, { providers: [{ address: 'awesomesauce/happycloud', version: '1.2.0', protocols: ['0.1'] }] });
  await assert.rejects(metadata(hopeless), (error) => error instanceof ProtocolNotSupportedError && error.closest === undefined && error.protocols.join() === '0.1');
});

test('metadata that is not of the package asked for is refused', async (t) => {
  const bad: [Record<string, unknown>, string][] = [
    [{ os: 'darwin' }, 'os'],
    [{ arch: 'arm64' }, 'arch'],
    [{ shasum: 'a'.repeat(63) }, 'shasum'],
    [{ download_url: 'ftp://example.com/x.zip' }, 'download_url'],
    [{ shasums_url: '' }, 'shasums_url'],
  ];
  const { registry, client } = await setting(t);
  for (const [change, path] of bad) {
    registry.faults.inject({ on: 'metadata', times: 1, json: (document) => ({ ...document, ...change }) });
    await assert.rejects(metadata(client), (error) => error instanceof RegistryResponseError && error.field === path);
  }
  assert.equal((await metadata(client)).filename, 'terraform-provider-happycloud_1.2.0_linux_amd64.zip');
});

test('a file name that would climb out is never used: the zip goes where the caller says', async (t) => {
  const { client } = await setting(t, { providers: [{ address: 'awesomesauce/happycloud', version: '1.2.0', filename: '../../../../tmp/climbed.zip' }] });
  const path = join(await withTemporaryDirectory(t), 'package.zip');
  const found = await metadata(client);
  assert.equal(found.filename, '../../../../tmp/climbed.zip');
  const { sha256, bytes } = await client.download(found, path);
  const written = await readFile(path);
  assert.equal(written.length, bytes);
  assert.equal(createHash('sha256').update(written).digest('hex'), sha256);
  assert.equal(sha256, found.shasum);
});

test('the checksums come with their signature, or without one that nobody has', async (t) => {
  const { registry, client } = await setting(t);
  const found = await metadata(client);
  const { sums, signature } = await client.checksums(found);
  assert.equal(Buffer.from(sums).toString(), `${found.shasum}  ${found.filename}\n`);
  assert.deepEqual(Buffer.from(signature ?? []), Buffer.from(registry.releases[2]?.signature ?? []));
  registry.faults.inject({ on: 'signature', status: 404 });
  assert.equal((await client.checksums(found)).signature, undefined);
  const before = registry.count('signature');
  assert.equal((await client.checksums({ ...found, signatureUrl: undefined })).signature, undefined);
  assert.equal(registry.count('signature'), before);
});

test('checksums that cannot be had are an error, and the other request is given up', async (t) => {
  const { registry, client } = await setting(t, { faults: [{ on: 'sums', status: 404 }, { on: 'signature', silent: true }] });
  await assert.rejects(client.checksums(await metadata(client)), (error) => error instanceof HttpStatusError && error.status === 404);
  registry.faults.heal();
  registry.faults.inject({ on: 'sums', body: 'x'.repeat(5 << 20) });
  await assert.rejects(client.checksums(await metadata(client)), (error) => error instanceof ResponseTooLargeError && error.limitBytes === 4 << 20);
  registry.faults.heal();
  registry.faults.inject({ on: 'signature', status: 500 });
  await assert.rejects(client.checksums(await metadata(client)), (error) => error instanceof HttpStatusError && error.attempts === 4, 'only 404 means that there is none');
});

test('an announced size reveals a body that was cut where nothing else does', async (t) => {
  const { registry, client } = await setting(t, { providers: [{ address: 'awesomesauce/happycloud', version: '1.2.0', packages: true }] });
  const directory = await withTemporaryDirectory(t);
  const found = await metadata(client);
  registry.faults.inject({ on: 'zip', closeDelimited: true, truncateAt: 100 });
  await assert.rejects(client.download(found, join(directory, 'cut')), (error) => error instanceof DownloadIncompleteError && error.receivedBytes <= 100);
  registry.faults.heal();
  registry.faults.inject({ on: 'zip', closeDelimited: true, truncateAt: 100, times: 1 });
  assert.equal((await client.download(found, join(directory, 'retried'))).sha256, found.shasum);
  // A size that cannot be right is left to verification.
  const lie = { ...found, packages: new Map([['linux_amd64', { hashes: [], size: -200 }]]) };
  assert.equal((await client.download(lie, join(directory, 'lie'))).sha256, found.shasum);
});

test('a zip that is never there, and one in an encoding that nobody asked for', async (t) => {
  const { registry, client } = await setting(t, { faults: [{ on: 'zip', status: 500 }] });
  const directory = await withTemporaryDirectory(t);
  const found = await metadata(client);
  await assert.rejects(client.download(found, join(directory, 'never')), (error) => error instanceof HttpStatusError && error.status === 500 && error.attempts === 4);
  registry.faults.heal();
  registry.faults.inject({ on: 'zip', gzip: true });
  await assert.rejects(client.download(found, join(directory, 'packed')), (error) => error instanceof NetworkError && error.phase === 'body');
});

test('progress is told, and an abort ends a download at once', async (t) => {
  const { client } = await setting(t, { faults: [{ on: 'zip', stallAt: 50 }] });
  const path = join(await withTemporaryDirectory(t), 'zip');
  const leaving = new AbortController();
  const download = client.download(await metadata(client), path, { signal: leaving.signal, onProgress: ({ totalBytes }) => {
    assert.ok((totalBytes ?? 0) > 50);
    leaving.abort(new Error('left'));
  } });
  await assert.rejects(download, /left/u);
});

test('an abort ends every call with its own reason', async (t) => {
  const { client } = await setting(t, { faults: [{ on: 'versions', silent: true }, { on: 'metadata', silent: true, after: 1 }, { on: 'sums', silent: true }] });
  const found = await metadata(client);
  for (const call of [(signal: AbortSignal) => client.versions(HAPPYCLOUD, { signal }), (signal: AbortSignal) => client.package(HAPPYCLOUD, VERSION, LINUX, { signal }), (signal: AbortSignal) => client.checksums(found, { signal })]) {
    const leaving = new AbortController();
    const waiting = call(leaving.signal);
    setTimeout(() => { leaving.abort(new Error('left')); }, 20);
    await assert.rejects(waiting, /left/u);
    await assert.rejects(call(AbortSignal.abort(new Error('before'))), /before/u);
  }
});

test('closing ends what still runs, and may be repeated', async (t) => {
  const { client } = await setting(t, { faults: [{ on: 'versions', silent: true }] });
  const waiting = client.versions(HAPPYCLOUD);
  setTimeout(() => void client.close(), 20);
  await assert.rejects(waiting, NetworkError);
  await client.close();
  await client[Symbol.asyncDispose]();
});
