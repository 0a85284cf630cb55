import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseProviderAddress } from '../../../src/layout/index.ts';
import { checkSources, isDirectOnly } from '../../../src/registry/sources/checked.ts';
import { providerMatcher } from '../../../src/registry/sources/patterns.ts';
import type { ProviderSource, SourcePatterns } from '../../../src/registry/index.ts';

const DEFAULT = 'registry.opentofu.org';

describe('the patterns of a source', () => {
  const matching: readonly (readonly [SourcePatterns, Readonly<Record<string, boolean>>])[] = [
    [{}, { 'hashicorp/aws': true, 'example.com/a/b': true }],
    [{ include: [], exclude: [] }, { 'hashicorp/aws': true }],
    [{ include: ['hashicorp/aws'] }, { 'hashicorp/aws': true, 'hashicorp/null': false, 'example.com/hashicorp/aws': false }],
    [{ include: ['hashicorp/*'] }, { 'hashicorp/aws': true, 'acme/aws': false, 'example.com/hashicorp/aws': false }],
    [{ include: ['*/*'] }, { 'hashicorp/aws': true, 'example.com/acme/aws': false }],
    [{ include: ['*/*/*'] }, { 'hashicorp/aws': true, 'example.com/acme/aws': true }],
    [{ include: ['example.com/*/*'] }, { 'hashicorp/aws': false, 'example.com/acme/aws': true, 'example.com:8443/acme/aws': false }],
    [{ include: ['Example.COM:443/Acme/AWS'] }, { 'example.com/acme/aws': true }],
    [{ include: ['bücher.example/*/*'] }, { 'bücher.example/acme/aws': true }],
    [{ include: ['*/*/*'], exclude: ['acme/*'] }, { 'acme/aws': false, 'hashicorp/aws': true }],
    [{ include: ['acme/aws'], exclude: ['acme/aws'] }, { 'acme/aws': false }],
    [{ exclude: ['example.com/*/*'] }, { 'example.com/acme/aws': false, 'acme/aws': true }],
  ];
  for (const [patterns, expected] of matching) {
    it(JSON.stringify(patterns), () => {
      const matches = providerMatcher(patterns, 'sources[0]', DEFAULT);
      for (const [address, is] of Object.entries(expected)) assert.equal(matches(parseProviderAddress(address)), is, address);
    });
  }

  it('of two segments are of the default host', () => {
    const matches = providerMatcher({ include: ['acme/*'] }, 'x', 'registry.example.com');
    assert.ok(matches(parseProviderAddress('registry.example.com/acme/aws')));
    assert.ok(!matches(parseProviderAddress('acme/aws')));
  });

  for (const bad of ['', 'aws', 'a/b/c/d', '*/aws', '*/hashicorp/aws', '*/hashicorp/*', 'exa_mple.com/a/b', 'a//b', 'a_b/c', 'acme/x*', 'https://example.com/a/b']) {
    it(`are refused where they are none: ${JSON.stringify(bad)}`, () => {
      assert.throws(() => providerMatcher({ include: ['a/b', bad] }, 'sources[2]', DEFAULT), { code: 'ERR_INVALID_OPTION', option: 'sources[2].include[1]' });
    });
  }
});

describe('sources', () => {
  const check = (...sources: ProviderSource[]): unknown => checkSources(sources, { defaultHost: DEFAULT });

  it('are named without secrets, and by absolute paths', () => {
    const named = checkSources(
      [{ type: 'direct' }, { type: 'network_mirror', url: 'https://user:secret@Mirror.example.com/p/?token=secret' }, { type: 'filesystem_mirror', path: '/a/../m' }, { type: 'oci_mirror', repositoryTemplate: 'example.com/${type}' }],
      { defaultHost: DEFAULT },
    ).map(({ description }) => description.location);
    assert.deepEqual(named, [undefined, 'https://mirror.example.com/p/?…', '/m', 'example.com/${type}']);
  });

  it('that are none are refused by name', () => {
    assert.throws(() => check({ type: 'ftp' } as never), { option: 'sources[0].type' });
    assert.throws(() => check({ type: 'direct' }, null as never), { option: 'sources[1]' });
    assert.throws(() => checkSources('direct' as never, { defaultHost: DEFAULT }), { option: 'sources' });
    assert.throws(() => check({ type: 'network_mirror', url: 'mirror.example.com' }), { option: 'sources[0].url' });
    assert.throws(() => check({ type: 'network_mirror', url: 'file:///m/' }), { option: 'sources[0].url' });
    assert.throws(() => check({ type: 'filesystem_mirror', path: '' }), { option: 'sources[0].path' });
    assert.throws(() => check({ type: 'oci_mirror' } as never), { option: 'sources[0].repositoryTemplate' });
    assert.throws(() => check({ type: 'direct', include: 'a/b' as never }), { option: 'sources[0].include' });
    assert.throws(() => checkSources([], { defaultHost: DEFAULT, insecureMirrors: 'x' as never }), { option: 'insecureMirrors' });
  });

  it('over plain http are refused, unless they are this machine or named', () => {
    const http: ProviderSource = { type: 'network_mirror', url: 'http://Mirror.test:8080/m/' };
    assert.throws(() => check(http), { code: 'ERR_ACCESS_POLICY', url: 'http://mirror.test:8080/m/' });
    for (const url of ['http://127.0.0.1:1/', 'http://localhost/', 'http://[::1]:5/']) check({ type: 'network_mirror', url });
    checkSources([http], { defaultHost: DEFAULT, insecureMirrors: ['mirror.TEST:8080'] });
    assert.throws(() => checkSources([http], { defaultHost: DEFAULT, insecureMirrors: ['mirror.test'] }), { code: 'ERR_ACCESS_POLICY' });
  });

  it('of one plain direct are as good as none', () => {
    const only = (...sources: ProviderSource[]): boolean => isDirectOnly(checkSources(sources, { defaultHost: DEFAULT }));
    assert.ok(only({ type: 'direct', include: [] }));
    assert.ok(!only({ type: 'direct', exclude: ['a/b'] }));
    assert.ok(!only({ type: 'direct' }, { type: 'direct' }));
    assert.ok(!only());
  });
});
