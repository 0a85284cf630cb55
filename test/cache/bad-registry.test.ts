import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCertificate } from '../support/certificate.ts';
import { zipName, type Fault } from '../support/registry/index.ts';
import { failsCleanly, recovers, SECRET, withScene, type FailureCase } from './failure.ts';
import { HOST, THING, treeOf } from './support.ts';

/** What one request for a document is answered with. */
type BadAnswer = FailureCase & { readonly fault: Omit<Fault, 'on'> };

const TWO_MIB = Buffer.from(`{"providers.v1":"/v1/providers/","padding":"${'x'.repeat(2 * 1024 * 1024)}"}`);

describe('a registry whose discovery fails', { concurrency: 8 }, () => {
  const document = (fault: Omit<Fault, 'on'>, name: string, says: RegExp, cause?: FailureCase['cause']): BadAnswer => ({ name, fault, code: 'ERR_DISCOVERY', says, cause });
  const cases: BadAnswer[] = [
    { name: '404', fault: { status: 404 }, code: 'ERR_SERVICE_NOT_PROVIDED', fields: { service: 'providers.v1', otherVersions: [] }, says: /does not offer providers\.v1/u },
    document({ body: '<html>Log in</html>' }, 'not JSON', /not JSON/u, 'ERR_REGISTRY_RESPONSE'),
    document({ body: '[]' }, 'JSON, but no object', /not a JSON object/u),
    document({ headers: { 'content-type': 'text/html' } }, 'another content type', /text\/html/u),
    document({ headers: { 'content-type': '' } }, 'no content type', /content type/u),
    document({ bytes: () => TWO_MIB }, '2 MiB', /larger than 1048576 bytes/u, 'ERR_RESPONSE_TOO_LARGE'),
    document({ bytes: () => TWO_MIB, chunked: true }, '2 MiB without a length', /larger than 1048576 bytes/u, 'ERR_RESPONSE_TOO_LARGE'),
    document({ redirectTo: '/.well-known/terraform.json' }, 'a redirect loop', /more than 5/u, 'ERR_REDIRECT'),
    document({ redirectTo: 'http://127.0.0.1:1/.well-known/terraform.json' }, 'a redirect to http', /from https to http/u, 'ERR_REDIRECT'),
    document({ status: 503 }, '503 and again 503', /503/u, 'ERR_HTTP_STATUS'),
    document({ destroy: true }, 'no answer at all', /could not be read/u, 'ERR_NETWORK'),
    {
      name: 'only another version of the service',
      fault: { body: '{"providers.v2":"/v2/","modules.v1":"/m/"}' },
      code: 'ERR_SERVICE_NOT_PROVIDED',
      fields: { service: 'providers.v1', otherVersions: ['providers.v2'] },
      says: /only providers\.v2/u,
    },
  ];

  it('fails with what is wrong and where, and is asked again', { concurrency: 8 }, async (t) => {
    const certificate = await createCertificate(t);
    if (certificate === undefined) return;
    const results = cases.map(({ name, fault, ...expected }) =>
      t.test(name, async (each) => {
        const scene = await withScene(each, { registry: { tls: certificate, token: undefined, faults: [{ on: 'discovery', ...fault }] }, cache: { hosts: {}, http: { ca: certificate.certificate, backoffMs: 1 } } });
        const { host } = scene.registry;
        const request = { ...THING, source: `${host}/acme/thing` };
        const error = await failsCleanly(scene, { ...expected, fields: { hostname: host, ...expected.fields } }, request);
        assert.ok(error.message.includes(host));
        await recovers(scene, 'installed', request);
      }),
    );
    await Promise.all(results);
  });

  it('does no harm while it is only slow to come up: 429, then 500 twice', async (t) => {
    const certificate = await createCertificate(t);
    if (certificate === undefined) return;
    const faults: Fault[] = [
      { on: 'discovery', status: 429, headers: { 'retry-after': '0' }, times: 1 },
      { on: 'discovery', status: 500, times: 2 },
    ];
    const scene = await withScene(t, { registry: { tls: certificate, token: undefined, faults }, cache: { hosts: {}, http: { ca: certificate.certificate, backoffMs: 1 } } });
    assert.equal((await scene.cache.ensure({ ...THING, source: `${scene.registry.host}/acme/thing` })).outcome, 'installed');
    assert.equal(scene.registry.count('discovery'), 4);
  });
});

