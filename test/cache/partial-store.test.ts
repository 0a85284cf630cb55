/** What a partial download is found by, and what is never taken for one. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmod, chown, link, mkdir, open, readdir, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { OpenFile } from '../../src/atomic/index.ts';
import { createPartialStore, ownPartials, type PartialDirectory } from '../../src/cache/partial-store.ts';
import { boundOrphans, sweepPartials } from '../../src/cache/partial-sweep.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

const SHA256 = 'ab'.repeat(32);
const OF = { origin: 'https://example.com', etag: '"one"', totalBytes: 1000 };

interface Scene {
  readonly partial: string;
  /** That of this user. */
  readonly own: string;
  readonly store: PartialDirectory;
  /** A download in private staging. */
  readonly file: OpenFile;
}

async function withStore(t: TestContext): Promise<Scene | undefined> {
  const root = await withTemporaryDirectory(t);
  const partial = join(root, 'state', 'partial');
  const [own, store] = [ownPartials(partial), createPartialStore(partial)];
  if (own === undefined || store === undefined) {
    t.skip('there are no users here');
    return undefined;
  }
  const path = join(root, 'package.zip');
  const handle = await open(path, 'wx+', 0o600);
  t.after(() => handle.close());
  await handle.write(Buffer.alloc(600));
  return { partial, own, store, file: { path, handle } };
}

async function sizeFound({ store, file }: Scene, sha256 = SHA256, of = OF): Promise<number | undefined> {
  const found = await store.find(sha256, of, file);
  await found?.handle.close();
  return found?.bytes;
}

/** One that nobody writes any more. */
async function leave({ store, own }: Scene, directory: string, bytes: number, sha256 = SHA256): Promise<string> {
  const path = join(directory, randomBytes(8).toString('hex'));
  const before: string[] = await readdir(own).catch(() => []);
  const handle = await open(path, 'wx+', 0o600);
  await handle.write(Buffer.alloc(bytes));
  assert.ok(await store.keep(sha256, OF, { path, handle }));
  await handle.close();
  await rm(path);
  return (await readdir(own)).find((name) => !before.includes(name)) ?? assert.fail();
}

describe('a partial download', () => {
  it('is a second name of the file, in a directory of this user alone, and holds what is written later', async (t) => {
    const scene = await withStore(t);
    if (scene === undefined) return;
    const kept = await scene.store.keep(SHA256, OF, scene.file);
    assert.ok(kept !== undefined);
    await scene.file.handle.write(Buffer.alloc(100), 0, 100, 600);
    assert.equal(await sizeFound(scene), 700);
    assert.equal((await scene.file.handle.stat()).nlink, 2);
    const directory = await open(scene.own);
    assert.equal((await directory.stat()).mode & 0o777, 0o700);
    await directory.close();
    await kept.remove();
    await kept.remove();
    assert.equal(await sizeFound(scene), undefined);
    assert.equal((await scene.file.handle.stat()).nlink, 1);
  });

  it('is that of one digest, tag, size and origin; the longest of several', async (t) => {
    const scene = await withStore(t);
    if (scene === undefined) return;
    assert.equal(await sizeFound(scene), undefined);
    const directory = dirname(scene.file.path);
    for (const bytes of [300, 500, 400]) await leave(scene, directory, bytes);
    assert.equal(await sizeFound(scene), 500);
    assert.equal(await sizeFound(scene, 'cd'.repeat(32)), undefined);
    for (const other of [{ etag: '"two"' }, { totalBytes: 1001 }, { origin: 'https://example.org' }]) assert.equal(await sizeFound(scene, SHA256, { ...OF, ...other }), undefined);
  });

  it('is not taken from another user, from others who may write to it, through a link, nor when it is more than the whole', async (t) => {
    const scene = await withStore(t);
    if (scene === undefined) return;
    const directory = dirname(scene.file.path);
    const path = join(scene.own, await leave(scene, directory, 300));
    await truncate(path, 1001);
    assert.equal(await sizeFound(scene), undefined);
    await truncate(path, 1000);
    assert.equal(await sizeFound(scene), 1000);
    await chmod(path, 0o620);
    assert.equal(await sizeFound(scene), undefined);
    await chmod(path, 0o600);
    await link(path, join(directory, 'elsewhere'));
    await rm(path);
    await symlink(join(directory, 'elsewhere'), path);
    assert.equal(await sizeFound(scene), undefined);
    await rm(path);
    await mkdir(path);
    assert.equal(await sizeFound(scene), undefined);
    await rm(path, { recursive: true });
    if (process.getuid?.() !== 0) {
      t.diagnostic('needs root to give a file away');
      return;
    }
    await link(join(directory, 'elsewhere'), path);
    assert.equal(await sizeFound(scene), 1000);
    await chown(path, 12345, 12345);
    assert.equal(await sizeFound(scene), undefined);
  });

  it('is not kept where others could see it, nor where nothing can be made; that fails nobody', async (t) => {
    const scene = await withStore(t);
    if (scene === undefined) return;
    const { own, partial, store, file } = scene;
    await mkdir(own, { recursive: true, mode: 0o755 });
    await chmod(own, 0o755);
    assert.equal(await store.keep(SHA256, OF, file), undefined);
    await rm(own, { recursive: true });
    await symlink(dirname(file.path), own);
    assert.equal(await store.keep(SHA256, OF, file), undefined);
    assert.equal((await readdir(dirname(file.path))).length, 2);
    await rm(partial, { recursive: true });
    await writeFile(partial, '');
    assert.equal(await store.keep(SHA256, OF, file), undefined);
    assert.equal(await sizeFound(scene), undefined);
    assert.equal(await store.makeRoom(), false);
    await sweepPartials(own, 0).then(() => assert.fail(), () => undefined);
  });
});

describe('partial downloads that nobody came for', () => {
  it('go by age, whoever wrote them; younger ones stay', async (t) => {
    const scene = await withStore(t);
    if (scene === undefined) return;
    const { own, store, file } = scene;
    assert.equal(await sweepPartials(own, 0), 0);
    await leave(scene, dirname(file.path), 300);
    await store.keep(SHA256, OF, file);
    await writeFile(join(own, 'something else'), '');
    assert.equal(await sweepPartials(own, 60_000), 0);
    assert.equal((await readdir(own)).length, 3);
    // The file system's clock may tick every few milliseconds only.
    while ((await readdir(own)).length > 1) await sweepPartials(own, 1);
    assert.deepEqual(await readdir(own), ['something else']);
  });

  it('are bounded in all: the youngest stay, and so does what a process is still at', async (t) => {
    const scene = await withStore(t);
    if (scene === undefined) return;
    const { own, store, file } = scene;
    assert.ok(await store.keep(SHA256, OF, file));
    const [written] = await readdir(own);
    const names: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      names.push(await leave(scene, dirname(file.path), 100));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await boundOrphans(own, 250);
    assert.deepEqual((await readdir(own)).sort(), [written, ...names.slice(2)].sort());
    assert.equal(await store.makeRoom(), true);
    assert.deepEqual(await readdir(own), [written]);
    assert.equal(await store.makeRoom(), false);
  });
});
