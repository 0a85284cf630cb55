import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FileSystemError } from '../../src/errors.ts';
import { refreshDirectory, statFresh } from '../../src/atomic/stat-fresh.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

describe('statFresh', () => {
  it('finds files, directories and what links lead to', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await mkdir(join(directory, 'a', 'b', 'c'), { recursive: true });
    await writeFile(join(directory, 'a', 'file'), 'four');
    await symlink('a', join(directory, 'link'));
    assert.equal((await statFresh(join(directory, 'a', 'file')))?.size, 4n);
    assert.ok((await statFresh(join(directory, 'link', 'b', 'c')))?.isDirectory());
    assert.ok((await statFresh(join(directory, 'link')))?.isDirectory());
    assert.ok((await statFresh(join(directory, 'link'), { followLinks: false }))?.isSymbolicLink());
    assert.ok((await statFresh('/'))?.isDirectory());
  });

  it('says undefined for what is missing, at any depth, below a file, and where a link leads nowhere', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await writeFile(join(directory, 'file'), 'x');
    await symlink('nowhere/at/all', join(directory, 'dangling'));
    for (const path of ['missing', 'missing/1/2/3/4', 'file/below', 'file/below/1/2', 'dangling', 'dangling/below', 'dangling/below/1']) {
      assert.equal(await statFresh(join(directory, path)), undefined, path);
    }
    assert.ok((await statFresh(join(directory, 'dangling'), { followLinks: false }))?.isSymbolicLink());
  });

  it('throws what is not absence', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await symlink('loop', join(directory, 'loop'));
    await assert.rejects(statFresh(join(directory, 'loop')), (error) => error instanceof FileSystemError && error.systemCode === 'ELOOP');
    await assert.rejects(statFresh(join(directory, 'n'.repeat(300))), (error) => error instanceof FileSystemError && error.systemCode === 'ENAMETOOLONG');
    const reason = new Error('enough');
    await assert.rejects(statFresh(directory, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
  });
});

describe('refreshDirectory', () => {
  it('takes a directory and nothing else', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await refreshDirectory(directory);
    await writeFile(join(directory, 'file'), 'x');
    for (const [name, code] of [['file', 'ENOTDIR'], ['missing', 'ENOENT']] as const) {
      await assert.rejects(refreshDirectory(join(directory, name)), (error) => error instanceof FileSystemError && error.systemCode === code);
    }
  });
});
