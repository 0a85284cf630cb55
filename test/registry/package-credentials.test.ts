/** What a zip, its checksums and their signature are asked for with: nothing, unless it is allowed, and then nobody else sees it. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CliConfigError, FileSystemError, InvalidOptionError } from '../../src/errors.ts';
import { parsePlatform, parseProviderAddress, parseVersion } from '../../src/layout/index.ts';
import { RegistryClient, type RegistryClientOptions } from '../../src/registry/index.ts';
import { startRegistry, type EmbeddedRegistry, type RegistryOptions } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

const ADDRESS = parseProviderAddress('example.com/hashicorp/null');
const [VERSION, PLATFORM] = [parseVersion('3.2.4'), parsePlatform('linux_amd64')];
const PARTS = ['zip', 'sums', 'signature'] as const;

async function registryFor(t: TestContext, options: RegistryOptions = {}): Promise<EmbeddedRegistry> {
  const registry = await startRegistry({ providers: [{ address: 'hashicorp/null', version: '3.2.4' }], ...options });
  t.after(() => registry.close());
  return registry;
}

function clientFor(t: TestContext, registry: EmbeddedRegistry, options: RegistryClientOptions = {}): RegistryClient {
  const client = new RegistryClient({ environment: { HOME: '/nonexistent' }, hosts: registry.hosts('example.com'), credentials: { 'example.com': { token: 'secret' } }, http: { retries: 0 }, ...options });
  t.after(() => client.close());
  return client;
}

/** Fetches all parts of the package, and gives what each was asked for with. */
async function shown(t: TestContext, registry: EmbeddedRegistry, client: RegistryClient): Promise<(string | undefined)[]> {
  const metadata = await client.package(ADDRESS, VERSION, PLATFORM);
  await client.checksums(metadata);
  const { file } = await client.downloadOpen(metadata, join(await withTemporaryDirectory(t), 'zip'));
  await file.handle.close();
  return PARTS.map((part) => registry.requestLog.findLast(({ route }) => route === part)?.headers.authorization);
}

function basic(login: string, password: string): string {
  return `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`;
}

