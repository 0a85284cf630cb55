import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { FileSystemError, LockLostError, LockTimeoutError } from '../../src/errors.ts';
import { acquireLock, type WaitInfo } from '../../src/lock/index.ts';
import { claim, leasePlace, newToken, remove, sweep } from '../../src/lock/lease-directory.ts';
import { acquireLease } from '../../src/lock/lease-lock.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { startLocker } from './fixtures/remote.ts';
import { until } from './fixtures/until.ts';

async function held(path: string): Promise<string[]> {
  return readdir(leasePlace(path).held).catch(() => []);
}

describe('a lease', () => {
  it('excludes other processes, names its holder, and leaves an empty directory behind', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, 'a.lock');
    const other = await startLocker(t);
    const lock = await other.acquire(path, { strategy: 'lease' });
    const seen: WaitInfo[] = [];
    await assert.rejects(acquireLock(path, { strategy: 'lease', timeoutMs: 300, onWait: (info) => seen.push(info) }), (error) => {
      assert.ok(error instanceof LockTimeoutError);
      assert.equal(error.holder?.pid, other.process.pid);
      return true;
    });
    assert.deepEqual([seen[0]?.path, seen[0]?.holder?.pid, seen[0]?.holder?.host], [path, other.process.pid, hostname()]);
    await lock.assertHeld();
    await lock.release();
    await assert.rejects(lock.assertHeld(), { code: 'ERR_LOCK_LOST' });
    assert.deepEqual(await readdir(directory, { recursive: true }), ['a.lock.lease']);
  });

  it('is renewed for as long as it is held', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const lock = await acquireLock(path, { strategy: 'lease', leaseMs: 3000 });
    await assert.rejects(acquireLock(path, { strategy: 'lease', leaseMs: 3000, timeoutMs: 5000 }), LockTimeoutError);
    await lock.assertHeld();
    await lock.release();
  });

  it('of a killed holder is taken over after its term, and not before', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const holder = await startLocker(t);
    await holder.acquire(path, { strategy: 'lease', leaseMs: 1000 });
    holder.process.kill('SIGKILL');
    await holder.ended;
    const begun = performance.now();
    const lock = await acquireLock(path, { strategy: 'lease' });
    assert.ok(performance.now() - begun >= 1000);
    await lock.assertHeld();
    await lock.release();
  });

  it('of a process that ends in order is given back at once', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const holder = await startLocker(t);
    await holder.acquire(path, { strategy: 'lease' });
    holder.leave();
    await holder.ended;
    assert.deepEqual(await held(path), []);
    await (await acquireLock(path, { strategy: 'lease', timeoutMs: 0 })).release();
  });

  it('of a process that was stopped beyond the term passes on, and the process learns of it', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const holder = await startLocker(t);
    const lost = await holder.acquire(path, { strategy: 'lease', leaseMs: 3000 });
    holder.process.kill('SIGSTOP');
    const lock = await acquireLock(path, { strategy: 'lease' });
    holder.process.kill('SIGCONT');
    assert.equal(await lost.lost, 'ERR_LOCK_LOST');
    await assert.rejects(lost.assertHeld(), { code: 'ERR_LOCK_LOST' });
    await lost.release();
    await lock.assertHeld();
    holder.leave();
    await holder.ended;
    await lock.assertHeld();
    assert.equal(lock.signal.aborted, false);
    await lock.release();
  });

  it('of a process whose event loop was blocked beyond the term is lost, and its release leaves the next holder’s alone', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const holder = await startLocker(t);
    const lost = await holder.acquire(path, { strategy: 'lease', leaseMs: 700 });
    const blocked = holder.block(2500);
    const lock = await acquireLock(path, { strategy: 'lease' });
    await blocked;
    assert.equal(await lost.lost, 'ERR_LOCK_LOST');
    await lost.release();
    await lock.assertHeld();
    assert.equal((await held(path)).length, 1);
    await lock.release();
  });

  it('is lost by a blocked event loop even where nobody has taken it over', async (t) => {
    const lock = await acquireLease(join(await withTemporaryDirectory(t), 'a.lock'), { leaseMs: 200 });
    const end = performance.now() + 300;
    while (performance.now() < end);
    await assert.rejects(lock.assertHeld(), LockLostError);
    await lock.release();
    const unasked = await acquireLease(lock.path, { leaseMs: 200 });
    const again = performance.now() + 300;
    while (performance.now() < again);
    await until(() => unasked.signal.aborted, 'the signal aborts by itself');
    await unasked.release();
  });

  it('is noticed to be lost when somebody removes it', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const lock = await acquireLock(path, { strategy: 'lease', leaseMs: 3000 });
    await rm(leasePlace(path).container, { recursive: true });
    await assert.rejects(lock.assertHeld(), LockLostError);
    await lock.release();
    const second = await acquireLock(path, { strategy: 'lease', leaseMs: 3000 });
    await rm(leasePlace(path).container, { recursive: true });
    await until(() => second.signal.aborted, 'the heartbeat notices it');
    await second.release();
  });

  it('needs no lock file and no directory of its own beforehand, but the directory above', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await (await acquireLock(join(directory, 'new.lock'), { strategy: 'lease' })).release();
    await assert.rejects(acquireLock(join(directory, 'missing', 'a.lock'), { strategy: 'lease' }), (error) => {
      assert.ok(error instanceof FileSystemError);
      assert.equal(error.systemCode, 'ENOENT');
      return true;
    });
  });

  it('is left by an abort at once, and nothing stays behind', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, 'a.lock');
    const lock = await acquireLock(path, { strategy: 'lease' });
    const reason = new Error('enough');
    const controller = new AbortController();
    const waiter = acquireLock(path, { strategy: 'lease', signal: controller.signal });
    await setTimeout(100);
    const begun = performance.now();
    controller.abort(reason);
    await assert.rejects(waiter, (error) => error === reason);
    // 100 ms are promised; a loaded machine gets more.
    assert.ok(performance.now() - begun < 1500);
    await lock.release();
    await until(async () => (await readdir(leasePlace(path).container)).length === 0, 'the waiter has cleaned up');
    // An abort at any moment of an uncontended claim gives back what it may have won.
    for (let delayMs = 0; delayMs < 10; delayMs += 1) {
      const early = new AbortController();
      const claiming = acquireLock(path, { strategy: 'lease', signal: early.signal }).then((won) => won.release(), () => undefined);
      await setTimeout(delayMs / 4);
      early.abort(reason);
      await claiming;
    }
    await until(async () => (await readdir(leasePlace(path).container)).length === 0, 'every claim has been given back');
  });

  it('is not believed to be stale because of any clock: neither its own time stamp nor ours', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const preload = `--import ${new URL('./fixtures/skew.js', import.meta.url).href}`;
    for (const skew of [-3_600_000, 3_600_000]) {
      const holder = await startLocker(t, { env: { ...process.env, NODE_OPTIONS: preload, SKEW_MS: String(skew) } });
      const lock = await holder.acquire(path, { strategy: 'lease', leaseMs: 3000 });
      await assert.rejects(acquireLock(path, { strategy: 'lease', timeoutMs: 800 }), LockTimeoutError);
      const [token = ''] = await held(path);
      await utimes(join(leasePlace(path).held, token), 1, 1);
      await assert.rejects(acquireLock(path, { strategy: 'lease', timeoutMs: 300 }), LockTimeoutError);
      const waiter = await startLocker(t, { env: { ...process.env, NODE_OPTIONS: preload, SKEW_MS: String(-skew) } });
      await assert.rejects(waiter.acquire(path, { strategy: 'lease', timeoutMs: 300 }), { code: 'ERR_LOCK_TIMEOUT' });
      await lock.assertHeld();
      await lock.release();
    }
  });
});

