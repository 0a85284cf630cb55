/** Leases between two hosts: exclusion, hand-over, and take-over by what the waiter itself has seen, whatever the clocks say. */
import assert from 'node:assert/strict';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { acquireLock } from '../../src/lock/index.ts';
import { startLocker, type Locker } from '../lock/fixtures/remote.ts';
import { startChild, type Child } from '../support/child.ts';
import { cutOff, moveClock, rejoin, withClock } from './faults.ts';
import { withoutFaults, withSharedDirectory } from './lab.ts';

const LEASE = { strategy: 'lease', leaseMs: 4000 } as const;
const TIMEOUT = { code: 'ERR_LOCK_TIMEOUT' };
const LOST = { code: 'ERR_LOCK_LOST' };
/** Long enough for a waiter to see the term pass. */
const LONGER_MS = 1.5 * LEASE.leaseMs;
const TAKEN_OVER_MS = 40_000;
const HOUR_MS = 3_600_000;

describe('a lease on NFSv4.1', () => {
  it('of one host excludes another, and is handed over', async (t) => {
    const shared = await withSharedDirectory(t);
    const held = await acquireLock(join(shared.a, 'lock'), LEASE);
    await assert.rejects(acquireLock(join(shared.b, 'lock'), { ...LEASE, timeoutMs: 0 }), TIMEOUT);
    await held.assertHeld();
    await held.release();
    const next = await acquireLock(join(shared.b, 'lock'), { ...LEASE, timeoutMs: 10_000 });
    await next.assertHeld();
    await next.release();
  });

  it('stays with a holder that lives and is taken over from a killed one after the term, whatever the clocks of holder, waiter and server say, and however they jump', async (t) => {
    const shared = await withSharedDirectory(t);
    const start = async (ms: number): Promise<Locker> => startLocker(t, { env: withClock(ms) });
    const [ahead, behind] = await Promise.all([start(HOUR_MS), start(-HOUR_MS)]);
    const [waiterAhead, waiterBehind] = await Promise.all([start(HOUR_MS), start(-HOUR_MS)]);
    const pairs = [
      { name: 'a holder ahead, a waiter behind', holder: ahead, waiter: waiterBehind },
      { name: 'a holder behind, a waiter ahead', holder: behind, waiter: waiterAhead },
      { name: 'both ahead of the server', holder: ahead, waiter: waiterAhead },
      { name: 'both behind the server', holder: behind, waiter: waiterBehind },
    ];
    const waits = await Promise.all(
      pairs.map(async ({ name, holder, waiter }, index) => {
        await holder.acquire(join(shared.a, `lock-${index}`), LEASE);
        return { name, granted: waiter.acquire(join(shared.b, `lock-${index}`), { ...LEASE, timeoutMs: 2 * LONGER_MS + TAKEN_OVER_MS }).then((lock) => ({ lock, at: performance.now() })) };
      }),
    );
    const early = Promise.race(waits.map(async ({ name, granted }) => granted.then(() => name)));
    // The time stamps of the server jump by an hour, and back by two: so they are now behind the processes' clocks, now ahead of them.
    for (const ms of withoutFaults() === false ? [HOUR_MS, -2 * HOUR_MS] : [0]) {
      if (ms !== 0) moveClock(t, ms);
      assert.equal(await Promise.race([setTimeout(LONGER_MS), early]), undefined, 'nobody takes over from holders that live');
    }
    const killedAt = performance.now();
    for (const { process } of [ahead, behind]) process.kill('SIGKILL');
    for (const { name, granted } of waits) {
      const { lock, at } = await granted;
      t.diagnostic(`${name}: taken over ${Math.round(at - killedAt)} ms after the kill`);
      // The last sign of life came up to a third of the term before.
      assert.ok(at - killedAt >= (2 / 3) * LEASE.leaseMs - 500, `${name}: ${at - killedAt} ms`);
      await lock.assertHeld();
      await lock.release();
    }
  });

  describe('judged by the usual means', { concurrency: true }, () => {
    const STOCK = { stale: 20_000, update: 1000 };

    it('is needed: by time stamps against the clock, the lease of a living holder whose clock is behind is another’s at once', async (t) => {
      const shared = await withSharedDirectory(t);
      const holder = await startStock(t, join(shared.a, 'lock'), STOCK, withClock(-HOUR_MS));
      const begun = performance.now();
      await startStock(t, join(shared.b, 'lock'), STOCK, process.env);
      t.diagnostic(`two holders ${Math.round(performance.now() - begun)} ms after the second was started, with a term of ${STOCK.stale}`);
      assert.equal(holder.process.exitCode, null, 'the first is alive and holds it as well');
    });

    it('is needed: by a bare stat, a lease that is renewed all the time looks unchanged for longer than its term', async (t) => {
      const shared = await withSharedDirectory(t);
      await startStock(t, join(shared.a, 'lock'), STOCK, process.env);
      const look = async (host: string): Promise<number> => (await stat(join(host, 'lock.lock'))).mtimeMs;
      await look(shared.b);
      // A client trusts what it knows of a directory for longer each time that it has found it unchanged; the first span is the shortest.
      const [before, renewed] = [await look(shared.b), await look(shared.a)];
      let unchangedMs = 0;
      const begun = performance.now();
      while ((await look(shared.b)) === before && unchangedMs < LONGER_MS) {
        unchangedMs = performance.now() - begun;
        await setTimeout(250);
      }
      t.diagnostic(`B saw it unchanged for ${Math.round(unchangedMs)} ms, and A renewed it every ${STOCK.update} ms`);
      assert.ok((await look(shared.a)) > renewed);
      assert.ok(unchangedMs > LEASE.leaseMs, `${unchangedMs} ms`);
    });
  });
});

describe('a lease whose holder is cut off', { skip: withoutFaults() }, () => {
  it('is taken over; the holder hears of it by its own clock, and its return disturbs the next one in nothing', async (t) => {
    const shared = await withSharedDirectory(t);
    t.after(() => { rejoin('a'); });
    // A process of its own: this one must not have calls that hang.
    const holder = await startLocker(t);
    const held = await holder.acquire(join(shared.a, 'lock'), LEASE);
    cutOff('a');
    const begun = performance.now();
    const since = (): number => Math.round(performance.now() - begun);
    const lost = held.lost.then((code) => ({ code, afterMs: since() }));
    const next = await acquireLock(join(shared.b, 'lock'), { ...LEASE, timeoutMs: TAKEN_OVER_MS });
    const takenAfterMs = since();
    const { code, afterMs } = await lost;
    t.diagnostic(`A's signal aborted ${afterMs} ms after the cut, B took over after ${takenAfterMs} ms, with a term of ${LEASE.leaseMs}`);
    assert.equal(code, LOST.code);
    await assert.rejects(held.assertHeld(), LOST);
    rejoin('a');
    await assert.rejects(held.assertHeld(), LOST);
    await held.release();
    await next.assertHeld();
    await assert.rejects(acquireLock(join(shared.a, 'lock'), { ...LEASE, timeoutMs: 1000 }), TIMEOUT);
    await next.release();
  });
});

/** A process that holds the lock of a directory by the package as it comes. */
async function startStock(t: TestContext, path: string, options: { readonly stale: number; readonly update: number }, env: NodeJS.ProcessEnv): Promise<Child> {
  await mkdir(path, { recursive: true });
  const child = startChild(t, new URL('./fixtures/stock.js', import.meta.url), [path, JSON.stringify({ ...options, retries: 0 })], { env });
  assert.equal(await child.message(), 'held');
  return child;
}
