/** The server stops and starts: whoever holds a lock gets it back in the grace period, and nobody gets it in between. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { writeFileAtomic } from '../../src/atomic/index.ts';
import { acquireLock } from '../../src/lock/index.ts';
import { restartServer } from './faults.ts';
import { withoutFaults, withSharedDirectory } from './lab.ts';

describe('a server that is restarted', { skip: withoutFaults() }, () => {
  it('leaves a lock with its holder', async (t) => {
    const shared = await withSharedDirectory(t);
    const held = await acquireLock(join(shared.a, 'lock'));
    const begun = performance.now();
    await restartServer();
    await assert.rejects(acquireLock(join(shared.b, 'lock'), { timeoutMs: 12_000 }), { code: 'ERR_LOCK_TIMEOUT' });
    await held.assertHeld();
    t.diagnostic(`the holder was sure of it ${Math.round(performance.now() - begun)} ms after the restart`);
    await writeFileAtomic(join(shared.a, 'file'), 'content');
    assert.equal(held.signal.aborted, false);
    await held.release();
    await (await acquireLock(join(shared.b, 'lock'), { timeoutMs: 30_000 })).release();
  });
});
