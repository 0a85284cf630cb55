import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { RegistryClient } from '../../../src/registry/index.ts';
import { parsePlatform, parseProviderAddress, parseVersion } from '../../../src/layout/index.ts';
import { checkSources } from '../../../src/registry/sources/checked.ts';
import { multiSource, type PackageSources } from '../../../src/registry/sources/multi-source.ts';
import type { ArchiveUrlOffer } from '../../../src/registry/sources/source.ts';
import { createCertificate } from '../../support/certificate.ts';
import { startServer, type Route } from '../../support/http-server.ts';
import { json, startMirror, type TestMirror } from '../../support/network-mirror.ts';
import { withTemporaryDirectory } from '../../support/temp.ts';
import { makeZip } from '../../support/zip.ts';
import type { RegistryClientOptions } from '../../../src/registry/index.ts';

const ADDRESS = 'registry.example.com/acme/thing';
const ZIP = makeZip({ 'terraform-provider-thing': 'x' });
const WANTED = { address: parseProviderAddress(ADDRESS), version: parseVersion('1.0.0'), platform: parsePlatform('linux_amd64') };

async function withMirror(t: TestContext): Promise<TestMirror> {
  return startMirror(t, [{ address: ADDRESS, version: '1.0.0', platform: 'linux_amd64', zip: ZIP }, { address: ADDRESS, version: '1.0.0', platform: 'darwin_arm64', zip: ZIP, hashes: ['h1:AAAA', 'zz:1'] }]);
}

function sourcesOf(t: TestContext, url: string, options: RegistryClientOptions = {}, trustAllHashes = false): PackageSources {
  const registry = new RegistryClient({ environment: {}, ...options, http: { retries: 0, ...options.http } });
  t.after(() => registry.close());
  return multiSource(checkSources([{ type: 'network_mirror', url, trustAllHashes }], { defaultHost: 'x.example' }), { registry });
}

async function offerOf(sources: PackageSources, wanted = WANTED): Promise<ArchiveUrlOffer> {
  return sources.withOffer(wanted, {}, (offer) => {
    assert.ok(offer.kind === 'archive-url');
    return Promise.resolve(offer);
  });
}

/** The error that the mirror itself gave. */
async function answerOf(call: Promise<unknown>): Promise<Error & { code?: string }> {
  const error = await call.then(() => assert.fail('it succeeded'), (reason: unknown) => reason as Error & { code?: string });
  return error.code === 'ERR_NO_SOURCE' ? (error.cause as Error) : error;
}