/** Constraints have to be resolved, so the list of versions is asked for. */
const NEWEST = { ...THING, version: '~> 1.0' };
const ADDRESS = `${HOST}/acme/thing`;

describe('a registry whose list of versions is bad', { concurrency: 8 }, () => {
  const malformed = (name: string, body: string, field: string): BadAnswer => ({ name, fault: { body }, code: 'ERR_REGISTRY_RESPONSE', fields: { field }, says: /acme\/thing\/versions sent an answer that is not of the protocol/u });
  const cases: BadAnswer[] = [
    { name: '404', fault: { status: 404 }, code: 'ERR_PROVIDER_NOT_FOUND', fields: { address: ADDRESS }, says: /no provider registry\.example\.com\/acme\/thing/u },
    { name: '401', fault: { status: 401 }, code: 'ERR_UNAUTHORIZED', fields: { hostname: HOST, hadCredentials: true }, says: /registry\.example\.com refused the credentials/u },
    { name: '403', fault: { status: 403 }, code: 'ERR_UNAUTHORIZED', fields: { hostname: HOST, hadCredentials: true }, says: /registry\.example\.com refused the credentials/u },
    { name: '429 for ever', fault: { status: 429, headers: { 'retry-after': '7' } }, code: 'ERR_HTTP_STATUS', fields: { status: 429, attempts: 4, retryAfterMs: 7000 }, says: /versions answered 429 \(4 attempts\)/u },
    { name: '500 for ever', fault: { status: 500 }, code: 'ERR_HTTP_STATUS', fields: { status: 500, attempts: 4 }, says: /versions answered 500 \(4 attempts\)/u },
    { name: 'no connection', fault: { destroy: true }, code: 'ERR_NETWORK', fields: { attempts: 4, phase: 'headers' }, says: /versions could not be read/u },
    malformed('not JSON', '<html>', ''),
    malformed('JSON of another shape', '{"versions":{"1.2.3":{}}}', 'versions'),
    malformed('a version without a number', '{"versions":[{"version":"1.0.0"},{"protocols":["5.0"]}]}', 'versions[1].version'),
    { name: 'no versions', fault: { body: '{"versions":[]}' }, code: 'ERR_VERSION_NOT_FOUND', fields: { address: ADDRESS, constraints: '~> 1.0', available: [] }, says: /No version of registry\.example\.com\/acme\/thing/u },
  ];
  for (const { name, fault, ...expected } of cases) {
    it(name, async (t) => {
      const scene = await withScene(t, { registry: { faults: [{ on: 'versions', ...fault }] } });
      await failsCleanly(scene, expected, NEWEST);
      await recovers(scene, 'installed', NEWEST);
    });
  }

  it('401 without a token: it says that one is wanted', async (t) => {
    const scene = await withScene(t, { cache: { credentials: {} } });
    await failsCleanly(scene, { code: 'ERR_UNAUTHORIZED', fields: { hostname: HOST, hadCredentials: false }, says: /registry\.example\.com asks for credentials/u }, NEWEST);
  });

  const passing: readonly (readonly [string, readonly Omit<Fault, 'on'>[], number])[] = [
    ['429 with Retry-After in seconds', [{ status: 429, headers: { 'retry-after': '1' }, times: 1 }], 2],
    ['429 with Retry-After as a date', [{ status: 429, headers: { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, times: 1 }], 2],
    ['500 twice', [{ status: 500, times: 2 }], 3],
    ['a connection that is lost twice', [{ destroy: true, times: 2 }], 3],
  ];
  for (const [name, faults, requests] of passing) {
    it(`${name}, and then good: installed`, async (t) => {
      const { cache, registry } = await withScene(t, { registry: { faults: faults.map((fault) => ({ on: 'versions', ...fault })) } });
      assert.equal((await cache.ensure(NEWEST)).outcome, 'installed');
      assert.equal(registry.count('versions'), requests);
    });
  }
});

describe('a registry whose package metadata is bad', { concurrency: 8 }, () => {
  const changed = (name: string, field: string, value: unknown, says: RegExp): BadAnswer => ({
    name,
    fault: { json: (document) => ({ ...document, [field]: value }) },
    code: 'ERR_REGISTRY_RESPONSE',
    fields: { field },
    says,
  });
  const cases: BadAnswer[] = [
    changed('another os', 'os', 'darwin', /os: .*darwin.*linux/u),
    changed('another arch', 'arch', 'arm64', /arch: .*arm64.*amd64/u),
    changed('a checksum of 63 digits', 'shasum', 'a'.repeat(63), /shasum: 64 hex digits are expected, and 63/u),
    changed('a checksum that is no hex', 'shasum', 'x'.repeat(64), /shasum: 64 hex digits/u),
    changed('no file name', 'filename', undefined, /filename/u),
    changed('a zip at no URL', 'download_url', 'http://[', /download_url/u),
    changed('a zip at a file', 'download_url', 'file:///etc/passwd', /download_url/u),
    changed('checksums nowhere', 'shasums_url', '', /shasums_url/u),
    { name: 'not JSON', fault: { body: 'nothing' }, code: 'ERR_REGISTRY_RESPONSE', fields: { field: '' }, says: /1\.2\.3\/download\/linux\/amd64 sent an answer/u },
    { name: '404', fault: { status: 404 }, code: 'ERR_PLATFORM_NOT_SUPPORTED', fields: { address: ADDRESS, version: '1.2.3', platform: 'linux_amd64' }, says: /no package of \S*acme\/thing 1\.2\.3 for linux_amd64/u },
    {
      name: 'a plugin protocol of another time',
      fault: { json: (document) => ({ ...document, protocols: ['4.0'] }) },
      code: 'ERR_PROTOCOL_NOT_SUPPORTED',
      fields: { protocols: ['4.0'], closest: '1.2.3' },
      says: /acme\/thing 1\.2\.3 speaks plugin protocol 4\.0/u,
    },
    {
      name: 'a file name that climbs out, and that nobody signed',
      fault: { json: (document) => ({ ...document, filename: '../../../../escaped.zip' }) },
      code: 'ERR_CHECKSUMS_INVALID',
      fields: { filename: '../../../../escaped.zip' },
      says: /no line for it/u,
    },
  ];
  for (const { name, fault, ...expected } of cases) {
    it(name, async (t) => {
      const scene = await withScene(t, { registry: { faults: [{ on: 'metadata', ...fault }] } });
      await failsCleanly(scene, expected);
      await recovers(scene);
    });
  }

  it('a signed file name that climbs out is a name and no path', async (t) => {
    const filename = `../../../../${zipName({ address: 'acme/thing', version: '1.2.3' }, 'linux_amd64')}`;
    const scene = await withScene(t, { registry: { providers: [{ address: 'acme/thing', version: '1.2.3', filename }] } });
    await recovers(scene);
    const zips = (await treeOf(scene.directory)).filter((path) => path.endsWith('.zip'));
    assert.deepEqual(zips, []);
  });

  it('sends the token with metadata, and never with the zip, the checksums or the signature', async (t) => {
    const scene = await withScene(t);
    await recovers(scene);
    const told = scene.registry.requestLog.filter(({ headers }) => headers.authorization === `Bearer ${SECRET}`).map(({ route }) => route);
    assert.deepEqual([...new Set(told)], ['metadata']);
  });
});
