import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BuiltRelease } from '../support/registry/index.ts';
import { buildRelease, lazySigner } from '../support/registry/releases.ts';
import { failsCleanly, recovers, serveInstead, withScene, type FailureCase, type Scene } from './failure.ts';

const RELEASE = { address: 'acme/thing', version: '1.2.3' };
const FILE = 'terraform-provider-thing_1.2.3_linux_amd64.zip';
const signer = lazySigner();

/** The release's own checksum, and the same release with other checksums: well signed, whatever they say. */
async function withSums(scene: Scene, sums: (sha256: string) => string): Promise<void> {
  const sha256 = (scene.registry.releases[0] as BuiltRelease).packages.get('linux_amd64')?.sha256 ?? '';
  serveInstead(scene.registry, await buildRelease({ ...RELEASE, sums: sums(sha256) }, signer));
}

describe('signed checksums that are of no use', { concurrency: 8 }, () => {
  const nowhere = { code: 'ERR_CHECKSUMS_INVALID', fields: { filename: FILE }, says: /of no use for terraform-provider-thing_1\.2\.3_linux_amd64\.zip: it has no line for it/u } as const;
  const cases: (FailureCase & { readonly sums: (sha256: string) => string })[] = [
    { ...nowhere, name: 'they do not name the file', sums: (sha256) => `${sha256}  terraform-provider-thing_1.2.3_darwin_arm64.zip\n` },
    { ...nowhere, name: 'they are empty', sums: () => '\n' },
    { ...nowhere, name: 'they are HTML', sums: () => '<html><body>Not found</body></html>' },
    { ...nowhere, name: 'they name a path that ends like the file', sums: (sha256) => `${sha256}  ./${FILE}\n${sha256} *${FILE}\n` },
    { name: 'they have no SHA-256 for it', sums: () => `${'a'.repeat(63)}  ${FILE}\n`, code: 'ERR_CHECKSUMS_INVALID', fields: { filename: FILE }, says: /no SHA-256/u },
    { name: 'they have another value', sums: () => `${'a'.repeat(64)}  ${FILE}\n`, code: 'ERR_CHECKSUM_MISMATCH', fields: { subject: FILE, expected: 'a'.repeat(64) }, says: /the registry and its SHA256SUMS differ/u },
    {
      name: 'they have another value first, and the right one later',
      sums: (sha256) => `${'a'.repeat(64)}  ${FILE}\n${sha256}  ${FILE}\n`,
      code: 'ERR_CHECKSUM_MISMATCH',
      fields: { expected: 'a'.repeat(64) },
      says: /the registry and its SHA256SUMS differ/u,
    },
  ];
  for (const { name, sums, ...expected } of cases) {
    it(name, async (t) => {
      const scene = await withScene(t);
      await withSums(scene, sums);
      await failsCleanly(scene, expected);
      await recovers(scene);
    });
  }

  it('they are not there: 404', async (t) => {
    const scene = await withScene(t, { registry: { faults: [{ on: 'sums', status: 404 }] } });
    await failsCleanly(scene, { code: 'ERR_HTTP_STATUS', fields: { status: 404, attempts: 1 }, says: /SHA256SUMS\?… answered 404/u });
    await recovers(scene);
  });

  it('they are endless', async (t) => {
    const scene = await withScene(t, { registry: { faults: [{ on: 'sums', bytes: () => Buffer.alloc(5 * 1024 * 1024, 'a'), chunked: true }] } });
    await failsCleanly(scene, { code: 'ERR_RESPONSE_TOO_LARGE', says: /SHA256SUMS\?… sent more than 4194304 bytes/u });
    await recovers(scene);
  });
});

describe('signed checksums that are only written in another way', { concurrency: 8 }, () => {
  const cases: readonly (readonly [string, (sha256: string) => string])[] = [
    ['blank lines', (sha256) => `\n\n${sha256}  ${FILE}\n\n  \n`],
    ['CRLF', (sha256) => `${'b'.repeat(64)}  other.zip\r\n${sha256}  ${FILE}\r\n`],
    ['upper case', (sha256) => `${sha256.toUpperCase()}  ${FILE}\n`],
    ['no line break at the end', (sha256) => `${sha256}  ${FILE}`],
    ['a tab', (sha256) => `${sha256}\t${FILE}\n`],
  ];
  for (const [name, sums] of cases) {
    it(`${name}: installed`, async (t) => {
      const { cache, registry, ...scene } = await withScene(t);
      await withSums({ cache, registry, ...scene }, sums);
      const found = await cache.ensure({ source: 'registry.example.com/acme/thing', version: '1.2.3', platform: 'linux_amd64' });
      assert.equal(found.outcome, 'installed');
      assert.equal(found.provenance.checksum, 'sums');
    });
  }
});
