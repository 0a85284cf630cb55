/**
 * The answers that a retransmission falsifies: the server has carried out the call, and this client is told that it failed, and keeps its cached
 * names. Made by having the other client do it, so also on given mounts; retransmission.nfs.ts has them as a server that is restarted gives them.
 */
import assert from 'node:assert/strict';
import { link, mkdir, open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { systemCalls, type AmbiguousCalls } from '../../src/atomic/calls.ts';
import { publishDirectoryWith } from '../../src/atomic/publish-directory.ts';
import { writeFileAtomicWith } from '../../src/atomic/write-file-atomic.ts';
import { withSharedDirectory } from './lab.ts';

async function withFalseAnswers(t: TestContext): Promise<{ a: string; calls: AmbiguousCalls }> {
  const { a, b } = await withSharedDirectory(t);
  const onB = (path: string): string => path.replace(a, b);
  const refuse = (code: string): never => {
    throw Object.assign(new Error(`${code}: as a second copy is answered`), { code });
  };
  const calls: AmbiguousCalls = {
    ...systemCalls,
    rename: async (from, to) => {
      await rename(onB(from), onB(to));
      refuse('ENOENT');
    },
    link: async (from, to) => {
      await link(onB(from), onB(to));
      refuse('EEXIST');
    },
  };
  return { a, calls };
}

describe('a call that was carried out and answered as failed', () => {
  it('is a success where it replaced a file that this client knows and has open', async (t) => {
    const { a, calls } = await withFalseAnswers(t);
    await writeFile(join(a, 'file'), 'old');
    const handle = await open(join(a, 'file'));
    assert.equal(await readFile(join(a, 'file'), 'utf8'), 'old');
    assert.deepEqual(await writeFileAtomicWith(calls, join(a, 'file'), 'new', {}), { published: true });
    assert.equal(await readFile(join(a, 'file'), 'utf8'), 'new');
    await handle.close();
  });

  it('is a success where it published a file that this client has missed', async (t) => {
    const { a, calls } = await withFalseAnswers(t);
    await assert.rejects(readFile(join(a, 'file')), { code: 'ENOENT' });
    assert.deepEqual(await writeFileAtomicWith(calls, join(a, 'file'), 'new', { ifExists: 'keep' }), { published: true });
    assert.equal(await readFile(join(a, 'file'), 'utf8'), 'new');
  });

  it('is a success where it published a directory that this client has missed', async (t) => {
    const { a, calls } = await withFalseAnswers(t);
    await mkdir(join(a, 'staged'));
    await writeFile(join(a, 'staged', 'file'), 'content');
    await assert.rejects(readFile(join(a, 'target', 'file')), { code: 'ENOENT' });
    assert.deepEqual(await publishDirectoryWith(calls, join(a, 'staged'), join(a, 'target'), {}), { published: true });
    assert.equal(await readFile(join(a, 'target', 'file'), 'utf8'), 'content');
  });
});