describe('a network mirror', () => {
  it('is asked by the protocol: punycode host with its port, normalised names, json', async (t) => {
    const mirror = await startMirror(t, [{ address: 'xn--bcher-kva.example:8443/acme/thing', version: '1.0.0+build.1', platform: 'linux_amd64', zip: ZIP }]);
    const sources = sourcesOf(t, mirror.url);
    const address = parseProviderAddress('bücher.example:8443/Acme/Thing');
    const { versions } = await sources.versions(address);
    assert.deepEqual(versions.map(({ version }) => String(version)), ['1.0.0+build.1']);
    const offer = await offerOf(sources, { ...WANTED, address, version: parseVersion('1.0.0+build.1') });
    assert.equal(offer.url, `${mirror.url}xn--bcher-kva.example:8443/acme/thing/1.0.0+build.1_linux_amd64.zip`);
    assert.deepEqual(mirror.requests.map(({ path }) => path), ['/m/xn--bcher-kva.example:8443/acme/thing/index.json', '/m/xn--bcher-kva.example:8443/acme/thing/1.0.0+build.1.json']);
    const [first] = mirror.requests;
    assert.ok(first !== undefined);
    assert.equal(first.headers.accept, 'application/json');
    assert.match(String(first.headers['x-terraform-version']), /^\d/u);
  });

  it('is asked below its base without its last segment, when that does not end in a slash', async (t) => {
    const mirror = await withMirror(t);
    assert.equal((await sourcesOf(t, `${mirror.url}ignored`).versions(WANTED.address)).versions.length, 1);
  });

  it('gets its own token with its documents, and nothing with its zips', async (t) => {
    const mirror = await withMirror(t);
    const directory = await withTemporaryDirectory(t);
    const sources = sourcesOf(t, mirror.url, { credentials: { [`127.0.0.1:${mirror.port}`]: { token: 'mirror-token' }, 'registry.example.com': { token: 'registry-token' } } });
    await sources.versions(WANTED.address);
    const { file, sha256 } = await (await offerOf(sources)).download(join(directory, 'zip'), {});
    await file.handle.close();
    assert.equal(sha256.length, 64);
    assert.deepEqual(mirror.requests.map(({ headers }) => headers.authorization), ['Bearer mirror-token', 'Bearer mirror-token', undefined]);
  });

  it('sends its token nowhere else', async (t) => {
    const mirror = await withMirror(t);
    const other = await startServer(t, { '/index.json': json({ versions: { '2.0.0': {} } }) });
    mirror.routes[mirror.path(ADDRESS, 'index.json')] = { status: 302, headers: { location: `${other.origin}/index.json` } };
    const sources = sourcesOf(t, mirror.url, { credentials: { [`127.0.0.1:${mirror.port}`]: { token: 'mirror-token' } } });
    assert.equal((await sources.versions(WANTED.address)).versions.length, 1);
    assert.equal(other.requests[0]?.headers.authorization, undefined);
  });

  it('may give a zip relative to where its document was found, after redirects, or elsewhere', async (t) => {
    const mirror = await withMirror(t);
    const place = mirror.path(ADDRESS, '1.0.0.json');
    mirror.routes[place] = { status: 302, headers: { location: '/other/place/doc.json' } };
    for (const [url, absolute] of [['../x.zip?sig=1', `${mirror.origin}/other/x.zip?…`], ['/x.zip', `${mirror.origin}/x.zip`], ['https://cdn.example.com/x.zip', 'https://cdn.example.com/x.zip']] as const) {
      mirror.routes['/other/place/doc.json'] = json({ archives: { linux_amd64: { url } } });
      assert.equal((await offerOf(sourcesOf(t, mirror.url))).url, absolute);
    }
  });

  it('says what it lists, and lets a lock file have it only where it is trusted for that', async (t) => {
    const mirror = await withMirror(t);
    const offer = await offerOf(sourcesOf(t, mirror.url));
    assert.equal(offer.hashes.length, 1);
    assert.deepEqual(offer.trustedHashes, []);
    const trusted = await offerOf(sourcesOf(t, mirror.url, {}, true));
    assert.deepEqual([...trusted.trustedHashes].sort(), ['h1:AAAA', String(offer.hashes[0])].sort());
  });

  it('lists versions of which the malformed ones are left out', async (t) => {
    const mirror = await withMirror(t);
    mirror.routes[mirror.path(ADDRESS, 'index.json')] = json({ versions: { '2.0.0': {}, 'v1': {}, '10.0.0': {}, '': {} } });
    const { versions } = await sourcesOf(t, mirror.url).versions(WANTED.address);
    assert.deepEqual(versions.map(({ version }) => String(version)), ['2.0.0', '10.0.0']);
  });

  it('asks for a version at once; a 404 there is a miss where the index does not list it', async (t) => {
    const mirror = await withMirror(t);
    const sources = sourcesOf(t, mirror.url);
    const error = await answerOf(offerOf(sources, { ...WANTED, version: parseVersion('3.0.0') }));
    assert.equal(error.code, 'ERR_PLATFORM_NOT_SUPPORTED');
    assert.match(error.message, /network_mirror http/u);
    assert.deepEqual(mirror.requests.map(({ path }) => path.split('/').at(-1)), ['3.0.0.json', 'index.json']);
  });

  const loop: Route = { status: 302, headers: { location: 'index.json' } };
  const failing: readonly (readonly [string, 'index.json' | '1.0.0.json', Route, string, RegExp])[] = [
    ['404 for the index', 'index.json', { status: 404 }, 'ERR_PROVIDER_NOT_FOUND', /network_mirror/u],
    ['401', 'index.json', { status: 401 }, 'ERR_UNAUTHORIZED', /127\.0\.0\.1:\d+ asks for credentials/u],
    ['403', '1.0.0.json', { status: 403 }, 'ERR_UNAUTHORIZED', /asks for credentials/u],
    ['500', 'index.json', { status: 500 }, 'ERR_HTTP_STATUS', /500/u],
    ['a loop', 'index.json', loop, 'ERR_REDIRECT', /more than 5/u],
    ['another content type', 'index.json', { headers: { 'content-type': 'text/html' }, body: '{"versions":{}}' }, 'ERR_REGISTRY_RESPONSE', /text\/html/u],
    ['no content type', '1.0.0.json', { body: '{}' }, 'ERR_REGISTRY_RESPONSE', /without a content type/u],
    ['no JSON', 'index.json', { headers: { 'content-type': 'application/json' }, body: '<html>' }, 'ERR_REGISTRY_RESPONSE', /not JSON/u],
    ['a list of versions', 'index.json', json({ versions: ['1.0.0'] }), 'ERR_REGISTRY_RESPONSE', /versions: an object/u],
    ['a version that the index lists, and 404 for its document', '1.0.0.json', { status: 404 }, 'ERR_REGISTRY_RESPONSE', /the index lists this version/u],
    ['no such platform', '1.0.0.json', json({ archives: { windows_amd64: { url: 'x.zip' } } }), 'ERR_PLATFORM_NOT_SUPPORTED', /linux_amd64/u],
    ['an archive without a URL', '1.0.0.json', json({ archives: { linux_amd64: {} } }), 'ERR_REGISTRY_RESPONSE', /url: it is missing/u],
    ['an archive at no URL', '1.0.0.json', json({ archives: { linux_amd64: { url: 'ftp://x/y' } } }), 'ERR_REGISTRY_RESPONSE', /ftp/u],
    ['only hashes that nobody can check', '1.0.0.json', json({ archives: { linux_amd64: { url: 'x.zip', hashes: ['zz:1', 'h9:2'] } } }), 'ERR_REGISTRY_RESPONSE', /none of the 2/u],
    ['a hash without a scheme', '1.0.0.json', json({ archives: { linux_amd64: { url: 'x.zip', hashes: ['abc'] } } }), 'ERR_REGISTRY_RESPONSE', /"abc" is not a hash/u],
    ['an archive over plain http that nothing pins', '1.0.0.json', json({ archives: { linux_amd64: { url: 'http://cdn.example.com/x.zip' } } }), 'ERR_ACCESS_POLICY', /lists no hash/u],
    ['a redirect to another machine over plain http', 'index.json', { status: 302, headers: { location: 'http://mirror.example.com/index.json' } }, 'ERR_ACCESS_POLICY', /plain http/u],
  ];
  for (const [name, document, route, code, says] of failing) {
    it(`answers ${name}: ${code}`, async (t) => {
      const mirror = await withMirror(t);
      mirror.routes[mirror.path(ADDRESS, document)] = route;
      const sources = sourcesOf(t, mirror.url);
      const error = await answerOf(document === 'index.json' ? sources.versions(WANTED.address) : offerOf(sources));
      assert.equal(error.code, code, error.message);
      assert.match(error.message, says);
    });
  }

  it('says that its token was refused, where it had one', async (t) => {
    const mirror = await withMirror(t);
    mirror.routes[mirror.path(ADDRESS, 'index.json')] = { status: 401 };
    const sources = sourcesOf(t, mirror.url, { credentials: { [`127.0.0.1:${mirror.port}`]: { token: 'old' } } });
    await assert.rejects(sources.versions(WANTED.address), { code: 'ERR_UNAUTHORIZED', hadCredentials: true });
  });

  it('follows five redirects', async (t) => {
    const mirror = await withMirror(t);
    mirror.routes[mirror.path(ADDRESS, 'index.json')] = { status: 302, headers: { location: '/hop/1' } };
    for (let hop = 1; hop < 5; hop += 1) mirror.routes[`/hop/${hop}`] = { status: 307, headers: { location: `/hop/${hop + 1}` } };
    mirror.routes['/hop/5'] = json({ versions: { '1.0.0': {} } });
    assert.equal((await sourcesOf(t, mirror.url).versions(WANTED.address)).versions.length, 1);
  });

  it('over TLS does not follow to plain http', async (t) => {
    const certificate = await createCertificate(t);
    if (certificate === undefined) return;
    const mirror = await startMirror(t, [{ address: ADDRESS, version: '1.0.0', platform: 'linux_amd64', zip: ZIP }], certificate);
    const http = { ca: certificate.certificate };
    assert.equal((await sourcesOf(t, mirror.url, { http }).versions(WANTED.address)).versions.length, 1);
    await assert.rejects(sourcesOf(t, mirror.url).versions(WANTED.address), { code: 'ERR_NETWORK', phase: 'tls' });
    mirror.routes[mirror.path(ADDRESS, 'index.json')] = { status: 302, headers: { location: `http://127.0.0.1:${mirror.port}/` } };
    await assert.rejects(sourcesOf(t, mirror.url, { http }).versions(WANTED.address), { code: 'ERR_REDIRECT', reason: 'downgrade' });
  });
});
