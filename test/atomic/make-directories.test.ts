import assert from 'node:assert/strict';
import { chmod, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FileSystemError } from '../../src/errors.ts';
import { makeDirectories } from '../../src/atomic/make-directories.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

describe('makeDirectories', () => {
  it('makes what is missing, with the mode asked for, and minds nothing that is there', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const before = process.umask(0o027);
    t.after(() => process.umask(before));
    await makeDirectories(join(directory, 'a', 'b', 'c'), { mode: 0o755 });
    for (const path of ['a', 'a/b', 'a/b/c']) assert.equal((await stat(join(directory, path))).mode & 0o777, 0o750);
    await chmod(join(directory, 'a'), 0o700);
    await makeDirectories(join(directory, 'a', 'b', 'c'));
    await makeDirectories(join(directory, 'a', 'b', 'd'), { durable: false });
    await makeDirectories('/');
    await symlink('a', join(directory, 'link'));
    await makeDirectories(join(directory, 'link'));
    await makeDirectories(join(directory, 'link', 'through'));
    assert.equal((await stat(join(directory, 'a'))).mode & 0o777, 0o700);
    assert.ok((await stat(join(directory, 'a', 'through'))).isDirectory());
  });

  it('names what stands in the way', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await writeFile(join(directory, 'file'), 'x');
    await symlink('nowhere', join(directory, 'dangling'));
    for (const path of ['file', 'file/below', 'dangling']) {
      await assert.rejects(makeDirectories(join(directory, path)), (error) => error instanceof FileSystemError && error.systemCode === 'ENOTDIR' && error.path.startsWith(directory));
    }
  });

  it('gets there while others make the same levels and remove them', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (let round = 0; round < 50; round += 1) {
      const top = join(directory, `${round}`);
      await Promise.all(Array.from({ length: 6 }, (_, index) => makeDirectories(join(top, '1', '2', `${index % 3}`), { durable: false })));
      for (const index of [0, 1, 2]) assert.ok((await stat(join(top, '1', '2', `${index}`))).isDirectory());
    }
    const fleeting = join(directory, 'fleeting');
    const stop = new AbortController();
    const removing = (async () => {
      while (!stop.signal.aborted) await rm(fleeting, { recursive: true, force: true }).catch(() => undefined);
    })();
    try {
      for (let round = 0; round < 200; round += 1) await makeDirectories(join(fleeting, '1', '2', '3'), { durable: false });
    } finally {
      stop.abort();
      await removing;
    }
  });
});
