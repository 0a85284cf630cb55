import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { FileSystemError, InvalidOptionError, StagingLostError } from '../../src/errors.ts';
import { systemCalls } from '../../src/atomic/calls.ts';
import { publishDirectory } from '../../src/atomic/publish-directory.ts';
import { stagingOwner, withStagingDirectory, withStagingDirectoryWith } from '../../src/atomic/staging.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { withTmpfs } from '../support/tmpfs.ts';

describe('withStagingDirectory', () => {
  it('gives a private directory with the owner in its name, and removes it', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const result = await withStagingDirectory(
      directory,
      async (path) => {
        assert.match(basename(path), /^mark-1_x\.[0-9a-f]{32}$/u);
        assert.equal(stagingOwner(basename(path)), 'mark-1_x');
        assert.equal((await stat(path)).mode & 0o7777, 0o700);
        await mkdir(join(path, 'deep'));
        await writeFile(join(path, 'deep', 'file'), 'x', { mode: 0o444 });
        return 7;
      },
      { owner: 'mark-1_x' },
    );
    assert.equal(result, 7);
    assert.deepEqual(await readdir(directory), []);
  });

  it('removes it too when the use fails, and passes the error through', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const broken = Object.assign(new Error('something else is missing'), { code: 'ENOENT' });
    await assert.rejects(
      withStagingDirectory(directory, async (path) => {
        await writeFile(join(path, 'file'), 'x');
        throw broken;
      }),
      (error) => error === broken,
    );
    assert.deepEqual(await readdir(directory), []);
  });

  it('lets the directory itself be published', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const target = join(directory, 'target');
    await withStagingDirectory(directory, async (path) => {
      await writeFile(join(path, 'file'), 'x');
      await publishDirectory(path, target);
    });
    assert.deepEqual(await readdir(directory), ['target']);
    assert.equal((await stat(target)).mode & 0o777, 0o755);
    assert.equal(await readFile(join(target, 'file'), 'utf8'), 'x');
  });

  it('says so when the directory was swept under its owner', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await assert.rejects(
      withStagingDirectory(directory, async (path) => {
        await rename(path, join(directory, 'trash'));
        await writeFile(join(path, 'file'), 'x');
      }),
      (error) => error instanceof StagingLostError && (error.cause as NodeJS.ErrnoException).code === 'ENOENT',
    );
    await rm(join(directory, 'trash'), { recursive: true });
  });

  it('goes on when the server says EEXIST to a second copy of its own request', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const late = {
      ...systemCalls,
      mkdir: async (path: string, mode: number) => {
        await systemCalls.mkdir(path, mode);
        throw Object.assign(new Error('EEXIST'), { code: 'EEXIST' });
      },
    };
    assert.deepEqual(await withStagingDirectoryWith(late, directory, (path) => readdir(path), {}), []);
    assert.deepEqual(await readdir(directory), []);
  });

  it('never fails for what it has to leave', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await withStagingDirectory(directory, (path) => writeFile(join(path, '.nfs0001'), 'a running plugin'));
    assert.deepEqual((await readdir(directory)).length, 1);
  });

  it('rejects on abort, and removes the directory when the use has ended', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const controller = new AbortController();
    const reason = new Error('enough');
    let end: () => void = () => undefined;
    const work = withStagingDirectory(
      directory,
      async (path) => {
        await writeFile(join(path, 'file'), 'x');
        controller.abort(reason);
        await new Promise<void>((resolve) => {
          end = resolve;
        });
        await writeFile(join(path, 'late'), 'x');
      },
      { signal: controller.signal },
    );
    await assert.rejects(work, (error) => error === reason);
    assert.equal((await readdir(directory)).length, 1, 'it is in use');
    end();
    while ((await readdir(directory)).length > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('refuses owners that its names cannot carry, and directories that are not there', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (const owner of ['', 'a.b', '../x', 'a/b', 'ü']) {
      await assert.rejects(withStagingDirectory(directory, () => Promise.resolve(), { owner }), InvalidOptionError);
    }
    await assert.rejects(
      withStagingDirectory(join(directory, 'missing'), () => Promise.resolve()),
      (error) => error instanceof FileSystemError && error.systemCode === 'ENOENT',
    );
  });

  it('leaves a full disk empty again', async (t) => {
    const directory = await withTmpfs(t, 8 * 1024 * 1024);
    if (directory === undefined) return;
    await assert.rejects(
      withStagingDirectory(directory, (path) => writeFile(join(path, 'file'), Buffer.alloc(10 * 1024 * 1024))),
      (error) => (error as NodeJS.ErrnoException).code === 'ENOSPC',
    );
    assert.deepEqual(await readdir(directory), []);
  });
});

describe('stagingOwner', () => {
  it('reads names of its own form only', () => {
    const unique = '0123456789abcdef0123456789abcdef';
    assert.equal(stagingOwner(`owner.${unique}`), 'owner');
    for (const name of [unique, `.${unique}`, `owner.${unique}.tmp`, `owner.${unique.slice(1)}`, 'owner', '']) assert.equal(stagingOwner(name), undefined);
  });
});
