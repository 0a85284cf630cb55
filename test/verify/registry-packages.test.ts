import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RegistryResponseError } from '../../src/errors.ts';
import { checkRegistryPackages, type ReportedPackage } from '../../src/verify/index.ts';

const SHASUM = '086119a26576d06b8281a97e8644380da89ce16197cd955f74ea5ee664e9358b';
const H1 = 'h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=';
const GOOD: ReportedPackage = { hashes: [`zh:${SHASUM}`, H1], size: 294 };

function check(packages: Readonly<Record<string, ReportedPackage>> | undefined): string[] {
  return checkRegistryPackages({
    packages: packages === undefined ? undefined : new Map(Object.entries(packages)),
    platform: 'linux_amd64',
    shasum: SHASUM,
    archiveBytes: 294,
    url: 'https://registry.example.com/v1/providers/a/b/1.0.0/download/linux/amd64',
  });
}

describe('checkRegistryPackages', () => {
  it('passes what says nothing, and reports nothing', () => {
    assert.deepEqual(check(undefined), []);
    assert.deepEqual(check({}), []);
  });

  it('reports the hashes of every platform', () => {
    assert.deepEqual(check({ linux_amd64: GOOD }), [`zh:${SHASUM}`, H1]);
    assert.deepEqual(check({ darwin_arm64: { hashes: ['h1:other'], size: 1 }, linux_amd64: GOOD }), ['h1:other', `zh:${SHASUM}`, H1]);
  });

  const bad: readonly [string, Record<string, ReportedPackage>, field: string][] = [
    ['another platform only', { darwin_arm64: GOOD }, 'packages.linux_amd64'],
    ['a size that is none', { linux_amd64: { ...GOOD, size: -200 } }, 'packages.linux_amd64.package_size'],
    ['no size', { linux_amd64: { ...GOOD, size: 0 } }, 'packages.linux_amd64.package_size'],
    ['half a byte', { linux_amd64: { ...GOOD, size: 294.5 } }, 'packages.linux_amd64.package_size'],
    ['another size', { linux_amd64: { ...GOOD, size: 295 } }, 'packages.linux_amd64.package_size'],
    ['another zh', { linux_amd64: { ...GOOD, hashes: ['zh:superduperincorrect', H1] } }, 'packages.linux_amd64.hashes'],
    ['no zh', { linux_amd64: { ...GOOD, hashes: [H1] } }, 'packages.linux_amd64.hashes'],
    ['the zh in upper case', { linux_amd64: { ...GOOD, hashes: [`zh:${SHASUM.toUpperCase()}`] } }, 'packages.linux_amd64.hashes'],
  ];
  for (const [what, packages, field] of bad) {
    it(`refuses ${what}`, () => {
      assert.throws(() => check(packages), (error: unknown) => {
        assert.ok(error instanceof RegistryResponseError);
        assert.equal(error.field, field);
        return true;
      });
    });
  }
});
