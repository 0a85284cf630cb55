import assert from 'node:assert/strict';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FileSystemError } from '../../src/errors.ts';
import { systemCalls } from '../../src/atomic/calls.ts';
import { provenExisting, provenExistingWith } from '../../src/atomic/proven-existing.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

describe('provenExisting', () => {
  it('finds what is there and makes nothing of what is not', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await writeFile(join(directory, 'file'), 'x');
    await symlink('nowhere', join(directory, 'link'));
    assert.ok((await provenExisting(join(directory, 'file')))?.isFile());
    assert.ok((await provenExisting(join(directory, 'link')))?.isSymbolicLink());
    assert.equal(await provenExisting(join(directory, 'missing')), undefined);
    assert.equal(await provenExisting(join(directory, 'missing', 'deeper')), undefined);
    assert.equal(await provenExisting(join(directory, 'file', 'deeper')), undefined);
    assert.deepEqual((await readdir(directory)).sort(), ['file', 'link']);
  });

  it('looks again when only the server knows that it is there', async (t) => {
    const target = join(await withTemporaryDirectory(t), 'target');
    const asked = {
      ...systemCalls,
      mkdir: async () => {
        await mkdir(target);
        throw Object.assign(new Error('EEXIST'), { code: 'EEXIST' });
      },
    };
    assert.ok((await provenExistingWith(asked, target, undefined))?.isDirectory());
  });

  it('keeps what somebody published onto its question', async (t) => {
    const target = join(await withTemporaryDirectory(t), 'target');
    const raced = {
      ...systemCalls,
      mkdir: async (path: string, mode: number) => {
        await systemCalls.mkdir(path, mode);
        await writeFile(join(path, 'published'), 'x');
      },
    };
    assert.ok((await provenExistingWith(raced, target, undefined))?.isDirectory());
    assert.deepEqual(await readdir(target), ['published']);
  });

  it('gives up with ESTALE on a cached answer that never ends', async (t) => {
    const target = join(await withTemporaryDirectory(t), 'target');
    let asked = 0;
    const cached = {
      ...systemCalls,
      mkdir: () => {
        asked += 1;
        return Promise.reject(Object.assign(new Error('EEXIST'), { code: 'EEXIST' }));
      },
    };
    await assert.rejects(provenExistingWith(cached, target, undefined), (error) => error instanceof FileSystemError && error.systemCode === 'ESTALE');
    assert.ok(asked < 10);
  });
});
