import assert from 'node:assert/strict';
import { lstat, mkdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { hasSystemError } from '../../src/system-errors.ts';
import { hashDirectory } from '../../src/verify/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { HOST, THING, treeOf, withCache } from './support.ts';

const BELOW = `${HOST}/acme/thing/1.2.3/linux_amd64`;

describe('linkInto', () => {
  it('copies where the working directory has no lock file: the clients write through a link', async (t) => {
    const { cache } = await withCache(t);
    const found = await cache.ensure(THING);
    const work = await withTemporaryDirectory(t);
    const target = await found.linkInto(join(work, '.terraform/providers'));
    assert.equal(target, join(work, '.terraform/providers', BELOW));
    assert.equal(await hashDirectory(target), found.hashes[0]);
    const copy = join(target, 'terraform-provider-thing_v1.2.3_x5');
    assert.equal((await stat(copy)).mode & 0o777, 0o755);
    await writeFile(copy, 'rewritten in place');
    assert.equal(await hashDirectory(found.path), found.hashes[0]);
    assert.deepEqual(await treeOf(join(work, '.terraform/providers')), [`${BELOW}/LICENSE`, `${BELOW}/terraform-provider-thing_v1.2.3_x5`]);
  });

  it('makes a symlink where the lock file there locks this version of the provider with the package’s hash', async (t) => {
    const { cache } = await withCache(t);
    const found = await cache.ensure(THING);
    const [h1 = '', zh = ''] = found.hashes;
    const block = (source: string, version: string, ...hashes: string[]): string =>
      `provider "${source}" {\n  version = "${version}"\n  hashes = [\n${hashes.map((hash) => `    "${hash}",\n`).join('')}  ]\n}\n`;
    const isLinked = async (lockFile: string | undefined, name = '.terraform.lock.hcl', option?: string): Promise<boolean> => {
      const work = await withTemporaryDirectory(t);
      if (lockFile !== undefined) await writeFile(join(work, name), lockFile);
      const target = await found.linkInto(join(work, '.terraform/providers'), { lockFile: option === undefined ? undefined : join(work, option) });
      return (await lstat(target)).isSymbolicLink() && (await readlink(target)) === found.path;
    };
    assert.equal(await isLinked(block(THING.source, '1.2.3', h1, zh)), true);
    assert.equal(await isLinked(block(THING.source, '1.2.3', h1), 'locks.hcl', 'locks.hcl'), true);
    // Only this makes sure that a client that finds the link does not write through it.
    assert.equal(await isLinked(undefined), false);
    assert.equal(await isLinked(block(THING.source, '1.2.3', zh)), false);
    assert.equal(await isLinked(block(THING.source, '1.2.3', `h1:${'A'.repeat(43)}=`)), false);
    assert.equal(await isLinked(block(THING.source, '1.2.4', h1)), false, 'another version');
    assert.equal(await isLinked(block('registry.terraform.io/acme/thing', '1.2.3', h1)), false, 'another provider with the same files');
    assert.equal(await isLinked(`# "${h1}"\n`), false, 'a comment');
    assert.equal(await isLinked(`${block(THING.source, '1.2.3', h1)}provider {`), false, 'a lock file that no client reads');
    assert.equal(await isLinked(block(THING.source, '1.2.3', h1), '.terraform.lock.hcl', 'locks.hcl'), false, 'another lock file');
  });

  it('shares blocks by reflink where there are any, and says so where there are none', async (t) => {
    const { cache } = await withCache(t);
    const found = await cache.ensure(THING);
    const work = await withTemporaryDirectory(t);
    let target: string;
    try {
      target = await found.linkInto(work, { method: 'reflink' });
    } catch (error) {
      assert.ok(hasSystemError(error, 'ENOTSUP'), String(error));
      assert.match(String(error), /copy/u);
      assert.deepEqual(await treeOf(work), [`${HOST}/acme/thing/1.2.3`]);
      t.diagnostic('no reflinks on this file system');
      return;
    }
    assert.equal(await hashDirectory(target), found.hashes[0]);
    assert.notEqual((await stat(join(target, 'LICENSE'))).ino, (await stat(join(found.path, 'LICENSE'))).ino);
  });

  it('swings an existing link: there is no moment without one', async (t) => {
    const { cache } = await withCache(t);
    const found = await cache.ensure(THING);
    const work = await withTemporaryDirectory(t);
    const target = join(work, BELOW);
    await mkdir(join(target, '..'), { recursive: true });
    await symlink('/nowhere', target);
    let missing = 0;
    let looks = 0;
    const watched = new AbortController();
    const watch = (async () => {
      while (!watched.signal.aborted) {
        looks += 1;
        if ((await lstat(target).catch(() => undefined)) === undefined) missing += 1;
      }
    })();
    for (let round = 0; round < 50; round += 1) {
      await found.linkInto(work, { method: 'symlink' });
      assert.equal(await readlink(target), found.path);
      await symlink(round % 2 === 0 ? '/nowhere' : '/', `${target}.new`);
      await rename(`${target}.new`, target);
    }
    watched.abort();
    await watch;
    assert.ok(looks > 50);
    assert.equal(missing, 0);
  });

  it('copies dot files, and keeps directories', async (t) => {
    const files = { '.hidden': 'H', 'docs/index.md': '# Thing', 'terraform-provider-thing': { data: 'x', mode: 0o100755 } };
    const { cache } = await withCache(t, { registry: { providers: [{ address: 'acme/thing', version: '1.2.3', files }] } });
    const found = await cache.ensure(THING);
    for (const method of ['copy', 'hardlink'] as const) {
      const work = await withTemporaryDirectory(t);
      assert.equal(await hashDirectory(await found.linkInto(work, { method })), found.hashes[0]);
    }
  });

  it('refuses a directory that leads into the cache itself: the entry would be replaced by a link to itself', async (t) => {
    const { cache } = await withCache(t);
    const found = await cache.ensure(THING);
    const inode = (await stat(found.path)).ino;
    const work = await withTemporaryDirectory(t);
    await symlink(cache.providersDirectory, join(work, 'providers'));
    await mkdir(join(work, 'deeper'));
    await symlink(join(cache.providersDirectory, HOST), join(work, 'deeper', HOST));
    for (const method of ['auto', 'symlink', 'hardlink', 'copy'] as const) {
      for (const directory of [cache.providersDirectory, join(work, 'providers'), join(work, 'deeper')]) {
        await assert.rejects(found.linkInto(directory, { method }), { code: 'ERR_INVALID_OPTION' });
      }
    }
    assert.equal((await lstat(found.path)).ino, inode);
    assert.equal(await hashDirectory(found.path), found.hashes[0]);
  });

  it('may be called any number of times at once, and leaves alone what is the package already', async (t) => {
    const { cache } = await withCache(t);
    const found = await cache.ensure(THING);
    const work = await withTemporaryDirectory(t);
    const [target = ''] = await Promise.all(Array.from({ length: 40 }, () => found.linkInto(work, { method: 'copy' })));
    assert.equal(await hashDirectory(target), found.hashes[0]);
    const inode = (await stat(target)).ino;
    await found.linkInto(work, { method: 'copy' });
    assert.equal((await stat(target)).ino, inode);
    assert.deepEqual(await treeOf(work), [`${BELOW}/LICENSE`, `${BELOW}/terraform-provider-thing_v1.2.3_x5`]);
  });

  it('replaces hard links where a copy is asked for: the clients write through them', async (t) => {
    const { cache } = await withCache(t);
    const found = await cache.ensure(THING);
    const work = await withTemporaryDirectory(t);
    const license = join(await found.linkInto(work, { method: 'hardlink' }), 'LICENSE');
    const shared = (await stat(license)).ino;
    await found.linkInto(work, { method: 'copy' });
    assert.notEqual((await stat(license)).ino, shared);
  });

  it('hard-links the very files of the cache', async (t) => {
    const { cache } = await withCache(t);
    const found = await cache.ensure(THING);
    const target = await found.linkInto(await withTemporaryDirectory(t), { method: 'hardlink' });
    assert.equal((await stat(join(target, 'LICENSE'))).ino, (await stat(join(found.path, 'LICENSE'))).ino);
    assert.equal((await cache.ensure(THING)).outcome, 'hit');
  });

  it('replaces what is there: a wrong link, a dangling link, a file, another tree', async (t) => {
    const { cache } = await withCache(t);
    const found = await cache.ensure(THING);
    for (const method of ['symlink', 'copy', 'hardlink'] as const) {
      for (const make of [
        (target: string) => symlink('/nowhere', target),
        (target: string) => symlink('/', target),
        (target: string) => writeFile(target, 'a file'),
        async (target: string) => {
          await mkdir(join(target, 'old'), { recursive: true });
          await writeFile(join(target, 'old/file'), 'x');
        },
        (target: string) => mkdir(target),
      ]) {
        const work = await withTemporaryDirectory(t);
        await mkdir(join(work, BELOW, '..'), { recursive: true });
        await make(join(work, BELOW));
        const target = await found.linkInto(work, { method });
        assert.equal(await hashDirectory(target), found.hashes[0]);
        assert.equal((await lstat(target)).isSymbolicLink(), method === 'symlink');
        assert.deepEqual((await treeOf(work)).filter((path) => !path.startsWith(HOST)), []);
      }
    }
    assert.equal(await readFile(join(found.path, 'LICENSE'), 'utf8'), 'For tests only.\n');
  });

  it('is the same when it is done again, and by eight at once', async (t) => {
    const { cache } = await withCache(t);
    const found = await cache.ensure(THING);
    for (const method of ['symlink', 'copy'] as const) {
      const work = await withTemporaryDirectory(t);
      const targets = await Promise.all(Array.from({ length: 8 }, () => found.linkInto(work, { method })));
      for (const target of targets) assert.equal(await hashDirectory(target), found.hashes[0]);
    }
  });

  it('refuses another method and tells of a directory that cannot be written', async (t) => {
    const { cache, directory } = await withCache(t);
    const found = await cache.ensure(THING);
    await assert.rejects(found.linkInto(directory, { method: 'teleport' as 'copy' }), { code: 'ERR_INVALID_OPTION', option: 'method' });
    await writeFile(join(directory, 'file'), '');
    await assert.rejects(found.linkInto(join(directory, 'file')), { code: 'ERR_FILE_SYSTEM', systemCode: 'ENOTDIR' });
    await rm(found.path, { recursive: true });
    await assert.rejects(found.linkInto(directory, { method: 'copy' }), { code: 'ERR_FILE_SYSTEM', systemCode: 'ENOENT' });
  });
});
