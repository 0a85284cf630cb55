/** Faults of the bare package, each shown on it and then not found in ours. The double grants have a file of their own (lease-takeover.test.ts). */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync, mkdirSync, rmdirSync, utimesSync } from 'node:fs';
import fs from 'node:fs';
import { mkdir, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { lock as bareLock } from 'proper-lockfile';
import { LockTimeoutError } from '../../src/errors.ts';
import { acquireLock } from '../../src/lock/index.ts';
import { claim, leasePlace, newToken, remove, renew } from '../../src/lock/lease-directory.ts';
import { leaseFileSystem, type LeaseState } from '../../src/lock/lease-file-system.ts';
import { observeLease } from '../../src/lock/lease-observer.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { startLocker } from './fixtures/remote.ts';

const QUIET = { realpath: false, onCompromised: () => undefined } as const;

/** Runs a module's text in a process of its own. */
async function runModule(t: TestContext, text: string): Promise<{ code: number | null; output: string }> {
  // Beside the compiled tests, from where the packages are found.
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

describe('the bare package, and ours', () => {
  it('L4: release removes a lock that another has taken over; ours removes its own only', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a');
    const release = await bareLock(path, QUIET);
    await rmdir(`${path}.lock`);
    await mkdir(`${path}.lock`);
    await release();
    assert.equal(existsSync(`${path}.lock`), false);

    const lost = await acquireLock(path, { strategy: 'lease' });
    await remove(leasePlace(path), await readdir(leasePlace(path).held));
    const next = await acquireLock(path, { strategy: 'lease', timeoutMs: 0 });
    await lost.release();
    await next.assertHeld();
    await next.release();
  });

  it('L6: a lost lock ends the process; ours aborts a signal', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a');
    const { code, output } = await runModule(
      t,
      `import { lock } from 'proper-lockfile'; import { rmdirSync } from 'node:fs';
       await lock(${JSON.stringify(path)}, { realpath: false, stale: 2000 });
       rmdirSync(${JSON.stringify(`${path}.lock`)});
       setTimeout(() => console.log('alive'), 4000);`,
    );
    assert.deepEqual([code, output], [1, '']);

    const child = await startLocker(t);
    const lock = await child.acquire(path, { strategy: 'lease', leaseMs: 3000 });
    await remove(leasePlace(path), await readdir(leasePlace(path).held));
    assert.equal(await lock.lost, 'ERR_LOCK_LOST');
    await lock.release();
    await (await child.acquire(path, { strategy: 'lease' })).release();
  });

  it('L7: a clock that is an hour ahead gets a lock that is held; ours does not', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a');
    const release = await bareLock(path, QUIET);
    const inAnHour = `import { lock } from 'proper-lockfile'; const now = Date.now; Date.now = () => now() + 3_600_000;
      await lock(${JSON.stringify(path)}, { realpath: false }); console.log('granted'); process.kill(process.pid, 'SIGKILL');`;
    assert.match((await runModule(t, inAnHour)).output, /granted/u);
    await release().catch(() => undefined);

    const lock = await acquireLock(path, { strategy: 'lease' });
    const preload = `--import ${new URL('./fixtures/skew.js', import.meta.url).href}`;
    const ahead = await startLocker(t, { env: { ...process.env, NODE_OPTIONS: preload, SKEW_MS: '3600000' } });
    await assert.rejects(ahead.acquire(path, { strategy: 'lease', timeoutMs: 300 }), { code: 'ERR_LOCK_TIMEOUT' });
    await lock.release();
  });

  it('L9: of two locks of one file the second is never released; of ours each is', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, 'a');
    const first = await bareLock(path, { ...QUIET, lockfilePath: join(directory, 'a.lock') });
    const second = await bareLock(path, { ...QUIET, lockfilePath: join(directory, 'b.lock') });
    await Promise.allSettled([first(), second()]);
    assert.deepEqual(await readdir(directory), ['b.lock']);
    await rmdir(join(directory, 'b.lock'));

    const locks = await Promise.all([acquireLock(path, { strategy: 'lease' }), acquireLock(`${path}2`, { strategy: 'lease' })]);
    await Promise.all(locks.map((lock) => lock.release()));
    assert.deepEqual((await readdir(directory, { recursive: true })).sort(), ['a.lease', 'a2.lease']);
  });

  it('L9: a holder that lost its lock in this very process stops the heartbeat of the next; ours does not', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a');
    const lost = await acquireLock(path, { strategy: 'lease', leaseMs: 3000 });
    await remove(leasePlace(path), await readdir(leasePlace(path).held));
    const next = await acquireLock(path, { strategy: 'lease', leaseMs: 3000, timeoutMs: 0 });
    await lost.release();
    await assert.rejects(acquireLock(path, { strategy: 'lease', timeoutMs: 4000 }), LockTimeoutError);
    await next.assertHeld();
    await next.release();
  });

  it('L10: a file system that rounds time stamps compromises a lock; ours compares none', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a');
    const place = leasePlace(path);
    const state: LeaseState = { place, token: newToken(3000), observer: observeLease(3000), phase: 'claiming', tookOver: false, onRenewed: () => undefined };
    assert.equal(await claim(place, state.token), true);
    state.phase = 'held';
    const seam = leaseFileSystem(state);
    const stamp = new Date('2026-01-02T03:04:05.678Z');
    await new Promise<void>((resolve) => {
      seam.utimes('', stamp, stamp, () => {
        resolve();
      });
    });
    // Rounded by the file system to two seconds, as FAT does.
    fs.utimesSync(join(place.held, state.token), 1_767_322_644, 1_767_322_644);
    const answer = await new Promise<{ mtime: Date } | undefined>((resolve) => {
      seam.stat('', (_, stats) => {
        resolve(stats);
      });
    });
    assert.equal(answer?.mtime.getTime(), stamp.getTime());
    assert.notEqual(leaseFileSystem(state), seam, 'what the package remembers on one file system does not reach another');
  });

  it('L11: the heartbeat re-stamps a lock that another has taken over; ours finds its own gone', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a');
    const lockfile = `${path}.lock`;
    let beats = 0;
    // The takeover comes between the package's look and its stamp.
    const racing = {
      ...fs,
      stat: (name: string, done: (error: Error | null, stats?: fs.Stats) => void) => {
        const stats = statSync(name);
        if (beats > 0) {
          rmdirSync(lockfile);
          mkdirSync(lockfile);
          utimesSync(lockfile, 1000, 1000);
        }
        beats += 1;
        done(null, stats);
      },
    };
    let locked: Promise<() => Promise<void>> | undefined;
    const stamped = new Promise<number>((resolve) => {
      const utimes = (name: string, atime: Date, mtime: Date, done: (error: Error | null) => void): void => {
        fs.utimes(name, atime, mtime, (error) => {
          done(error);
          if (beats > 1) resolve(statSync(lockfile).mtimeMs);
        });
      };
      locked = bareLock(path, { ...QUIET, stale: 2000, fs: { ...racing, utimes } });
    });
    const timer = setInterval(() => undefined, 1000);
    assert.notEqual(await stamped, 1_000_000);
    clearInterval(timer);
    await (await locked)?.();

    const place = leasePlace(path);
    const [old, winner] = [newToken(3000), newToken(3000)];
    await claim(place, old);
    await remove(place, [old]);
    await claim(place, winner);
    const before = statSync(join(place.held, winner)).mtimeMs;
    await assert.rejects(renew(place, old, new Date()), { code: 'ENOENT' });
    assert.equal(statSync(join(place.held, winner)).mtimeMs, before);
  });

  it('L12: what does not exist yet cannot be locked; with ours it can', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'not', 'yet');
    await assert.rejects(bareLock(path), { code: 'ENOENT' });
    await mkdir(join(path, '..'));
    await assert.rejects(bareLock(path), { code: 'ENOENT' });
    await (await acquireLock(path, { strategy: 'lease' })).release();
  });

  it('L14: loading it patches process.emit; ours loads it with the first lease and not before', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a');
    const library = new URL('../../src/lock/index.js', import.meta.url).href;
    const { code, output } = await runModule(
      t,
      `const emit = process.emit;
       const { acquireLock } = await import(${JSON.stringify(library)});
       await (await acquireLock(${JSON.stringify(path)})).release();
       console.log('kernel', process.emit === emit);
       await (await acquireLock(${JSON.stringify(path)}, { strategy: 'lease' })).release();
       console.log('lease', process.emit === emit);`,
    );
    assert.deepEqual([code, output], [0, 'kernel true\nlease false\n']);
  });
});
