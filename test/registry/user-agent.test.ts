import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { registryUserAgent } from '../../src/registry/user-agent.ts';

/** The package's own description, above this file wherever it was compiled to. */
function packageVersion(directory: string = import.meta.dirname): string {
  try {
    const { name, version } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { name?: string; version?: string };
    if (name === 'rwx-cache' && version !== undefined) return version;
  } catch {
    // Not in this directory.
  }
  assert.notEqual(directory, dirname(directory), 'there is no package.json above the tests');
  return packageVersion(dirname(directory));
}

test('the user agent has the version of the package', () => {
  assert.equal(registryUserAgent({}), `rwx-cache/${packageVersion()}`);
});

test('TF_APPEND_USER_AGENT is appended, without what a header cannot carry', () => {
  assert.match(registryUserAgent({ TF_APPEND_USER_AGENT: 'Runner/1.0 (x)' }), /^rwx-cache\/\S+ Runner\/1\.0 \(x\)$/u);
  assert.match(registryUserAgent({ TF_APPEND_USER_AGENT: ' a\r\nx-evil: b\u2028 ' }), /^rwx-cache\/\S+ a x-evil: b$/u);
  assert.match(registryUserAgent({ TF_APPEND_USER_AGENT: '  ' }), /^rwx-cache\/\S+$/u);
});
