/** A holder that is cut off for longer than the server's lease: another takes over, and the holder finds out. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { acquireLock } from '../../src/lock/index.ts';
import type { EnsureReport, EnsureTask } from '../cache/fixtures/ensure.ts';
import { HOST, openCache, THING, withRegistry } from '../cache/support.ts';
import { startLocker } from '../lock/fixtures/remote.ts';
import { startChild } from '../support/child.ts';
import { cutOff, rejoin } from './faults.ts';
import { withoutFaults, withSharedDirectory } from './lab.ts';

/** Far beyond the ten seconds of the server's lease. */
const TAKEN_OVER_MS = 40_000;

describe('a holder that is cut off', { skip: withoutFaults() }, () => {
  it('loses its lock to another host, hears of it by its own clock, and knows it when it is asked', async (t) => {
    const shared = await withSharedDirectory(t);
    t.after(() => { rejoin('a'); });
    const path = join(shared.a, 'lock');
    // Processes of their own: this one must not have calls that hang.
    const [short, long] = [await startLocker(t), await startLocker(t)];
    const watched = await short.acquire(path, { leaseMs: 6000 });
    const fenced = await long.acquire(join(shared.a, 'other'), { leaseMs: 120_000 });
    cutOff('a');
    const begun = performance.now();
    const since = (): number => Math.round(performance.now() - begun);
    const taking = [acquireLock(join(shared.b, 'lock'), { timeoutMs: TAKEN_OVER_MS }), acquireLock(join(shared.b, 'other'), { timeoutMs: TAKEN_OVER_MS })];
    assert.equal(await watched.lost, 'ERR_LOCK_LOST');
    t.diagnostic(`A's signal aborted after ${since()} ms, with a term of 6000`);
    await assert.rejects(watched.assertHeld(), { code: 'ERR_LOCK_LOST' });
    const [first, second] = await Promise.all(taking);
    t.diagnostic(`B had both locks after ${since()} ms`);
    rejoin('a');
    await assert.rejects(fenced.assertHeld(), { code: 'ERR_LOCK_LOST' });
    assert.equal(await fenced.lost, 'ERR_LOCK_LOST');
    t.diagnostic(`A, whose term was not over, was told by the server after ${since()} ms`);
    await first?.assertHeld();
    await second?.assertHeld();
    await fenced.release();
    await first?.release();
    await second?.release();
  });

  it('does not publish with ensure: it starts again, and joins what the other has installed', async (t) => {
    const shared = await withSharedDirectory(t);
    t.after(() => { rejoin('a'); });
    const registry = await withRegistry(t);
    // A's download stays where it is until the cable has been pulled.
    registry.faults.inject({ on: 'zip', delayMs: 3000, times: 1 });
    const a = startChild(t, new URL('../cache/fixtures/ensure.js', import.meta.url));
    assert.equal(await a.message(), 'ready');
    a.process.send({ cache: { directory: join(shared.a, 'cache'), hosts: registry.hosts(HOST) }, requests: [THING] } satisfies EnsureTask);
    while (registry.count('zip') === 0) await setTimeout(20);
    cutOff('a');
    const b = await openCache(t, registry, { directory: join(shared.b, 'cache') });
    const begun = performance.now();
    assert.equal((await b.ensure(THING)).outcome, 'installed');
    t.diagnostic(`B had it installed after ${Math.round(performance.now() - begun)} ms`);
    rejoin('a');
    const [report] = (await a.message()) as EnsureReport[];
    t.diagnostic(JSON.stringify(report));
    assert.equal(report?.outcome, 'joined');
    assert.equal((await b.lookup(THING))?.outcome, 'hit');
  });
});
