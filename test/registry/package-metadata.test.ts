import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegistryResponseError } from '../../src/errors.ts';
import { parsePlatform, parseProviderAddress, parseVersion } from '../../src/layout/index.ts';
import { parseJson, type JsonValue } from '../../src/registry/json-guards.ts';
import { parsePackageMetadata, parseProtocols, type PackageMetadata } from '../../src/registry/package-metadata.ts';

const REQUEST = { address: parseProviderAddress('example.com/awesomesauce/happycloud'), version: parseVersion('1.2.0'), platform: parsePlatform('linux_amd64') };
const METADATA_URL = 'https://example.com/providers/v1/awesomesauce/happycloud/1.2.0/download/linux/amd64';
const SHASUM = `${'0'.repeat(58)}00f00d`;

// The answer of the reference's own fake registry (registry_client_test.go).
const GOOD = {
  protocols: ['5.0'],
  os: 'linux',
  arch: 'amd64',
  filename: 'happycloud_1.2.0.zip',
  shasum: SHASUM,
  download_url: '/pkg/awesomesauce/happycloud_1.2.0.zip',
  shasums_url: '/pkg/awesomesauce/happycloud_1.2.0_SHA256SUMS',
  shasums_signature_url: '/pkg/awesomesauce/happycloud_1.2.0_SHA256SUMS.sig',
  signing_keys: { gpg_public_keys: [{ key_id: 'ABCD', ascii_armor: 'key', source: 'Example', source_url: null }] },
  unknown_field: true,
};

function json(document: unknown): JsonValue {
  return parseJson(JSON.stringify(document), 'https://example.com/meta');
}

function parse(changes: Record<string, unknown> = {}, metadataUrl = METADATA_URL): PackageMetadata {
  return parsePackageMetadata(json({ ...GOOD, ...changes }), REQUEST, metadataUrl);
}

function refused(changes: Record<string, unknown>, path: string): void {
  assert.throws(() => parse(changes), (error) => error instanceof RegistryResponseError && error.field === path, JSON.stringify(changes).slice(0, 200));
}

test('a good answer is read in full', () => {
  assert.deepEqual(parse(), {
    ...REQUEST,
    metadataUrl: 'https://example.com/meta',
    protocols: ['5.0'],
    filename: 'happycloud_1.2.0.zip',
    downloadUrl: 'https://example.com/pkg/awesomesauce/happycloud_1.2.0.zip',
    shasum: SHASUM,
    checksumsUrl: 'https://example.com/pkg/awesomesauce/happycloud_1.2.0_SHA256SUMS',
    signatureUrl: 'https://example.com/pkg/awesomesauce/happycloud_1.2.0_SHA256SUMS.sig',
    signingKeys: [{ keyId: 'ABCD', asciiArmor: 'key', trustSignature: '', source: 'Example', sourceUrl: '' }],
    packages: undefined,
  });
});

test('URLs resolve against where the metadata came from in the end', () => {
  const metadata = parse({ download_url: 'happy.zip?X-Signature=s', shasums_url: '//mirror.example.net/SUMS', shasums_signature_url: 'http://plain.example.net/sig' }, 'https://cdn.example.net/a/b?c');
  assert.equal(metadata.downloadUrl, 'https://cdn.example.net/a/happy.zip?X-Signature=s');
  assert.equal(metadata.checksumsUrl, 'https://mirror.example.net/SUMS');
  assert.equal(metadata.signatureUrl, 'http://plain.example.net/sig');
});

test('the platform must be the one that was asked for', () => {
  refused({ os: 'darwin' }, 'os');
  refused({ arch: 'arm64' }, 'arch');
  refused({ os: 'Linux' }, 'os');
  refused({ os: undefined }, 'os');
  refused({ arch: ['amd64'] }, 'arch');
});

