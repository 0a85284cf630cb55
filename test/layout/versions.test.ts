import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { InvalidVersionError } from '../../src/errors.ts';
import { compareVersions, parseVersion, type Version } from '../../src/layout/index.ts';
import { comparePrecedence } from '../../src/layout/versions.ts';
import { anyVersion } from './arbitraries.ts';
import { SORTED_VERSIONS, VERSIONS } from './vectors.ts';

function refused(given: string): void {
  assert.throws(
    () => parseVersion(given),
    (error) => error instanceof InvalidVersionError && error.given === given,
    JSON.stringify(given),
  );
}

describe('parseVersion', () => {
  it('answers what the reference clients answer', () => {
    for (const { given, out } of VERSIONS) {
      if (out === null) refused(given);
      else assert.equal(parseVersion(given).toString(), out, given);
    }
  });

  it('refuses everything else', () => {
    for (const given of ['', ' ', 'v1.0.0', '1.0.0 ', '1.', '.1', '1..2', '1.x', '*', '1.0.0-ä', '1.0.0+', '1.0.0-a/b', '1.0.0-\n', '1.0.0\n', '~> 1.0', '-1.0.0', '1,0']) refused(given);
  });

  it('holds numbers of 64 bits exactly, and refuses greater ones at once', () => {
    assert.equal(parseVersion('18446744073709551615.9007199254740993.0').toString(), '18446744073709551615.9007199254740993.0');
    assert.equal(parseVersion(`${'0'.repeat(100)}1`).toString(), '1.0.0');
    refused('18446744073709551616.0.0');
    refused(`1.0.${'9'.repeat(1_000_000)}`);
  });

  it('gives its parts, and a text to JSON', () => {
    const version = parseVersion('1.2.3-beta.1+build.5');
    assert.deepEqual([version.major, version.minor, version.patch, version.prerelease, version.metadata], [1n, 2n, 3n, 'beta.1', 'build.5']);
    assert.equal(JSON.stringify({ version }), '{"version":"1.2.3-beta.1+build.5"}');
    assert.throws(() => Object.assign(version, { major: 2n }), TypeError);
  });

  it('reads back what it prints', () => {
    fc.assert(
      fc.property(anyVersion, (text) => {
        const version = parseVersion(text);
        assert.deepEqual(parseVersion(version.toString()), version);
        assert.equal(parseVersion(version.toString()).toString(), version.toString());
      }),
    );
  });
});

describe('compareVersions', () => {
  it('orders as the reference clients do', () => {
    const ranked = SORTED_VERSIONS.flatMap((row, rank) => row.map((text) => ({ version: parseVersion(text), rank })));
    for (const a of ranked) {
      for (const b of ranked) {
        assert.equal(Math.sign(comparePrecedence(a.version, b.version)), Math.sign(a.rank - b.rank), `${a.version.toString()} ${b.version.toString()}`);
      }
    }
    const sorted = ranked.map(({ version }) => version);
    assert.deepEqual([...sorted].reverse().sort(compareVersions).map(String), sorted.map(String));
  });

  it('compares numeric prereleases by length, then text', () => {
    const order = (a: string, b: string): number => Math.sign(compareVersions(parseVersion(a), parseVersion(b)));
    assert.equal(order('1.0.0-007', '1.0.0-12'), 1);
    assert.equal(order('1.0.0-12', '1.0.0-9'), 1);
    assert.equal(order('1.0.0-a..b', '1.0.0-a.b'), 1);
    assert.equal(order('1.0.0-999', '1.0.0-a'), -1);
    assert.equal(order('1.0.0-beta', '1.0.0-alpha.1'), -1);
    assert.equal(order('1.0.0-alpha.1', '1.0.0-alpha.1.1'), -1);
  });

  it('is a total order, and 0 only for the same version', () => {
    const sign = (a: Version, b: Version): number => Math.sign(compareVersions(a, b));
    fc.assert(
      fc.property(anyVersion.map(parseVersion), anyVersion.map(parseVersion), anyVersion.map(parseVersion), (a, b, c) => {
        assert.equal(sign(a, b) + sign(b, a), 0);
        assert.equal(sign(a, b) === 0, a.toString() === b.toString());
        if (sign(a, b) <= 0 && sign(b, c) <= 0) assert.ok(sign(a, c) <= 0, `${a.toString()} ${b.toString()} ${c.toString()}`);
      }),
      { numRuns: 5000 },
    );
  });

  it('is a total preorder without metadata', () => {
    fc.assert(
      fc.property(anyVersion.map(parseVersion), anyVersion.map(parseVersion), anyVersion.map(parseVersion), (a, b, c) => {
        assert.equal(Math.sign(comparePrecedence(a, b)) + Math.sign(comparePrecedence(b, a)), 0);
        if (comparePrecedence(a, b) <= 0 && comparePrecedence(b, c) <= 0) assert.ok(comparePrecedence(a, c) <= 0);
        if (comparePrecedence(a, b) !== 0) assert.equal(Math.sign(comparePrecedence(a, b)), Math.sign(compareVersions(a, b)));
      }),
      { numRuns: 2000 },
    );
  });
});
