import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegistryResponseError } from '../../src/errors.ts';
import { parseJson } from '../../src/registry/json-guards.ts';
import { closestUsable, parseVersionList, type VersionList } from '../../src/registry/version-list.ts';

function listOf(document: unknown): VersionList {
  return parseVersionList(parseJson(JSON.stringify(document), 'https://example.com/versions'));
}

function closest(versions: Record<string, readonly string[]>): string | undefined {
  const version = closestUsable(listOf({ versions: Object.entries(versions).map(([version, protocols]) => ({ version, protocols })) }));
  return version === undefined ? undefined : String(version);
}

// The provider of the reference's own fake registry (registry_client_test.go), in the order in which it is served.
const HAPPYCLOUD = { '0.1.0': ['1.0'], '2.0.0': ['99.0'], '1.2.0': ['5.0'], '1.0.0': ['5.0'] };

test('versions are sorted by precedence, and the order of the server is ignored', () => {
  const { versions } = listOf({ versions: Object.entries(HAPPYCLOUD).map(([version, protocols]) => ({ version, protocols, platforms: [{ os: 'linux', arch: 'amd64' }] })) });
  assert.deepEqual(versions.map(({ version, protocols }) => [String(version), ...protocols]), [['0.1.0', '1.0'], ['1.0.0', '5.0'], ['1.2.0', '5.0'], ['2.0.0', '99.0']]);
  const order = listOf({ versions: ['1.0.0', '10.0.0', '1.0.0-rc.1', '2.0.0', '1.0.0-alpha.1', '1.0.0-beta'].map((version) => ({ version })) });
  assert.deepEqual(order.versions.map(({ version }) => String(version)), ['1.0.0-beta', '1.0.0-alpha.1', '1.0.0-rc.1', '1.0.0', '2.0.0', '10.0.0']);
});

test('no versions and a warning are no error', () => {
  assert.deepEqual(listOf({ versions: [], warnings: ['this provider is weaksauce'] }), { versions: [], warnings: ['this provider is weaksauce'] });
  assert.deepEqual(listOf({ versions: null, warnings: null }), { versions: [], warnings: [] });
  assert.deepEqual(listOf({}), { versions: [], warnings: [] });
});

test('duplicates collapse, and versions that do not parse are left out', () => {
  const { versions } = listOf({ versions: [{ version: '1.0.0' }, { version: 'v2.0.0' }, { version: '1.0', protocols: ['5.0'] }, { version: 'latest' }, { version: '1.2.3.4' }] });
  assert.deepEqual(versions.map(({ version, protocols }) => [String(version), ...protocols]), [['1.0.0', '5.0']]);
});

test('a malformed list names the field', () => {
  const table: [unknown, string][] = [
    [[], ''],
    [{ versions: 'all' }, 'versions'],
    [{ versions: [{ version: '1.0.0' }, { version: 2 }] }, 'versions[1].version'],
    [{ versions: [{}] }, 'versions[0].version'],
    [{ versions: ['1.0.0'] }, 'versions[0]'],
    [{ versions: [{ version: '1.0.0', protocols: '5.0' }] }, 'versions[0].protocols'],
    [{ versions: [{ version: '1.0.0', protocols: [5] }] }, 'versions[0].protocols[0]'],
    [{ versions: [], warnings: [{}] }, 'warnings[0]'],
  ];
  for (const [document, path] of table) {
    assert.throws(() => listOf(document), (error) => error instanceof RegistryResponseError && error.field === path, JSON.stringify(document));
  }
});

test('the closest usable version is the newest that speaks protocol 5 or 6', () => {
  assert.equal(closest(HAPPYCLOUD), '1.2.0');
  assert.equal(closest({ '1.0.0': ['6.0'] }), '1.0.0');
  assert.equal(closest({ '1.0.0': ['4.0', '5.1'] }), '1.0.0');
  assert.equal(closest({ '1.0.0': ['0.1'] }), undefined);
  assert.equal(closest({ '1.0.0': ['7.0'], '2.0.0': ['not a version'] }), undefined);
  assert.equal(closest({}), undefined);
});