test('the checksum is 64 hex digits, in either case', () => {
  assert.equal(parse({ shasum: 'ABCDEF'.repeat(10) + '0123' }).shasum, 'abcdef'.repeat(10) + '0123');
  for (const shasum of ['a'.repeat(63), 'a'.repeat(65), `${'a'.repeat(63)}g`, '', null, 7]) refused({ shasum }, 'shasum');
});

test('a URL must be there, be one, and be http or https; only the signature may be missing', () => {
  for (const name of ['download_url', 'shasums_url']) {
    for (const url of ['', null, undefined, 'ftp://example.com/x', 'file:///etc/passwd', 'http:x', 'a b', 5]) refused({ [name]: url }, name);
  }
  for (const url of ['ftp://example.com/x', 'http:x', 5]) refused({ shasums_signature_url: url }, 'shasums_signature_url');
  for (const url of ['', null, undefined]) assert.equal(parse({ shasums_signature_url: url }).signatureUrl, undefined);
});

test('the checks come in the order of the reference', () => {
  refused({ os: 'darwin', arch: 'arm64', download_url: '', shasum: '' }, 'os');
  refused({ arch: 'arm64', download_url: '', shasum: '' }, 'arch');
  refused({ download_url: '', shasum: '' }, 'download_url');
});

test('a file name is data: whatever it holds is handed on as it is', () => {
  for (const filename of ['../../../etc/cron.d/x.zip', '/absolute.zip', 'a\\b.zip', 'nul\u0000.zip']) assert.equal(parse({ filename }).filename, filename);
  for (const filename of ['', null, 5]) refused({ filename }, 'filename');
});

test('signing keys may be absent, and keep their order', () => {
  for (const signing_keys of [undefined, null, {}, { gpg_public_keys: null }, { gpg_public_keys: [] }]) assert.deepEqual(parse({ signing_keys }).signingKeys, []);
  const { signingKeys } = parse({ signing_keys: { gpg_public_keys: [{ key_id: 'B', ascii_armor: 'b', trust_signature: 't' }, { key_id: 'A', ascii_armor: 'a' }] } });
  assert.deepEqual(signingKeys.map(({ keyId, asciiArmor, trustSignature }) => [keyId, asciiArmor, trustSignature]), [['B', 'b', 't'], ['A', 'a', '']]);
  refused({ signing_keys: { gpg_public_keys: [{ ascii_armor: 1 }] } }, 'signing_keys.gpg_public_keys[0].ascii_armor');
  refused({ signing_keys: [] }, 'signing_keys');
});

test('what the registry says of all packages is handed on as it is', () => {
  for (const packages of [undefined, null, {}]) assert.equal(parse({ packages }).packages, undefined);
  const { packages } = parse({ packages: { linux_amd64: { hashes: ['zh:x', 'h1:y'], package_size: 294 }, darwin_arm64: { package_size: -1 } } });
  assert.deepEqual(packages?.get('linux_amd64'), { hashes: ['zh:x', 'h1:y'], size: 294 });
  assert.deepEqual(packages.get('darwin_arm64'), { hashes: [], size: -1 });
  refused({ packages: { linux_amd64: { hashes: [], package_size: '294' } } }, 'packages["linux_amd64"].package_size');
});

test('protocols 5 and 6 are spoken, and none at all means any', () => {
  const table: [readonly string[] | undefined, boolean][] = [
    [['5.0'], true],
    [['5'], true],
    [['6.4'], true],
    [['4.0', '5.1'], true],
    [['7.0'], false],
    [['99.0'], false],
    [['4.9'], false],
    [['5.0-beta'], false],
    [[], true],
    [undefined, true],
  ];
  for (const [protocols, supported] of table) assert.equal(parseProtocols(json({ protocols })).supported, supported, String(protocols));
  assert.throws(() => parseProtocols(json({ protocols: ['5.0', 'v6'] })), (error) => error instanceof RegistryResponseError && error.field === 'protocols[1]');
});
