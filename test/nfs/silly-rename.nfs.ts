/** What is removed while a process of the same host has it open stays as `.nfs…`: no fault of whoever removes, and gone later. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { removeTree, sweepDirectory, withStagingDirectory } from '../../src/atomic/index.ts';
import { HOST, openCache, THING, THING_PATH, treeOf, withRegistry } from '../cache/support.ts';
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

/** A program that runs until the test ends it; what it runs, and where, by the kernel's own account. */
async function startProgram(t: TestContext, program: string, directory: string): Promise<ChildProcess> {
  const child = spawn(program, ['600'], { cwd: directory, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  // Until then it is a copy of this process.
  while ((await readlink(`/proc/${String(child.pid)}/exe`)) === process.execPath) await setTimeout(5);
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

const SWEEP = { olderThanMs: 0, isOwnerAlive: () => Promise.resolve(false) };

describe('a prune while providers run on both hosts, a file is open, and a directory is in use', () => {
  it('fails nobody; what is in use stays in the trash, is no content, and goes with a later sweep', async (t) => {
    const shared = await withSharedDirectory(t);
    const files = { LICENSE: 'license', 'below/text': 'text', 'terraform-provider-thing_v1.2.3': { data: await readFile('/bin/sleep'), mode: 0o100755 } };
    const registry = await withRegistry(t, { providers: [{ address: 'acme/thing', version: '1.2.3', files }] });
    const a = await openCache(t, registry, { directory: join(shared.a, 'cache') });
    const b = await openCache(t, registry, { directory: join(shared.b, 'cache') });
    const [onA, onB] = [await a.ensure(THING), await b.ensure(THING)];
    const running = [await startProgram(t, onA.executable, '/'), await startProgram(t, onB.executable, '/')];
    const inside = await startProgram(t, '/bin/sleep', join(onA.path, 'below'));
    const handle = await open(join(onA.path, 'LICENSE'));
    t.after(() => handle.close().catch(() => undefined));

    const { removed, failed } = await a.prune({ olderThanMs: 0 });
    assert.deepEqual([removed.length, failed], [1, []]);
    for (const cache of [a, b]) assert.equal(await cache.lookup(THING), undefined);
    const trash = join(shared.a, 'cache/state/trash');
    // As the sweep of the cache does it an hour later.
    const first = await sweepDirectory(trash, SWEEP);
    assert.deepEqual({ removed: first.removed.length, kept: first.kept }, { removed: 0, kept: 1 });
    const left = await treeOf(trash);
    t.diagnostic(`left: ${left.join(', ')}`);
    assert.ok(left.length >= 2);
    for (const path of left) assert.match(path, /\/\.nfs[0-9a-f]+$/u);
    for (const child of [...running, inside]) assert.equal(child.exitCode ?? child.signalCode, null);
    assert.equal(await handle.readFile('utf8'), 'license');
    const listed: string[] = [];
    for await (const found of b.list()) listed.push(found.path);
    assert.deepEqual(listed, []);
    assert.equal((await b.ensure(THING)).outcome, 'installed');
    assert.equal((await a.lookup(THING))?.outcome, 'hit');

    await handle.close();
    for (const child of [...running, inside]) await end(child);
    const second = await sweepDirectory(trash, SWEEP);
    assert.deepEqual({ removed: second.removed.length, kept: second.kept }, { removed: 1, kept: 0 });
    assert.deepEqual(await readdir(trash), []);
    assert.equal((await a.lookup(THING))?.outcome, 'hit');
  });
});
