/** The way that a kernel lock takes on a network file system, here on a local one that is said to be none; test/nfs has the real ones. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { LockLostError, LockTimeoutError } from '../../src/errors.ts';
import { acquireBareLock, tryBareLock } from '../../src/lock/bare-lock.ts';
import { acquireKernelLock } from '../../src/lock/kernel-lock.ts';
import type { Lock, LockOptions } from '../../src/lock/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { hasPython, holdByPython } from './fixtures/python.ts';
import { until } from './fixtures/until.ts';

const onNetwork = (): Promise<boolean> => Promise.resolve(true);

function acquire(path: string, options: LockOptions = {}): Promise<Lock> {
  return acquireKernelLock(path, { ...options, mode: options.mode ?? 'exclusive', leaseMs: options.leaseMs ?? 3000 }, onNetwork);
}

/** How many threads of this process wait in the kernel's lock queue. */
function queued(): number {
  return readdirSync('/proc/self/task').filter((task) => stackOf(task).includes('fcntl_setlk')).length;
}

function stackOf(task: string): string {
  try {
    return readFileSync(`/proc/self/task/${task}/stack`, 'utf8');
  } catch {
    return '';
  }
}

function isOpen(path: string): boolean {
  return readdirSync('/proc/self/fd').some((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path;
    } catch {
      return false;
    }
  });
}

describe('a kernel lock on a network file system', () => {
  it('is polled for, and never waited for in the kernel’s queue', async (t) => {
    if (stackOf(String(process.pid)) === '') {
      t.skip('needs root and /proc/<pid>/stack');
      return;
    }
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const held = await acquire(path);
    // A local waiter first: the queue is to be seen where there is one.
    const local = acquireBareLock(path, { mode: 'exclusive' });
    await until(() => queued() === 1, 'the local waiter stands in the queue');
    await held.release();
    const again = await local;
    let waiting = 0;
    const waiter = acquire(path, { onWait: () => (waiting += 1) });
    await until(() => waiting > 0, 'the waiter waits');
    for (let look = 0; look < 20; look += 1) {
      assert.equal(queued(), 0);
      await setTimeout(10);
    }
    await again.release();
    await (await waiter).release();
  });

  it('is seen by local locks and sees them', async (t) => {
    if (!hasPython(t)) return;
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const python = await holdByPython(t, 'fcntl', path);
    await assert.rejects(acquire(path, { timeoutMs: 300 }), LockTimeoutError);
    assert.equal(await tryBareLock(path, { mode: 'exclusive' }, onNetwork), undefined);
    await python.end();
    const lock = await acquireBareLock(path, { mode: 'exclusive' }, onNetwork);
    assert.equal(await tryBareLock(path, { mode: 'exclusive' }), undefined);
    await lock.release();
  });

  it('is shared by many', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const first = await acquire(path, { mode: 'shared' });
    const second = await acquire(path, { mode: 'shared', timeoutMs: 1000 });
    await assert.rejects(acquire(path, { timeoutMs: 200 }), LockTimeoutError);
    await Promise.all([first.assertHeld(), second.assertHeld()]);
    await Promise.all([first.release(), second.release()]);
    await (await acquire(path, { timeoutMs: 1000 })).release();
  });

  it('is left by an abort at once, without its descriptor', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const held = await acquire(path);
    const controller = new AbortController();
    const reason = new Error('enough');
    const waiter = acquire(path, { signal: controller.signal });
    await setTimeout(120);
    controller.abort(reason);
    await assert.rejects(waiter, (error) => error === reason);
    await held.release();
    await until(() => !isOpen(path), 'every descriptor is closed');
  });

  it('stays held through many heartbeats', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const lock = await acquire(path, { leaseMs: 1500 });
    await setTimeout(2000);
    await lock.assertHeld();
    assert.equal(lock.signal.aborted, false);
    await lock.release();
  });

  it('counts as lost when this process stood still for longer than the term', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const lock = await acquire(path, { leaseMs: 300 });
    const until = performance.now() + 400;
    while (performance.now() < until);
    await assert.rejects(lock.assertHeld(), LockLostError);
    assert.ok(lock.signal.reason instanceof LockLostError);
    await lock.release();
  });

  it('is noticed to be lost when its file is removed', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const lock = await acquire(path);
    await lock.assertHeld();
    await unlink(path);
    await assert.rejects(lock.assertHeld(), LockLostError);
    await writeFile(path, '');
    await lock.release();
  });

  it('does not keep its process alive', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const program = `
      import { acquireKernelLock } from ${JSON.stringify(new URL('../../src/lock/kernel-lock.js', import.meta.url).href)};
      await acquireKernelLock(${JSON.stringify(path)}, { mode: 'exclusive', leaseMs: 3000 }, () => Promise.resolve(true));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' });
    t.after(() => child.kill('SIGKILL'));
    assert.deepEqual(await once(child, 'close'), [0, null]);
  });
});