async function netrc(t: TestContext, text: string): Promise<string> {
  const path = join(await withTemporaryDirectory(t), '.netrc');
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

test('nothing is sent with packages by default, not even by a .netrc at hand', async (t) => {
  const registry = await registryFor(t);
  const path = await netrc(t, 'default login me password pw');
  assert.deepEqual(await shown(t, registry, clientFor(t, registry, { environment: { NETRC: path } })), [undefined, undefined, undefined]);
});

test('with same-origin, the registry’s token goes with what lies on its own origin', async (t) => {
  const registry = await registryFor(t, { token: 'secret' });
  const client = clientFor(t, registry, { packageCredentials: 'same-origin' });
  assert.deepEqual(await shown(t, registry, client), ['Bearer secret', 'Bearer secret', 'Bearer secret']);
});

test('the token goes to no other origin, neither at once nor behind a redirect, and not back from there', async (t) => {
  const [registry, other] = [await registryFor(t), await registryFor(t)];
  const client = clientFor(t, registry, { packageCredentials: 'same-origin' });
  registry.faults.inject({ on: 'metadata', redirectTo: `${other.origin}/v1/providers/hashicorp/null/3.2.4/download/linux/amd64`, times: 1 });
  assert.deepEqual(await shown(t, other, client), [undefined, undefined, undefined]);

  registry.faults.inject({ on: 'zip', redirectTo: `${other.origin}/releases/hashicorp/null/3.2.4/linux_amd64.zip`, times: 1 });
  other.faults.inject({ on: 'zip', redirectTo: `${registry.origin}/releases/hashicorp/null/3.2.4/linux_amd64.zip`, times: 1 });
  await shown(t, registry, client);
  const zips = [...registry.requestLog, ...other.requestLog].filter(({ route }) => route === 'zip').map(({ headers }) => headers.authorization);
  assert.deepEqual(zips.sort(), ['Bearer secret', undefined, undefined, undefined]);
});

test('a signed URL gets neither token nor password', async (t) => {
  const registry = await registryFor(t, { query: '?X-Amz-Signature=abc' });
  const path = await netrc(t, 'default login me password pw');
  for (const options of [{ packageCredentials: 'same-origin' }, { netrc: path }] as const) {
    assert.deepEqual(await shown(t, registry, clientFor(t, registry, options)), [undefined, undefined, undefined]);
  }
});

test('a package on this machine gets nothing from a registry that is elsewhere', async (t) => {
  const registry = await registryFor(t);
  const client = clientFor(t, registry, { packageCredentials: 'same-origin', hosts: { 'example.com': { 'providers.v1': 'http://registry.invalid/v1/' } } });
  const metadata = await clientFor(t, registry).package(ADDRESS, VERSION, PLATFORM);
  await client.checksums(metadata);
  assert.deepEqual(registry.requestLog.filter(({ route }) => route === 'sums').map(({ headers }) => headers.authorization), [undefined]);
});

test('.netrc gives a user and password by host and port: $NETRC, the home directory, or a file that is named', async (t) => {
  const registry = await registryFor(t);
  const path = await netrc(t, `machine ${registry.host} login me password pw\ndefault login anybody password else\n`);
  const expected = Array.from({ length: 3 }, () => basic('me', 'pw'));
  assert.deepEqual(await shown(t, registry, clientFor(t, registry, { netrc: path })), expected);
  assert.deepEqual(await shown(t, registry, clientFor(t, registry, { netrc: true, environment: { NETRC: path } })), expected);
  assert.deepEqual(await shown(t, registry, clientFor(t, registry, { netrc: true, environment: { HOME: join(path, '..') } })), expected);
  // The registry's own documents are never asked with it.
  assert.ok(registry.requestLog.filter(({ route }) => route === 'metadata').every(({ headers }) => headers.authorization === 'Bearer secret'));
  // Without a port in the entry, it is another host.
  assert.deepEqual(await shown(t, registry, clientFor(t, registry, { netrc: await netrc(t, 'machine 127.0.0.1 login me password pw') })), [undefined, undefined, undefined]);
});

test('same-origin brings .netrc with it, below the token; false keeps it away', async (t) => {
  const [registry, files] = [await registryFor(t), await registryFor(t)];
  const path = await netrc(t, 'default login anybody password else');
  const options = { packageCredentials: 'same-origin', environment: { NETRC: path } } as const;
  assert.deepEqual(await shown(t, registry, clientFor(t, registry, options)), ['Bearer secret', 'Bearer secret', 'Bearer secret']);
  const elsewhere = { on: 'metadata', redirectTo: `${files.origin}/v1/providers/hashicorp/null/3.2.4/download/linux/amd64` } as const;
  registry.faults.inject(elsewhere);
  assert.deepEqual(await shown(t, files, clientFor(t, registry, options)), Array.from({ length: 3 }, () => basic('anybody', 'else')));
  assert.deepEqual(await shown(t, files, clientFor(t, registry, { ...options, netrc: false })), [undefined, undefined, undefined]);
});

test('a file that is named has to be there, and a malformed one is an error with its place and without its words', async (t) => {
  const registry = await registryFor(t);
  await assert.rejects(shown(t, registry, clientFor(t, registry, { netrc: '/nonexistent/.netrc' })), (error) => error instanceof FileSystemError && error.systemCode === 'ENOENT');
  assert.deepEqual(await shown(t, registry, clientFor(t, registry, { netrc: true })), [undefined, undefined, undefined]);
  const path = await netrc(t, 'machine example.com login me\n  password two words\n');
  const client = clientFor(t, registry, { netrc: path });
  await assert.rejects(shown(t, registry, client), (error) => error instanceof CliConfigError && error.path === path && error.line === 2 && error.column === 16 && !error.message.includes('words'));
  // Once it is mended it is read again.
  await writeFile(path, 'machine example.com login me password two');
  assert.deepEqual(await shown(t, registry, client), [undefined, undefined, undefined]);
});

test('options that are none are refused', () => {
  for (const options of [{ packageCredentials: 'all' }, { netrc: '' }, { netrc: 1 }]) assert.throws(() => new RegistryClient(options as RegistryClientOptions), InvalidOptionError);
});
