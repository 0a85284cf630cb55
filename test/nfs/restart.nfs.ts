/** The server stops and starts: whoever holds a lock gets it back in the grace period, and nobody else gets it, then or afterwards. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { writeFileAtomic } from '../../src/atomic/index.ts';
import { acquireLock } from '../../src/lock/index.ts';
import { startLocker } from '../lock/fixtures/remote.ts';
import { cutOff, rejoin, restartServer } from './faults.ts';
import { withoutFaults, withSharedDirectory } from './lab.ts';
import { LEASE_SECONDS } from './server.ts';

const TIMEOUT = { code: 'ERR_LOCK_TIMEOUT' };
/** After the grace period the lock has to change hands as it does at other times. */
const HAND_OFF_MS = 300 + LEASE_SECONDS * 1000;
/** Far more than what is left of a grace period. */
const GRANTED_MS = 40_000;

describe('a server that is restarted', { skip: withoutFaults() }, () => {
  it('leaves locks and leases with their holders, whoever asks for them during the grace period and after it', async (t) => {
    const shared = await withSharedDirectory(t);
    const [known, stranger] = [await startLocker(t), await startLocker(t)];
    await (await known.acquire(join(shared.b, 'known'))).release();
    const held = await acquireLock(join(shared.a, 'lock'));
    const together = await acquireLock(join(shared.a, 'shared'), { mode: 'shared' });
    const lease = await acquireLock(join(shared.a, 'lease'), { strategy: 'lease', leaseMs: 60_000 });

    const begun = performance.now();
    const since = (): number => Math.round(performance.now() - begun);
    await restartServer();
    let granted = 0;
    const waiting = [known, stranger].map(async (locker) => {
      const lock = await locker.acquire(join(shared.b, 'lock'));
      granted += 1;
      const grantedAt = performance.now();
      await lock.release();
      return grantedAt;
    });
    await assert.rejects(acquireLock(join(shared.b, 'shared'), { timeoutMs: 3000 }), TIMEOUT, 'the shared lock');
    await assert.rejects(acquireLock(join(shared.b, 'lease'), { strategy: 'lease', leaseMs: 60_000, timeoutMs: 3000 }), TIMEOUT, 'the lease');
    // What nobody holds is to be had when the grace period is over.
    await (await acquireLock(join(shared.b, 'free'))).release();
    t.diagnostic(`new locks are given out ${since()} ms after the server was stopped, at the latest`);
    await assert.rejects(acquireLock(join(shared.b, 'shared'), { timeoutMs: 0 }), TIMEOUT, 'the shared lock, after the grace period');
    await (await acquireLock(join(shared.b, 'shared'), { mode: 'shared' })).release();
    // Time enough for ten tries of each.
    await setTimeout(2000);
    assert.equal(granted, 0);
    for (const lock of [held, together, lease]) await lock.assertHeld();
    await writeFileAtomic(join(shared.a, 'file'), 'content');
    assert.equal(held.signal.aborted, false);

    const releasedAt = performance.now();
    await held.release();
    const tookMs = Math.min(...(await Promise.all(waiting))) - releasedAt;
    t.diagnostic(`B had the lock ${Math.round(tookMs)} ms after A's release`);
    assert.ok(tookMs < HAND_OFF_MS, `${tookMs} ms`);
    await together.release();
    await lease.release();
  });

  it('gives the lock of a client that was away all of the grace period to another, and that client finds out', async (t) => {
    const shared = await withSharedDirectory(t);
    t.after(() => { rejoin('a'); });
    // A process of its own: this one must not have calls that hang.
    const away = await startLocker(t);
    const held = await away.acquire(join(shared.a, 'lock'), { leaseMs: 120_000 });
    cutOff('a');
    const begun = performance.now();
    await restartServer();
    const next = await acquireLock(join(shared.b, 'lock'), { timeoutMs: GRANTED_MS });
    const tookMs = performance.now() - begun;
    t.diagnostic(`B had the lock ${Math.round(tookMs)} ms after the server was stopped`);
    assert.ok(tookMs >= LEASE_SECONDS * 1000, `not within the grace period, but after ${tookMs} ms`);
    rejoin('a');
    await assert.rejects(held.assertHeld(), { code: 'ERR_LOCK_LOST' });
    await next.assertHeld();
    await next.release();
  });
});
