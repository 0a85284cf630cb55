import assert from 'node:assert/strict';
import { chmod, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FileSystemError, InvalidOptionError, LockTimeoutError } from '../../src/errors.ts';
import { acquireBareLock, tryBareLock } from '../../src/lock/bare-lock.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { canLockByPython, hasPython, holdByPython } from './fixtures/python.ts';
import { until } from './fixtures/until.ts';

describe('a bare lock', () => {
  it('makes its file as OpenTofu does and leaves it empty', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'linux_amd64.lock');
    const umask = process.umask(0o022);
    t.after(() => process.umask(umask));
    const lock = await acquireBareLock(path, { mode: 'exclusive-or-shared' });
    assert.deepEqual([lock.path, lock.mode], [path, 'exclusive']);
    await lock.release();
    await lock.release();
    const { size, mode } = await stat(path);
    assert.deepEqual([size, mode & 0o777], [0, 0o644]);
    const wide = await acquireBareLock(`${path}.2`, { mode: 'exclusive', createMode: 0o600 });
    await wide.release();
    assert.equal((await stat(`${path}.2`)).mode & 0o777, 0o600);
  });

  it('waits for OpenTofu’s lock and holds it off', async (t) => {
    if (!hasPython(t)) return;
    const path = join(await withTemporaryDirectory(t), 'linux_amd64.lock');
    const tofu = await holdByPython(t, 'fcntl', path);
    await assert.rejects(acquireBareLock(path, { mode: 'exclusive-or-shared', timeoutMs: 0 }), LockTimeoutError);
    let waiting = 0;
    const waiter = acquireBareLock(path, { mode: 'exclusive-or-shared', onWait: ({ holder }) => (waiting += holder === undefined ? 1 : 100) });
    await until(() => waiting > 0, 'the waiter waits');
    await tofu.end();
    const lock = await waiter;
    assert.equal(canLockByPython('fcntl', path), false);
    await lock.release();
    assert.equal(canLockByPython('fcntl', path), true);
    assert.equal(waiting % 100, waiting, 'OpenTofu leaves no name');
    assert.equal(await readFile(path, 'utf8'), '');
  });

  it('is shared where the file may only be read, and still holds OpenTofu off', async (t) => {
    if (!hasPython(t)) return;
    if (process.getuid?.() !== 0 || process.seteuid === undefined) {
      t.skip('needs root, to become another user');
      return;
    }
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, 'linux_amd64.lock');
    await chmod(directory, 0o755);
    await writeFile(path, '', { mode: 0o644 });
    process.seteuid(65_534);
    let lock;
    try {
      await assert.rejects(acquireBareLock(path, { mode: 'exclusive' }), FileSystemError);
      lock = await acquireBareLock(path, { mode: 'exclusive-or-shared' });
    } finally {
      process.seteuid(0);
    }
    assert.equal(lock.mode, 'shared');
    assert.equal(canLockByPython('fcntl', path), false);
    await lock.release();
    assert.equal(canLockByPython('fcntl', path), true);
  });

  it('refuses a timeout that is none', async () => {
    await assert.rejects(acquireBareLock('/nowhere', { mode: 'shared', timeoutMs: -1 }), InvalidOptionError);
  });
});

describe('tryBareLock', () => {
  it('tells a lock that is free from one that is held and from a file that is missing', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'mark');
    assert.equal(await tryBareLock(path, { mode: 'exclusive' }), undefined);
    assert.equal(await tryBareLock(join(path, 'below', 'mark'), { mode: 'exclusive' }), undefined);
    const mark = await tryBareLock(path, { mode: 'exclusive', create: true });
    assert.equal(mark?.mode, 'exclusive');
    assert.equal(await tryBareLock(path, { mode: 'exclusive' }), undefined);
    assert.equal(await tryBareLock(path, { mode: 'shared' }), undefined);
    await mark.release();
    const [one, other] = await Promise.all([tryBareLock(path, { mode: 'shared' }), tryBareLock(path, { mode: 'shared' })]);
    assert.ok(one !== undefined && other !== undefined);
    assert.equal(await tryBareLock(path, { mode: 'exclusive' }), undefined);
    await Promise.all([one.release(), other.release()]);
    await unlink(path);
    assert.equal(await tryBareLock(path, { mode: 'exclusive' }), undefined);
  });
});
