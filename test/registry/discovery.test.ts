import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { DiscoveryError, HttpStatusError, InvalidHostnameError, NetworkError, RedirectError, ResponseTooLargeError, ServiceNotProvidedError } from '../../src/errors.ts';
import { RegistryClient, type RegistryClientOptions } from '../../src/registry/index.ts';
import { createCertificate, type Certificate } from '../support/certificate.ts';
import { startRegistry, type EmbeddedRegistry, type Fault, type RegistryOptions } from '../support/registry/index.ts';

const FAST = { backoffMs: 1, retries: 2 };

interface Setting {
  readonly registry: EmbeddedRegistry;
  readonly client: RegistryClient;
  readonly certificate: Certificate;
}

/** A registry over real https, and a client that trusts it; `undefined` (and the test skipped) where there is no openssl. */
async function setting(t: TestContext, options: RegistryOptions = {}, clientOptions: RegistryClientOptions = {}): Promise<Setting | undefined> {
  const certificate = await createCertificate(t);
  if (certificate === undefined) return undefined;
  const registry = await startRegistry({ ...options, tls: certificate });
  const client = new RegistryClient({ environment: {}, ...clientOptions, http: { ...FAST, ...clientOptions.http, ca: certificate.certificate } });
  t.after(async () => {
    await client.close();
    await registry.close();
  });
  return { registry, client, certificate };
}

async function refuses(t: TestContext, fault: Omit<Fault, 'on'>, check: (error: DiscoveryError) => boolean, requests = 1, options: RegistryClientOptions = {}): Promise<void> {
  const { registry, client } = (await setting(t, {}, options)) ?? {};
  if (registry === undefined || client === undefined) return;
  registry.faults.inject({ on: 'discovery', ...fault });
  await assert.rejects(client.discover(registry.host), (error) => error instanceof DiscoveryError && error.hostname === registry.host && check(error));
  assert.equal(registry.count('discovery'), requests);
  // No error is remembered.
  registry.faults.heal();
  assert.equal((await client.discover(registry.host)).serviceUrl('providers.v1').href, `${registry.origin}/v1/providers/`);
}

test('a document with a length', async (t) => {
  const { registry, client } = (await setting(t)) ?? {};
  if (registry === undefined || client === undefined) return;
  assert.equal((await client.discover(registry.host)).serviceUrl('providers.v1').href, `${registry.origin}/v1/providers/`);
  assert.equal(registry.requestLog[0]?.headers.accept, 'application/json');
});

test('a document in chunks', async (t) => {
  const { registry, client } = (await setting(t, { faults: [{ on: 'discovery', chunked: true }] })) ?? {};
  if (registry === undefined || client === undefined) return;
  assert.deepEqual((await client.discover(registry.host)).ids, ['providers.v1']);
});

test('a success is remembered, and callers who come together make one request', async (t) => {
  const { registry, client } = (await setting(t)) ?? {};
  if (registry === undefined || client === undefined) return;
  const all = await Promise.all(Array.from({ length: 20 }, () => client.discover(registry.host.toUpperCase())));
  assert.equal(new Set(all).size, 1);
  assert.equal(await client.discover(registry.host), all[0]);
  assert.equal(registry.count('discovery'), 1);
});

test('an abort ends one caller alone, at once', async (t) => {
  const { registry, client } = (await setting(t, { faults: [{ on: 'discovery', delayMs: 300, times: 1 }] })) ?? {};
  if (registry === undefined || client === undefined) return;
  const leaving = new AbortController();
  const left = client.discover(registry.host, { signal: leaving.signal });
  const stayed = client.discover(registry.host);
  leaving.abort(new Error('left'));
  await assert.rejects(left, /left/u);
  assert.deepEqual((await stayed).ids, ['providers.v1']);
  assert.equal(registry.count('discovery'), 1);
  await assert.rejects(client.discover(registry.host, { signal: AbortSignal.abort(new Error('before')) }), /before/u);
});

test('parameters of the content type are ignored', async (t) => {
  const { registry, client } = (await setting(t, { faults: [{ on: 'discovery', headers: { 'content-type': 'Application/JSON ; charset=latin-1' } }] })) ?? {};
  if (registry === undefined || client === undefined) return;
  assert.deepEqual((await client.discover(registry.host)).ids, ['providers.v1']);
});

test('404 means no services, and is asked again the next time', async (t) => {
  const { registry, client } = (await setting(t, { faults: [{ on: 'discovery', status: 404, times: 1 }] })) ?? {};
  if (registry === undefined || client === undefined) return;
  const services = await client.discover(registry.host);
  assert.deepEqual(services.ids, []);
  assert.throws(() => services.serviceUrl('providers.v1'), (error) => error instanceof ServiceNotProvidedError && error.otherVersions.length === 0);
  assert.deepEqual((await client.discover(registry.host)).ids, ['providers.v1']);
});

test('a host with another version only is asked again the next time', async (t) => {
  const { registry, client } = (await setting(t, { faults: [{ on: 'discovery', json: () => ({ 'providers.v99': '/v99/' }), times: 1 }] })) ?? {};
  if (registry === undefined || client === undefined) return;
  const services = await client.discover(registry.host);
  assert.throws(() => services.serviceUrl('providers.v1'), (error) => error instanceof ServiceNotProvidedError && error.otherVersions.join() === 'providers.v99');
  assert.deepEqual((await client.discover(registry.host)).ids, ['providers.v1']);
});

