import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { describe, it } from 'node:test';
import { DownloadIncompleteError } from '../../src/errors.ts';
import type { BuiltRelease, Fault, ProviderRelease } from '../support/registry/index.ts';
import { failsCleanly, recovers, withScene, type FailureCase, type Scene } from './failure.ts';

const KIB = 1024;

/** Bytes that do not compress, the same ones in every run. */
const NOISE = createCipheriv('aes-128-ctr', Buffer.alloc(16, 1), Buffer.alloc(16)).update(Buffer.alloc(1200 * KIB));

/** A package of somewhat more than a mebibyte: the download has several blocks, and the last one is not full. */
const RELEASE: ProviderRelease = { address: 'acme/thing', version: '1.2.3', files: { 'terraform-provider-thing_v1.2.3_x5': { data: NOISE, mode: 0o100755 } } };

function zipOf({ releases }: Scene['registry']): { readonly sha256: string; readonly size: number } {
  const zip = (releases[0] as BuiltRelease).packages.get('linux_amd64');
  assert.ok(zip !== undefined);
  return zip;
}

describe('a zip that is cut short', { concurrency: 8 }, () => {
  it('at every 64 KiB of an announced length: the download is incomplete', { concurrency: 8 }, async (t) => {
    const registry = { providers: [RELEASE] };
    const size = zipOf((await withScene(t, { registry })).registry).size;
    const cuts = [...Array.from({ length: Math.ceil(size / (64 * KIB)) }, (_, index) => index * 64 * KIB), size - 1];
    await Promise.all(
      cuts.map((cut) =>
        t.test(`after ${cut} bytes`, async (each) => {
          const scene = await withScene(each, { registry });
          scene.registry.faults.inject({ on: 'zip', truncateAt: cut });
          const error = await failsCleanly(scene, {
            code: 'ERR_DOWNLOAD_INCOMPLETE',
            fields: { expectedBytes: size },
            says: new RegExp(`linux_amd64\\.zip\\S* ended after \\d+ of ${size} bytes`, 'u'),
          });
          // What was in flight when the connection went is lost to the reader.
          assert.ok(error instanceof DownloadIncompleteError && error.receivedBytes <= cut);
          assert.equal(scene.registry.count('zip'), 4);
          await recovers(scene);
        }),
      ),
    );
  });

  it('where the end of the connection is the end of the body: the checksum tells', async (t) => {
    const registry = { providers: [RELEASE] };
    for (const cut of [0, 1, 64 * KIB, KIB * KIB, KIB * KIB + 1]) {
      await t.test(`after ${cut} bytes`, async (each) => {
        const scene = await withScene(each, { registry });
        scene.registry.faults.inject({ on: 'zip', truncateAt: cut, closeDelimited: true });
        const { sha256: expected } = zipOf(scene.registry);
        await failsCleanly(scene, { code: 'ERR_CHECKSUM_MISMATCH', fields: { expected }, says: new RegExp(`linux_amd64\\.zip\\S* has SHA-256 .*${cut} bytes`, 'u') });
        await recovers(scene);
      });
    }
  });

  it('the same, where the registry told the size: the download is incomplete', async (t) => {
    const scene = await withScene(t, { registry: { providers: [{ ...RELEASE, packages: true }] } });
    scene.registry.faults.inject({ on: 'zip', truncateAt: 64 * KIB, closeDelimited: true });
    const { size } = zipOf(scene.registry);
    await failsCleanly(scene, { code: 'ERR_DOWNLOAD_INCOMPLETE', fields: { expectedBytes: size, receivedBytes: 64 * KIB }, says: /ended after 65536 of \d+ bytes/u });
    await recovers(scene);
  });

  it('two times, and then whole: installed', async (t) => {
    const scene = await withScene(t, { registry: { providers: [RELEASE], faults: [{ on: 'zip', truncateAt: 700 * KIB, times: 2 }] } });
    assert.equal((await scene.cache.ensure({ source: 'registry.example.com/acme/thing', version: '1.2.3', platform: 'linux_amd64' })).outcome, 'installed');
    assert.equal(scene.registry.count('zip'), 3);
  });
});

