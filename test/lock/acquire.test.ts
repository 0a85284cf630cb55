import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { InvalidOptionError, LockTimeoutError } from '../../src/errors.ts';
import { acquireLock, withLock, type LockOptions } from '../../src/lock/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

const COUNTER = fileURLToPath(new URL('./fixtures/counter.js', import.meta.url));

/** Runs counters at once and returns how many additions survived. */
async function count(directory: string, processes: number, rounds: number, options: LockOptions, command: readonly string[] = []): Promise<number> {
  const file = join(directory, 'count');
  await writeFile(file, '0');
  const args = [COUNTER, join(directory, 'count.lock'), file, String(rounds), JSON.stringify(options)];
  const [program = '', ...rest] = [...command, process.execPath, ...args];
  const codes = await Promise.all(Array.from({ length: processes }, async () => (await once(spawn(program, rest, { stdio: 'inherit' }), 'close'))[0] as number));
  assert.deepEqual(codes, Array.from({ length: processes }, () => 0));
  return Number(await readFile(file, 'utf8'));
}

describe('acquireLock', () => {
  it('loses no update of processes that add to one file under a kernel lock', async (t) => {
    assert.equal(await count(await withTemporaryDirectory(t), 6, 100, {}), 600);
  });

  it('loses no update of processes that add to one file under a lease', async (t) => {
    assert.equal(await count(await withTemporaryDirectory(t), 4, 12, { strategy: 'lease' }), 48);
  });

  it('excludes two processes that both are number 1, each in its own PID namespace', async (t) => {
    const command = ['unshare', '--pid', '--fork'];
    const [code] = (await once(spawn('unshare', ['--pid', '--fork', 'true'], { stdio: 'ignore' }).on('error', () => undefined), 'close')) as [number];
    if (code !== 0) {
      t.skip('needs unshare and root');
      return;
    }
    const directory = await withTemporaryDirectory(t);
    assert.equal(await count(directory, 2, 50, {}, command), 100);
    assert.equal(await count(directory, 2, 12, { strategy: 'lease' }, command), 24);
    assert.match(await readFile(join(directory, 'count.lock'), 'utf8'), /"pid":1,/u);
  });

  it('excludes another call of the same process', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    for (const strategy of ['kernel', 'lease'] as const) {
      const order: string[] = [];
      const first = await acquireLock(path, { strategy });
      const second = withLock(path, async () => Promise.resolve(order.push('second')), { strategy });
      order.push('first');
      await first.release();
      await second;
      assert.deepEqual(order, ['first', 'second']);
    }
  });

  it('gives what it has taken as an absolute path, with its strategy and mode', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const shared = await acquireLock(relative(process.cwd(), path), { mode: 'shared' });
    assert.deepEqual([shared.path, shared.strategy, shared.mode], [path, 'kernel', 'shared']);
    await shared.release();
    const lease = await acquireLock(path, { strategy: 'lease' });
    assert.deepEqual([lease.path, lease.strategy, lease.mode], [path, 'lease', 'exclusive']);
    await lease.release();
  });

  it('refuses options that make no sense', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const bad: unknown[] = [
      { strategy: 'lease', mode: 'shared' },
      { strategy: 'flock' },
      { mode: 'read' },
      { timeoutMs: -1 },
      { timeoutMs: Number.NaN },
      { leaseMs: 2999 },
      { leaseMs: Number.NaN },
      { leaseMs: Infinity },
    ];
    for (const options of bad) {
      await assert.rejects(acquireLock(join(directory, 'a.lock'), options as LockOptions), InvalidOptionError, JSON.stringify(options));
    }
    assert.deepEqual(await readdir(directory), []);
    for (const path of [undefined, 5, '', 'a\0b']) await assert.rejects(acquireLock(path as string), InvalidOptionError, String(path));
  });

  it('rejects with the reason of a signal that has aborted already, and touches nothing', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const reason = new Error('not today');
    for (const strategy of ['kernel', 'lease'] as const) {
      await assert.rejects(acquireLock(join(directory, 'a.lock'), { strategy, signal: AbortSignal.abort(reason) }), reason);
    }
    assert.deepEqual(await readdir(directory), []);
  });

  it('is released at the end of an `await using` block', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    for (const strategy of ['kernel', 'lease'] as const) {
      {
        await using lock = await acquireLock(path, { strategy });
        await assert.rejects(acquireLock(path, { strategy, timeoutMs: 0 }), LockTimeoutError);
        await lock.assertHeld();
      }
      await (await acquireLock(path, { strategy, timeoutMs: 0 })).release();
    }
  });
});

describe('withLock', () => {
  it('yields what the section yields, and releases', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    assert.equal(await withLock(path, () => Promise.resolve(7)), 7);
    await (await acquireLock(path, { timeoutMs: 0 })).release();
  });

  it('releases and rethrows when the section throws', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    for (const strategy of ['kernel', 'lease'] as const) {
      const failure = new Error('the section failed');
      await assert.rejects(withLock(path, () => Promise.reject(failure), { strategy }), (error) => error === failure);
      await (await acquireLock(path, { strategy, timeoutMs: 0 })).release();
    }
  });

  it('rethrows the error of a section that had released already', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'a.lock');
    const failure = new Error('the section failed');
    const section = withLock(path, async (lock) => {
      await lock.release();
      throw failure;
    });
    await assert.rejects(section, (error) => error === failure);
  });
});