test('another content type is refused', (t) => refuses(t, { headers: { 'content-type': 'application/octet-stream' } }, (error) => error.message.includes('application/octet-stream')));
test('a missing content type is refused', (t) => refuses(t, { headers: { 'content-type': '' } }, (error) => error.message.includes('without a content type')));
test('a content type that only begins like JSON is refused', (t) => refuses(t, { headers: { 'content-type': 'application/json+x' } }, (error) => error.message.includes('application/json+x')));
test('truncated JSON is refused', (t) => refuses(t, { body: '{"providers.v1": "/v1/' }, (error) => error.message.includes('not JSON')));
test('a page instead of JSON is refused', (t) => refuses(t, { body: '<!DOCTYPE html><title>Log in</title>' }, (error) => error.message.includes('not JSON')));
test('a document that is no object is refused', (t) => refuses(t, { body: '["providers.v1"]' }, (error) => error.message.includes('not a JSON object')));
test('2 MiB with a length are refused', (t) => refuses(t, { body: `{"a":"${'x'.repeat(2 << 20)}"}` }, (error) => error.cause instanceof ResponseTooLargeError && error.cause.limitBytes === 1 << 20));
test('2 MiB without a length are refused', (t) => refuses(t, { body: `{"a":"${'x'.repeat(2 << 20)}"}`, chunked: true }, (error) => error.cause instanceof ResponseTooLargeError));
test('a redirect loop is refused', (t) => refuses(t, { redirectTo: '/.well-known/terraform.json' }, (error) => error.cause instanceof RedirectError && error.cause.reason === 'too-many', 6));
test('a redirect to http is refused', (t) => refuses(t, { redirectTo: 'http://127.0.0.1:9/terraform.json' }, (error) => error.cause instanceof RedirectError && error.cause.reason === 'downgrade'));
test('another status is an error, and a token is asked about where that may be it', (t) => refuses(t, { status: 401 }, (error) => error.cause instanceof HttpStatusError && error.cause.status === 401 && error.message.includes('token')));
test('500 is an error after all retries', (t) => refuses(t, { status: 500 }, (error) => error.cause instanceof HttpStatusError && error.cause.attempts === 3, 3));
test('a closed connection is a network error after all retries', (t) => refuses(t, { destroy: true }, (error) => error.cause instanceof NetworkError && error.cause.attempts === 3, 3));
test('silence is a network error after all retries', (t) =>
  refuses(t, { silent: true }, (error) => error.cause instanceof NetworkError && error.cause.phase === 'headers', 3, { http: { headersTimeoutMs: 100 } }));

test('discovery is retried like everything else', async (t) => {
  const faults: Fault[] = [{ on: 'discovery', status: 429, headers: { 'retry-after': '0' }, times: 1 }, { on: 'discovery', status: 503, times: 1 }];
  const { registry, client } = (await setting(t, { faults })) ?? {};
  if (registry === undefined || client === undefined) return;
  assert.deepEqual((await client.discover(registry.host)).ids, ['providers.v1']);
  assert.equal(registry.count('discovery'), 3);
});

test('the final URL after redirects is the base, and the token stays behind', async (t) => {
  const first = await setting(t, { token: 'abc123' });
  if (first === undefined) return;
  const second = await startRegistry({ tls: first.certificate, services: { 'providers.v1': './providers/' } });
  t.after(() => second.close());
  const client = new RegistryClient({ environment: {}, credentials: { [first.registry.host]: { token: 'abc123' } }, http: { ...FAST, ca: first.certificate.certificate } });
  t.after(() => client.close());
  first.registry.faults.inject({ on: 'discovery', redirectTo: `${second.origin}/.well-known/terraform.json` });
  const services = await client.discover(first.registry.host);
  assert.equal(services.serviceUrl('providers.v1').href, `${second.origin}/.well-known/providers/`);
  assert.equal(first.registry.requestLog[0]?.headers.authorization, 'Bearer abc123');
  assert.equal(second.requestLog[0]?.headers.authorization, undefined);
});

test('a certificate that nobody vouches for is refused without a retry', async (t) => {
  const { registry } = (await setting(t)) ?? {};
  if (registry === undefined) return;
  const client = new RegistryClient({ environment: {}, http: FAST });
  t.after(() => client.close());
  await assert.rejects(client.discover(registry.host), (error) => error instanceof DiscoveryError && error.cause instanceof NetworkError && error.cause.phase === 'tls' && error.cause.attempts === 1);
});

test('services that are given by hand are never asked for', async (t) => {
  const client = new RegistryClient({
    environment: {},
    hosts: { 'Example.com': { 'thingy.v1': 'http://example.net/foo', 'wotsit.v2': '/foo' }, 'empty.example.com': {} },
    http: FAST,
  });
  t.after(() => client.close());
  const services = await client.discover('example.com');
  assert.equal(services.serviceUrl('thingy.v1').href, 'http://example.net/foo');
  assert.equal(services.serviceUrl('wotsit.v2').href, 'https://example.com/foo');
  assert.equal(services.discoveryUrl, 'https://example.com/.well-known/terraform.json');
  const empty = await client.discover('empty.example.com');
  assert.throws(() => empty.serviceUrl('providers.v1'), ServiceNotProvidedError);
});

test('a host that no URL can have is refused', async (t) => {
  const client = new RegistryClient({ environment: {}, http: FAST });
  t.after(() => client.close());
  for (const host of ['example.com:-1', '1.2.3', 'not a host', '', 'https://example.com']) await assert.rejects(client.discover(host), InvalidHostnameError, host);
});