describe('a zip that is not the one that was signed', { concurrency: 8 }, () => {
  const other = (name: string, fault: Omit<Fault, 'on'>, says: RegExp): FailureCase & { readonly fault: Omit<Fault, 'on'> } => ({ name, fault, code: 'ERR_CHECKSUM_MISMATCH', says });
  const cases: (FailureCase & { readonly fault: Omit<Fault, 'on'>; readonly requests?: number })[] = [
    other('its first byte flipped', { flipByteAt: 0 }, /linux_amd64\.zip\?… has SHA-256/u),
    other('a byte in its middle flipped', { flipByteAt: 600_000 }, /linux_amd64\.zip\?… has SHA-256/u),
    other('its last byte flipped', { bytes: (zip) => Buffer.concat([zip.subarray(0, -1), Buffer.from([1])]) }, /linux_amd64\.zip\?… has SHA-256/u),
    other('HTML instead', { body: '<html>Please log in</html>', headers: { 'content-type': 'text/html' } }, /26 bytes of text\/html/u),
    other('nothing at all', { body: '' }, /0 bytes of application\/zip/u),
    other('a length that is too short', { contentLength: 1000 }, /1000 bytes/u),
    other('bytes behind its end', { bytes: (zip) => Buffer.concat([zip, Buffer.alloc(10)]) }, /linux_amd64\.zip\?… has SHA-256/u),
    { name: 'a length that is too long', fault: { contentLength: 2_000_000, truncateAt: 10_000_000 }, code: 'ERR_DOWNLOAD_INCOMPLETE', fields: { expectedBytes: 2_000_000 }, says: /of 2000000 bytes/u, requests: 4 },
    { name: 'gzip round it', fault: { gzip: true }, code: 'ERR_NETWORK', fields: { phase: 'body', attempts: 1 }, says: /linux_amd64\.zip\?… could not be read .*encoded as "gzip"/u },
    { name: '404', fault: { status: 404 }, code: 'ERR_HTTP_STATUS', fields: { status: 404, attempts: 1 }, says: /linux_amd64\.zip\?… answered 404/u },
    { name: '503 for ever', fault: { status: 503 }, code: 'ERR_HTTP_STATUS', fields: { status: 503, attempts: 4 }, says: /answered 503 \(4 attempts\)/u, requests: 4 },
    { name: 'silence in its middle', fault: { stallAt: 100_000 }, code: 'ERR_NETWORK', fields: { phase: 'body', attempts: 4 }, says: /no byte came/u, requests: 4 },
  ];
  for (const { name, fault, requests = 1, ...expected } of cases) {
    it(name, async (t) => {
      const scene = await withScene(t, { registry: { providers: [RELEASE] }, cache: { http: { backoffMs: 1, idleTimeoutMs: 300 } } });
      scene.registry.faults.inject({ on: 'zip', ...fault });
      const actual = await failsCleanly(scene, expected);
      if (actual.code === 'ERR_CHECKSUM_MISMATCH') assert.equal((actual as unknown as { expected: string }).expected, zipOf(scene.registry).sha256);
      assert.equal(scene.registry.count('zip'), requests);
      await recovers(scene);
    });
  }

  it('a size that the registry did not announce', async (t) => {
    const scene = await withScene(t, { registry: { providers: [{ ...RELEASE, packages: true }] } });
    const { sha256, size } = zipOf(scene.registry);
    const packages = { linux_amd64: { hashes: [`zh:${sha256}`], package_size: size - 1 } };
    scene.registry.faults.inject({ on: 'metadata', json: (document) => ({ ...document, packages }) });
    await failsCleanly(scene, { code: 'ERR_RESPONSE_TOO_LARGE', fields: { limitBytes: size - 1 }, says: /linux_amd64\.zip\?… sent more than/u });
    await recovers(scene);
  });
});
