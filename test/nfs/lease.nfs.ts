/** Leases between two hosts: exclusion, hand-over, and take-over by what the waiter itself has seen. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { acquireLock } from '../../src/lock/index.ts';
import { startLocker } from '../lock/fixtures/remote.ts';
import { restartServer } from './faults.ts';
import { withoutFaults, withSharedDirectory } from './lab.ts';

const LEASE = { strategy: 'lease', leaseMs: 4000 } as const;

describe('a lease on NFSv4.1', () => {
  it('of one host excludes another, and is handed over', async (t) => {
    const shared = await withSharedDirectory(t);
    const held = await acquireLock(join(shared.a, 'lock'), LEASE);
    // Longer than the term: a holder that lives keeps it.
    await assert.rejects(acquireLock(join(shared.b, 'lock'), { ...LEASE, timeoutMs: 7000 }), { code: 'ERR_LOCK_TIMEOUT' });
    await held.assertHeld();
    await held.release();
    const next = await acquireLock(join(shared.b, 'lock'), { ...LEASE, timeoutMs: 3000 });
    await next.assertHeld();
    await next.release();
  });

  for (const [hours, skew] of [['', undefined], [', by a holder whose clock is an hour ahead', 3_600_000], [', by a holder whose clock is an hour behind', -3_600_000]] as const) {
    it(`is taken over from a killed holder after the term, and not before${hours}`, async (t) => {
      const shared = await withSharedDirectory(t);
      const environment = skew === undefined ? {} : { SKEW_MS: String(skew), NODE_OPTIONS: `--import=${new URL('../lock/fixtures/skew.js', import.meta.url).href}` };
      const holder = await startLocker(t, { env: { ...process.env, ...environment } });
      await holder.acquire(join(shared.a, 'lock'), LEASE);
      holder.process.kill('SIGKILL');
      await holder.ended;
      const begun = performance.now();
      const next = await acquireLock(join(shared.b, 'lock'), { ...LEASE, timeoutMs: 30_000 });
      const waited = Math.round(performance.now() - begun);
      t.diagnostic(`taken over after ${waited} ms, with a term of ${LEASE.leaseMs}`);
      assert.ok(waited >= LEASE.leaseMs, `${waited} ms`);
      await next.release();
    });
  }

  it('stays with its holder when the server is restarted', { skip: withoutFaults() }, async (t) => {
    const shared = await withSharedDirectory(t);
    const long = { strategy: 'lease', leaseMs: 30_000 } as const;
    const held = await acquireLock(join(shared.a, 'lock'), long);
    await restartServer();
    await assert.rejects(acquireLock(join(shared.b, 'lock'), { ...long, timeoutMs: 15_000 }), { code: 'ERR_LOCK_TIMEOUT' });
    await held.assertHeld();
    await held.release();
  });
});
