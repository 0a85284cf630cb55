import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, rename, stat, symlink, truncate, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { FileSystemError, LockLostError, LockTimeoutError, LockUnsupportedError } from '../../src/errors.ts';
import { acquireLock, type WaitInfo } from '../../src/lock/index.ts';
import { acquireKernelLock } from '../../src/lock/kernel-lock.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { withTmpfs } from '../support/tmpfs.ts';
import { canLockByPython, hasPython, holdByPython } from './fixtures/python.ts';
import { startLocker } from './fixtures/remote.ts';
import { until } from './fixtures/until.ts';

const WITHOUT_ADDON = new URL('./fixtures/without-addon.js', import.meta.url).href;

function openDescriptors(path: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => linkOf(fd) === path).length;
}

function linkOf(fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return undefined;
  }
}

/** How many requests for a file's lock wait in the kernel, by its own list: `1: -> OFDLCK ADVISORY WRITE -1 08:01:1234 0 EOF`. */
async function queueLength(inode: number): Promise<number> {
  const lines = (await readFile('/proc/locks', 'utf8')).split('\n');
  return lines.filter((line) => line.includes('->') && line.includes(`:${inode} `)).length;
}

describe('a kernel lock', () => {
  it('is shared by many and excluded by one', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const [one, other] = await Promise.all([startLocker(t), startLocker(t)]);
    const first = await one.acquire(path, { mode: 'shared' });
    const second = await other.acquire(path, { mode: 'shared' });
    await assert.rejects(acquireLock(path, { timeoutMs: 0 }), LockTimeoutError);
    await first.release();
    await assert.rejects(acquireLock(path, { timeoutMs: 0 }), LockTimeoutError);
    await second.release();
    const alone = await acquireLock(path, { timeoutMs: 0 });
    await assert.rejects(one.acquire(path, { mode: 'shared', timeoutMs: 0 }), { code: 'ERR_LOCK_TIMEOUT' });
    await alone.release();
  });

  it('is free at once when its holder is killed', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const holder = await startLocker(t);
    await holder.acquire(path);
    let waiting = 0;
    const lock = acquireLock(path, { onWait: () => (waiting += 1) });
    await until(() => waiting > 0, 'the waiter waits');
    holder.process.kill('SIGKILL');
    await (await lock).release();
  });

  it('serves its waiters in turn', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const first = await acquireLock(path);
    const { ino } = await stat(path);
    const served: number[] = [];
    const waiters: Promise<void>[] = [];
    for (const [index, locker] of (await Promise.all(Array.from({ length: 6 }, () => startLocker(t)))).entries()) {
      const serve = async (): Promise<void> => {
        const lock = await locker.acquire(path);
        served.push(index);
        await lock.release();
      };
      waiters.push(serve());
      await until(async () => (await queueLength(ino)) === index + 1, `waiter ${index} is in the kernel's queue`);
    }
    await first.release();
    await Promise.all(waiters);
    assert.deepEqual(served, [0, 1, 2, 3, 4, 5]);
  });

  it('excludes a POSIX lock of another program, as OpenTofu takes it, and is excluded by it', async (t) => {
    if (!hasPython(t)) return;
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const python = await holdByPython(t, 'fcntl', path);
    await assert.rejects(acquireLock(path, { timeoutMs: 0 }), LockTimeoutError);
    let waiting = 0;
    const waiter = acquireLock(path, { onWait: () => (waiting += 1) });
    await until(() => waiting > 0, 'the waiter waits');
    await python.end();
    const lock = await waiter;
    assert.equal(canLockByPython('fcntl', path), false);
    await lock.release();
    assert.equal(canLockByPython('fcntl', path), true);
    const shared = await acquireLock(path, { mode: 'shared' });
    assert.equal(canLockByPython('fcntl', path), false);
    await shared.release();
  });

  it('does not meet flock(2) on a local file system', async (t) => {
    if (!hasPython(t)) return;
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    await holdByPython(t, 'flock', path);
    await (await acquireLock(path, { timeoutMs: 0 })).release();
  });

  it('stays held when its object is dropped and collected', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const program = `
      import { acquireLock } from ${JSON.stringify(new URL('../../src/lock/index.js', import.meta.url).href)};
      // In a function of its own, whose frame holds on to nothing afterwards.
      async function take() { await acquireLock(${JSON.stringify(path)}); }
      await take();
      for (let i = 0; i < 20; i += 1) { gc(); await new Promise((resolve) => setTimeout(resolve, 25)); }
      process.stdout.write('collected');
      process.stdin.resume();`;
    const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    await assert.rejects(acquireLock(path, { timeoutMs: 0 }), LockTimeoutError);
  });

  it('names its holder to those who wait, again and again', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const holder = await startLocker(t);
    const held = await holder.acquire(path);
    const seen: WaitInfo[] = [];
    const lock = acquireLock(path, { onWait: (info) => seen.push(info) });
    await until(() => seen.length >= 2, 'the second notice');
    await held.release();
    await (await lock).release();
    assert.deepEqual(seen.map((info) => [info.path, info.holder?.pid, info.holder?.host]), seen.map(() => [path, holder.process.pid, hostname()]));
    assert.ok(Date.now() - Date.parse(seen[0]?.holder?.since ?? '') < 60_000);
    assert.ok((seen[0]?.waitedMs ?? 0) < (seen[1]?.waitedMs ?? 0));
    const notices = seen.length;
    await setTimeout(1100);
    assert.equal(seen.length, notices);
  });

  it('names its holder in the error of a wait that timed out', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const holder = await startLocker(t);
    await holder.acquire(path);
    await assert.rejects(acquireLock(path, { timeoutMs: 150 }), (error) => {
      assert.ok(error instanceof LockTimeoutError);
      assert.equal(error.holder?.pid, holder.process.pid);
      assert.match(error.message, /within 150 ms: held by process \d+ on /u);
      return true;
    });
  });

  it('ends the wait with what onWait throws', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const held = await acquireLock(path);
    const failure = new Error('the listener failed');
    const waiter = acquireLock(path, {
      onWait: () => {
        throw failure;
      },
    });
    await assert.rejects(waiter, (error) => error === failure);
    await held.release();
  });

  it('is left by an abort or a timeout at once, and every descriptor is closed after its grant', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const held = await acquireLock(path);
    const reason = new Error('enough');
    const waiters = Array.from({ length: 8 }, async (_, index) => {
      const controller = new AbortController();
      const options = index % 2 === 0 ? { timeoutMs: 200 } : { signal: controller.signal, onWait: () => setTimeout(50).then(() => { controller.abort(reason); }) };
      const begun = performance.now();
      await assert.rejects(acquireLock(path, options), index % 2 === 0 ? LockTimeoutError : reason);
      // 100 ms are promised; a loaded machine gets more, and a wait that is not ended at all takes for ever.
      assert.ok(performance.now() - begun < 2000);
    });
    await Promise.all(waiters);
    assert.equal(openDescriptors(path), 9);
    await held.release();
    await until(() => openDescriptors(path) === 0, 'all descriptors are closed');
    await (await acquireLock(path, { timeoutMs: 1000 })).release();
  });

  it('does not enter the queue when it is not to wait', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const held = await acquireLock(path);
    await assert.rejects(acquireLock(path, { timeoutMs: 0 }), LockTimeoutError);
    await until(() => openDescriptors(path) === 1, 'the descriptor of the attempt is closed');
    await held.release();
  });

  it('is noticed to be lost when its file is replaced, and does not touch the new one', async (t) => {
    for (const replace of [(path: string) => unlink(path), (path: string) => writeFile(`${path}.new`, '').then(() => rename(`${path}.new`, path))]) {
      const path = join(await withTemporaryDirectory(t), 'a.lock');
      const lock = await acquireLock(path);
      await lock.assertHeld();
      await replace(path);
      const other = await acquireLock(path, { timeoutMs: 0 });
      await assert.rejects(lock.assertHeld(), LockLostError);
      assert.ok(lock.signal.reason instanceof LockLostError);
      await lock.release();
      await other.assertHeld();
      await assert.rejects(acquireLock(path, { timeoutMs: 0 }), LockTimeoutError);
      await other.release();
    }
  });

  it('is taken on the new file when its file is replaced during the wait', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const held = await acquireLock(path);
    let waiting = 0;
    const waiter = acquireLock(path, { onWait: () => (waiting += 1) });
    await until(() => waiting > 0, 'the waiter waits');
    await unlink(path);
    const newcomer = await acquireLock(path);
    let granted = false;
    void waiter.then(() => (granted = true));
    await held.release();
    await setTimeout(100);
    assert.equal(granted, false);
    await newcomer.release();
    const lock = await waiter;
    await lock.assertHeld();
    await lock.release();
  });

  it('says that it is not held once it was released, and may be released twice', async (t) => {
    const lock = await acquireLock(join(await withTemporaryDirectory(t), 'a.lock'));
    await Promise.all([lock.release(), lock.release()]);
    await lock.release();
    await assert.rejects(lock.assertHeld(), LockLostError);
    assert.equal(lock.signal.aborted, false);
  });

  it('never changes a file that holds data', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.txt');
    for (const content of ['somebody’s notes', 'x'.repeat(255), 'x'.repeat(5000)]) {
      await writeFile(path, content);
      await (await acquireLock(path)).release();
      const onNetwork = await acquireKernelLock(path, { mode: 'exclusive', leaseMs: 3000 }, () => Promise.resolve(true));
      await onNetwork.assertHeld();
      await onNetwork.release();
      assert.equal(await readFile(path, 'utf8'), content);
    }
  });

  it('leaves one record in its file, however often it is taken', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    for (let round = 0; round < 3; round += 1) await (await acquireLock(path)).release();
    const text = await readFile(path, 'utf8');
    assert.equal(text.length, 256);
    assert.equal((JSON.parse(text) as { pid: number }).pid, process.pid);
    await truncate(path, text.trimEnd().length);
    await (await acquireLock(path)).release();
    assert.equal((await readFile(path, 'utf8')).length, 256);
  });

  it('makes its file for all whom the umask lets', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const umask = process.umask(0o002);
    t.after(() => process.umask(umask));
    await (await acquireLock(path)).release();
    assert.equal((await stat(path)).mode & 0o777, 0o664);
  });

  it('follows no link, locks no directory, and needs the directory above', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await writeFile(join(directory, 'target'), '');
    await symlink('target', join(directory, 'link'));
    await mkdir(join(directory, 'directory'));
    for (const [name, systemCode] of [['link', 'ELOOP'], ['directory', 'EISDIR'], ['missing/a.lock', 'ENOENT']] as const) {
      await assert.rejects(acquireLock(join(directory, name)), (error) => {
        assert.ok(error instanceof FileSystemError);
        assert.equal(error.systemCode, systemCode);
        return true;
      });
    }
    assert.equal(await readFile(join(directory, 'target'), 'utf8'), '');
  });

  it('is taken on a full disk as well', async (t) => {
    const directory = await withTmpfs(t, 64 * 1024);
    if (directory === undefined) return;
    const path = join(directory, 'a.lock');
    await writeFile(path, '');
    await assert.rejects(writeFile(join(directory, 'filler'), Buffer.alloc(128 * 1024)));
    const lock = await acquireLock(path);
    await assert.rejects(acquireLock(path, { timeoutMs: 0 }), LockTimeoutError);
    await lock.assertHeld();
    await lock.release();
  });

  it('is unsupported, with advice, where the addon is missing', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const child = await startLocker(t, { env: { ...process.env, NODE_OPTIONS: `--import ${WITHOUT_ADDON}` } });
    await assert.rejects(child.acquire(path), (error) => {
      const { code, message } = error as { code: string; message: string };
      assert.equal(code, 'ERR_LOCK_UNSUPPORTED');
      assert.match(message, /fs-native-extensions is not installed .* strategy "lease"/u);
      return true;
    });
    await (await child.acquire(path, { strategy: 'lease' })).release();
  });

  it('is unsupported on what is not a regular file', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'fifo');
    if (spawnSync('mkfifo', [path]).status !== 0) {
      t.skip('needs mkfifo');
      return;
    }
    await assert.rejects(acquireLock(path), LockUnsupportedError);
  });

  it('is shared, on a descriptor for reading, by a user who may not write the file', async (t) => {
    if (process.getuid?.() !== 0) {
      t.skip('needs root, to become another user');
      return;
    }
    const directory = await withTemporaryDirectory(t);
    await chmod(directory, 0o755);
    const path = join(directory, 'a.lock');
    await writeFile(path, '', { mode: 0o644 });
    const other = await startLocker(t, { uid: 65_534, gid: 65_534 });
    await assert.rejects(other.acquire(path), { code: 'ERR_FILE_SYSTEM' });
    const shared = await other.acquire(path, { mode: 'shared' });
    await assert.rejects(acquireLock(path, { timeoutMs: 0 }), LockTimeoutError);
    await shared.assertHeld();
    await shared.release();
    assert.equal(await readFile(path, 'utf8'), '');
  });

  it('is taken on another user’s file in a sticky directory, which O_CREAT would refuse', async (t) => {
    const setting = await readFile('/proc/sys/fs/protected_regular', 'utf8').catch(() => '0');
    if (process.getuid?.() !== 0 || setting.trim() === '0') {
      t.skip('needs root and the sysctl fs.protected_regular');
      return;
    }
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, 'a.lock');
    await chmod(directory, 0o1777);
    await writeFile(path, '');
    await chmod(path, 0o666);
    // A third user's: neither the directory's owner nor the one who opens it.
    await chown(path, 1234, 1234);
    const other = await startLocker(t, { uid: 65_534, gid: 65_534 });
    await (await other.acquire(path)).release();
  });
});
