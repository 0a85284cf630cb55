/** What is removed while a process of the same host has it open stays as `.nfs…`: no fault of whoever removes, and gone later. */
import assert from 'node:assert/strict';
import { mkdir, open, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { removeTree, sweepDirectory, withStagingDirectory } from '../../src/atomic/index.ts';
import { HOST, openCache, THING, THING_PATH, withRegistry } from '../cache/support.ts';
import { withSharedDirectory } from './lab.ts';

describe('removing what is still open', () => {
  it('leaves what is open, says so, and removes the rest; later all of it', async (t) => {
    const shared = await withSharedDirectory(t);
    const tree = join(shared.a, 'tree');
    await mkdir(join(tree, 'below'), { recursive: true });
    for (const name of ['open', 'closed', 'below/too']) await writeFile(join(tree, name), 'content');
    const handle = await open(join(tree, 'open'));
    assert.deepEqual(await removeTree(tree), { removed: false });
    const left = await readdir(tree);
    assert.equal(left.length, 1);
    assert.match(String(left[0]), /^\.nfs/u);
    assert.equal((await handle.readFile('utf8')), 'content');
    await handle.close();
    assert.deepEqual(await removeTree(tree), { removed: true });
  });

  it('never fails the caller of a staging directory, and the next sweep takes it away', async (t) => {
    const shared = await withSharedDirectory(t);
    const handle = await withStagingDirectory(shared.a, async (path) => {
      await writeFile(join(path, 'open'), 'content');
      return open(join(path, 'open'));
    });
    const options = { olderThanMs: 0, isOwnerAlive: () => Promise.resolve(false) };
    const first = await sweepDirectory(shared.a, options);
    assert.deepEqual({ ...first, removed: first.removed.length }, { removed: 0, kept: 1 });
    await handle.close();
    const second = await sweepDirectory(shared.a, options);
    assert.deepEqual({ ...second, removed: second.removed.length }, { removed: 1, kept: 0 });
    assert.deepEqual(await readdir(shared.a), []);
  });

  it('is no content: an open .nfs file in the tree is not listed', async (t) => {
    const shared = await withSharedDirectory(t);
    const registry = await withRegistry(t);
    const cache = await openCache(t, registry, { directory: join(shared.a, 'cache') });
    await cache.ensure(THING);
    const version = join(shared.a, 'cache', THING_PATH, '..');
    await writeFile(join(version, 'stray'), 'content');
    const handle = await open(join(version, 'stray'));
    await removeTree(join(version, 'stray'));
    assert.ok((await readdir(version)).some((name) => name.startsWith('.nfs')));
    const listed: string[] = [];
    for await (const found of cache.list()) listed.push(`${found.address.hostname}/${String(found.platform)}`);
    assert.deepEqual(listed, [`${HOST}/linux_amd64`]);
    await handle.close();
  });
});