describe('the directory of a lease', () => {
  it('is claimed by one of many at once, and a free one may be empty', async (t) => {
    const place = leasePlace(join(await withTemporaryDirectory(t), 'a.lock'));
    await mkdir(place.held, { recursive: true });
    const claims = await Promise.all(Array.from({ length: 16 }, () => claim(place, newToken(3000))));
    assert.equal(claims.filter((won) => won).length, 1);
    assert.deepEqual(await readdir(place.container), ['held']);
  });

  it('cannot be taken from a holder by the removal of another token', async (t) => {
    const place = leasePlace(join(await withTemporaryDirectory(t), 'a.lock'));
    const token = newToken(3000);
    assert.equal(await claim(place, token), true);
    await remove(place, [newToken(3000)]);
    assert.deepEqual(await readdir(place.held), [token]);
  });

  it('is swept of what claimants left that died, by the file system’s own clock', async (t) => {
    const place = leasePlace(join(await withTemporaryDirectory(t), 'a.lock'));
    const dead = newToken(3000);
    await mkdir(join(place.container, dead), { recursive: true });
    await writeFile(join(place.container, dead, dead), '');
    await setTimeout(50);
    const token = newToken(3000);
    await claim(place, token);
    await sweep(place, token, 10);
    assert.deepEqual(await readdir(place.container), ['held']);
  });

  it('keeps, after a takeover, what a claim may still be using, and what no claim makes', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const { container } = leasePlace(path);
    const fresh = newToken(3000);
    await mkdir(join(container, fresh), { recursive: true });
    await writeFile(join(container, fresh, fresh), '');
    await mkdir(join(container, 'not-ours'));
    await mkdir(join(container, 'held'));
    await writeFile(join(container, 'held', newToken(100)), '');
    await (await acquireLock(path, { strategy: 'lease' })).release();
    assert.deepEqual((await readdir(container)).filter((name) => name !== 'held').sort(), [fresh, 'not-ours'].sort());
  });

  it('says in the token’s file who holds it', async (t) => {
    const place = leasePlace(join(await withTemporaryDirectory(t), 'a.lock'));
    const token = newToken(3000);
    await claim(place, token);
    assert.match(await readFile(join(place.held, token), 'utf8'), new RegExp(`"pid":${process.pid},`, 'u'));
    assert.equal((await stat(join(place.held, token))).size, 256);
  });
});
