/** The suite on two mounts that somebody else has made: the program itself is run once more, on the mounts of this lab. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { givenMounts, MOUNTS } from './given-mounts.ts';
import { withSharedDirectory } from './lab.ts';

/** Runs `npm run test:nfs` on the mounts that `value` names. */
async function runOn(value: string, ...words: readonly string[]): Promise<{ code: number; output: string }> {
  // It has a runner of its own, which must not think that it is within this one.
  const options = { env: { ...process.env, NODE_TEST_CONTEXT: undefined, [MOUNTS]: value } };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [join(import.meta.dirname, 'run.js'), ...words], options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, output: `${stdout}${stderr}` });
    });
  });
}

describe('the suite on two given mounts', { concurrency: true }, () => {
  it('passes, and skips what needs a fault, with the reason', async (t) => {
    const { a, b } = await withSharedDirectory(t);
    const { code, output } = await runOn(`${a}:${b}`, 'ambiguous', 'restart');
    assert.match(output, /✔ is a success where/u);
    assert.match(output, /﹣ a server that is restarted .* # two given mounts: nothing here can be cut off or stopped/u);
    assert.match(output, /^nfs: [1-9]\d* passed, 0 failed, [1-9]\d* skipped$/mu);
    assert.equal(code, 0, output);
  });

  it('takes nothing else for mounts, and says what is wrong', async (t) => {
    const { a, b } = await withSharedDirectory(t);
    for (const directory of ['one', 'two']) await mkdir(join(a, directory));
    await writeFile(join(a, 'file'), '');
    const bad: readonly (readonly [value: string, why: RegExp])[] = [
      [a, /is not of the form \/path\/a:\/path\/b/u],
      [`${a}:${b}:${b}`, /is not of the form/u],
      ['a:b', /is not of the form/u],
      [`${a}:${join(b, 'missing')}`, /ENOENT/u],
      [`${a}:${join(b, 'file')}`, /is no directory/u],
      [`${a}:${tmpdir()}`, /lies on \S+, not on NFS/u],
      [`${a}:${a}`, /both lie on one mount/u],
      [`${join(a, 'one')}:${join(b, 'two')}`, /not the same directory of one export/u],
    ];
    for (const [value, why] of bad) await assert.rejects(givenMounts(value), why, value);
    const { code, output } = await runOn(a, 'ambiguous');
    assert.equal(output, `${MOUNTS}=${a}: is not of the form /path/a:/path/b\n`);
    assert.equal(code, 1);
  });
});
