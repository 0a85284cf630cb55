import assert from 'node:assert/strict';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { removeTree } from '../../src/atomic/remove-tree.ts';
import { startChild } from '../support/child.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

async function tree(directory: string): Promise<string> {
  const path = join(directory, 'tree');
  for (const below of ['a/b', 'c']) {
    await mkdir(join(path, below), { recursive: true });
    for (const file of ['1', '2', '3']) await writeFile(join(path, below, file), 'x');
  }
  return path;
}

describe('removeTree', () => {
  it('removes files, links and trees, and follows no link', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = await tree(directory);
    await mkdir(join(directory, 'outside'));
    await writeFile(join(directory, 'outside', 'file'), 'x');
    await symlink('../outside', join(path, 'link'));
    await symlink('outside', join(directory, 'link'));
    for (const name of ['tree', 'link', 'missing']) assert.deepEqual(await removeTree(join(directory, name)), { removed: true });
    assert.deepEqual(await readdir(directory, { recursive: true }), ['outside', join('outside', 'file')]);
    assert.deepEqual(await removeTree(join(directory, 'outside', 'file', 'below')).catch((error: unknown) => (error as { systemCode: string }).systemCode), 'ENOTDIR');
  });

  it('leaves what an NFS client still has open, takes the rest, and says so', async (t) => {
    const path = await tree(await withTemporaryDirectory(t));
    await writeFile(join(path, 'a', '.nfs000000000001'), 'a running plugin');
    assert.deepEqual(await removeTree(path), { removed: false });
    assert.deepEqual(await readdir(path, { recursive: true }), ['a', join('a', '.nfs000000000001')]);
  });

  it('is not disturbed by others that remove the same tree', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (let round = 0; round < 40; round += 1) {
      const path = await tree(directory);
      const results = await Promise.all(Array.from({ length: 4 }, () => removeTree(path)));
      assert.ok(results.every(({ removed }) => removed));
      assert.deepEqual(await readdir(directory), []);
    }
  });

  it('obeys an abort', async (t) => {
    const path = await tree(await withTemporaryDirectory(t));
    const reason = new Error('enough');
    await assert.rejects(removeTree(path, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
  });

  it("removes a read-only tree of one's own without being root", async (t) => {
    if (process.getuid?.() !== 0) {
      t.skip('needs root to become somebody else');
      return;
    }
    const directory = await withTemporaryDirectory(t);
    const child = startChild(t, new URL('./fixtures/read-only-tree.js', import.meta.url), [directory]);
    assert.deepEqual(await child.message(), { plain: 'EACCES', ours: { removed: true }, left: [] });
    await child.ended;
  });
});
