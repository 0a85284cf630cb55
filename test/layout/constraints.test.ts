import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { InvalidConstraintsError } from '../../src/errors.ts';
import { exactVersion, newestMatching, parseConstraints, parseVersion } from '../../src/layout/index.ts';
import { anyConstraints, anyVersion } from './arbitraries.ts';
import { CANONICAL_CONSTRAINTS, CONSTRAINT_MATCHES, CONSTRAINT_SYNTAX, SORTED_VERSIONS } from './vectors.ts';

function refused(given: string): void {
  assert.throws(
    () => parseConstraints(given),
    (error) => error instanceof InvalidConstraintsError && error.given === given,
    JSON.stringify(given),
  );
}

function allows(constraints: string, version: string): boolean {
  return parseConstraints(constraints).allows(parseVersion(version));
}

describe('parseConstraints', () => {
  it('accepts and refuses what the reference clients do', () => {
    for (const { given, ok, terms } of CONSTRAINT_SYNTAX) {
      if (!ok) refused(given);
      // The tables hold no duplicates, so the canonical text has as many terms as were given.
      else assert.equal(String(parseConstraints(given)).split(', ').length, terms, given);
    }
  });

  it('refuses everything else', () => {
    for (const given of [',', ', 1.0', '=> 1.0', '=< 1.0', '== 1.0', '& 1.0', '1.*', '1.x', '1.0 - 2.0', '= v1', '>=\t1', '1.0.0-ä', '> 18446744073709551616', 'garbage', '1.0.0garbage']) refused(given);
  });

  it('prints the canonical text of lock files', () => {
    for (const { given, out } of CANONICAL_CONSTRAINTS) assert.equal(String(parseConstraints(given)), out, given);
    assert.equal(String(parseConstraints('~> 1')), '~> 1.0');
    assert.equal(String(parseConstraints('~>1.2-beta')), '~> 1.2-beta');
    assert.equal(String(parseConstraints(' ')), '');
  });

  it('prints a text that decides the same', () => {
    fc.assert(
      fc.property(anyConstraints, fc.array(anyVersion, { minLength: 1, maxLength: 20 }), (text, versions) => {
        const constraints = parseConstraints(text);
        const again = parseConstraints(String(constraints));
        assert.equal(String(again), String(constraints));
        for (const version of versions.map(parseVersion)) assert.equal(again.allows(version), constraints.allows(version), version.toString());
      }),
      { numRuns: 2000 },
    );
  });
});

describe('allows', () => {
  it('decides as the reference clients do', () => {
    for (const { constraint, version, match } of CONSTRAINT_MATCHES) assert.equal(allows(constraint, version), match, `${constraint} ${version}`);
  });

  it('selects every release without constraints, but no prerelease and never 0.0.0', () => {
    assert.equal(allows('', '1.0.0'), true);
    assert.equal(allows('', '1.0.0+a'), true);
    assert.equal(allows('', '1.0.0-beta'), false);
    for (const constraints of ['', '>= 0.0.0', '0.0.0', '!= 1.0.0', '< 1']) assert.equal(allows(constraints, '0.0.0'), false, constraints);
    assert.equal(allows('< 1', '0.0.1'), true);
  });

  it('wants all terms to hold', () => {
    assert.equal(allows('1.0.0, 2.0.0', '1.0.0'), false);
    assert.equal(allows('1.0.0-beta, != 1.0.0-beta', '1.0.0-beta'), false);
    assert.equal(allows('1.0.0-beta, >= 1.0.0', '1.0.0-beta'), false);
    assert.equal(allows('1.0.0-beta+a', '1.0.0-beta'), false);
  });
});

describe('newestMatching', () => {
  const all = SORTED_VERSIONS.flat().map(parseVersion);

  it('finds the newest, in whatever order they come', () => {
    const newest = (constraints: string): string | undefined => newestMatching(all, parseConstraints(constraints))?.toString();
    assert.equal(newest(''), '10.0.0');
    assert.equal(newest('~> 2.0'), '2.0.0');
    assert.equal(newest('< 2'), '1.0.0+b');
    assert.equal(newest('1.0.0'), '1.0.0');
    assert.equal(newest('1.0.0-beta.2'), '1.0.0-beta.2');
    assert.equal(newest('> 10'), undefined);
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: all.length }), (shuffled) => {
        assert.equal(newestMatching(new Set(shuffled), parseConstraints('>= 0.1, < 2'))?.toString(), '1.0.0+b');
      }),
    );
  });
});

describe('exactVersion', () => {
  it('tells a version from constraints', () => {
    assert.equal(exactVersion('3.2.4')?.toString(), '3.2.4');
    assert.equal(exactVersion(' = 3.2-beta ')?.toString(), '3.2.0-beta');
    assert.equal(exactVersion('0.0.0')?.toString(), '0.0.0');
    for (const given of ['', '~> 5.0', '>= 1', '!= 1', '1.0.0, 1.0.0', '1.0.0, > 0', 'v1.0.0', 'latest', '1.0.0.0']) assert.equal(exactVersion(given), undefined, given);
  });

  it('reads whatever a version prints', () => {
    fc.assert(fc.property(anyVersion, (text) => { assert.deepEqual(exactVersion(text), parseVersion(text)); }));
  });
});
