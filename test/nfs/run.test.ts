/** The NFS suite where it cannot run: that is said, with what to install, and is no failure. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';

function run(environment: Readonly<Record<string, string>>, ...words: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [join(import.meta.dirname, 'run.js'), ...words], { encoding: 'utf8', env: { ...environment, NODE_TEST_CONTEXT: undefined } });
}

describe('npm run test:nfs', () => {
  it('is skipped without the packages, and names them', () => {
    const { status, stdout, stderr } = run({ PATH: '/nowhere' });
    assert.match(stdout, /^skipped: .*apt-get install user-mode-linux/u);
    assert.match(stdout, /RWX_CACHE_NFS_MOUNTS=/u);
    assert.equal(stderr, '');
    assert.equal(status, 0);
  });

  it('fails for two mounts that are none', () => {
    const { status, stderr } = run({ RWX_CACHE_NFS_MOUNTS: '/:/' });
    assert.match(stderr, /^RWX_CACHE_NFS_MOUNTS=\/:\/: \/ lies on \S+, not on NFS$/mu);
    assert.equal(status, 1);
  });

  it('fails when its words choose nothing', () => {
    const { status, stderr } = run({}, 'no-such-file');
    assert.match(stderr, /No file of the suite matches no-such-file/u);
    assert.equal(status, 1);
  });
});
