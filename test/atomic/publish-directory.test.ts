import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FileSystemError, StagingLostError } from '../../src/errors.ts';
import { systemCalls, type AmbiguousCalls } from '../../src/atomic/calls.ts';
import { canRenameBetween, canRenameBetweenWith } from '../../src/atomic/probe-rename.ts';
import { publishDirectory, publishDirectoryWith } from '../../src/atomic/publish-directory.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { withBindMount } from '../support/tmpfs.ts';

async function staged(directory: string, name: string): Promise<string> {
  const path = join(directory, name);
  await mkdir(path, { mode: 0o700 });
  await writeFile(join(path, 'content'), name);
  return path;
}

function isFileSystemError(systemCode: string, path: string): (error: unknown) => boolean {
  return (error) => error instanceof FileSystemError && error.systemCode === systemCode && error.path === path;
}

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: answered to a second copy of the request`), { code });
}

describe('publishDirectory', () => {
  it('lets the first writer win and leaves the loser its own', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const target = join(directory, 'target');
    assert.deepEqual(await publishDirectory(await staged(directory, 'a'), target), { published: true });
    assert.equal((await stat(target)).mode & 0o7777, 0o755);
    const second = await staged(directory, 'b');
    assert.deepEqual(await publishDirectory(second, target), { published: false });
    assert.equal(await readFile(join(target, 'content'), 'utf8'), 'a');
    assert.deepEqual((await readdir(directory)).sort(), ['b', 'target']);
  });

  it('gives another mode when asked, whatever the umask', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const before = process.umask(0o077);
    t.after(() => process.umask(before));
    await publishDirectory(await staged(directory, 'a'), join(directory, 'target'), { mode: 0o775, durable: false });
    assert.equal((await stat(join(directory, 'target'))).mode & 0o7777, 0o775);
  });

  it('replaces an empty directory, as rename does', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await mkdir(join(directory, 'target'));
    assert.deepEqual(await publishDirectory(await staged(directory, 'a'), join(directory, 'target')), { published: true });
  });

  it('changes nothing where something else is in the way', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const own = await staged(directory, 'own');
    const file = join(directory, 'file');
    await writeFile(file, 'x');
    await assert.rejects(publishDirectory(own, file), isFileSystemError('ENOTDIR', file));
    const link = join(directory, 'link');
    await symlink('elsewhere', link);
    await assert.rejects(publishDirectory(own, link), isFileSystemError('ENOTDIR', link));
    const missing = join(directory, 'missing', 'target');
    for (const durable of [true, false]) await assert.rejects(publishDirectory(own, missing, { durable }), isFileSystemError('ENOENT', missing));
    await assert.rejects(publishDirectory(file, join(directory, 'target')), isFileSystemError('ENOTDIR', file));
    await assert.rejects(publishDirectory(join(directory, 'gone'), join(directory, 'target')), StagingLostError);
    assert.deepEqual((await readdir(directory)).sort(), ['file', 'link', 'own']);
  });

  it('says EXDEV between two mounts of one volume, which the probe finds out beforehand', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await mkdir(join(directory, 'volume'));
    await mkdir(join(directory, 'other'));
    const mounted = await withBindMount(t, join(directory, 'volume'));
    if (mounted === undefined) return;
    assert.equal((await stat(mounted)).dev, (await stat(directory)).dev, 'the device number does not tell');
    assert.equal(await canRenameBetween(directory, mounted), false);
    assert.equal(await canRenameBetween(mounted, directory), false);
    assert.equal(await canRenameBetween(directory, join(directory, 'other')), true);
    await assert.rejects(canRenameBetween(directory, join(directory, 'nowhere')), isFileSystemError('ENOENT', join(directory, 'nowhere')));
    await assert.rejects(publishDirectory(await staged(directory, 'own'), join(mounted, 'target')), isFileSystemError('EXDEV', join(mounted, 'target')));
    assert.deepEqual((await readdir(directory)).sort(), ['other', 'own', 'volume']);
    assert.deepEqual(await readdir(mounted), []);
    assert.deepEqual(await readdir(join(directory, 'other')), []);
  });

  it('probes by what was done, where mkdir and rename were carried out and answered as failed', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await mkdir(join(directory, 'other'));
    const refuse = (code: string): never => {
      throw Object.assign(new Error(code), { code });
    };
    const executed: AmbiguousCalls = {
      ...systemCalls,
      mkdir: async (path, mode) => {
        await systemCalls.mkdir(path, mode);
        refuse('EEXIST');
      },
      rename: async (from, to) => {
        await systemCalls.rename(from, to);
        refuse('ENOENT');
      },
    };
    assert.equal(await canRenameBetweenWith(executed, directory, join(directory, 'other')), true);
    await assert.rejects(canRenameBetweenWith({ ...executed, rename: () => Promise.resolve().then(() => refuse('ENOENT')) }, directory, join(directory, 'other')), isFileSystemError('ENOENT', join(directory, 'other')));
    assert.deepEqual(await readdir(directory), ['other']);
    assert.deepEqual(await readdir(join(directory, 'other')), []);
  });

  it('obeys an abort before the rename', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const reason = new Error('enough');
    await assert.rejects(publishDirectory(await staged(directory, 'own'), join(directory, 'target'), { signal: AbortSignal.abort(reason) }), (error) => error === reason);
    assert.deepEqual(await readdir(directory), ['own']);
  });

  describe('after an ambiguous answer', () => {
    it('has published when the rename was executed before it said ENOENT, ENOTEMPTY or ESTALE', async (t) => {
      const directory = await withTemporaryDirectory(t);
      for (const code of ['ENOENT', 'ENOTEMPTY', 'EEXIST', 'Unknown system error -116']) {
        const late = {
          ...systemCalls,
          rename: async (from: string, to: string) => {
            await rename(from, to);
            throw failure(code);
          },
        };
        assert.deepEqual(await publishDirectoryWith(late, await staged(directory, 'own'), join(directory, code), {}), { published: true });
      }
    });

    it('has lost its staging when that is gone and another is in the place, or none', async (t) => {
      const directory = await withTemporaryDirectory(t);
      const swept = { ...systemCalls, rename: async (from: string, to: string) => rm(from, { recursive: true }).then(() => rename(from, to)) };
      const target = join(directory, 'target');
      await assert.rejects(publishDirectoryWith(swept, await staged(directory, 'own'), target, {}), StagingLostError);
      await staged(directory, 'target');
      await assert.rejects(publishDirectoryWith(swept, await staged(directory, 'own'), target, {}), StagingLostError);
    });

    it('renames again when what was there went away meanwhile, and not for ever', async (t) => {
      const directory = await withTemporaryDirectory(t);
      let refusals = 2;
      const fleeting = {
        ...systemCalls,
        rename: async (from: string, to: string) => {
          refusals -= 1;
          if (refusals >= 0) throw failure('ENOTEMPTY');
          await rename(from, to);
        },
      };
      assert.deepEqual(await publishDirectoryWith(fleeting, await staged(directory, 'a'), join(directory, 'target'), {}), { published: true });
      refusals = Infinity;
      const never = join(directory, 'never');
      await assert.rejects(publishDirectoryWith(fleeting, await staged(directory, 'b'), never, {}), isFileSystemError('ENOTEMPTY', never));
      assert.deepEqual((await readdir(directory)).sort(), ['b', 'target']);
    });
  });
});
