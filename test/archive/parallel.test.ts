import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { inParallel } from '../../src/archive/parallel.ts';

describe('inParallel', () => {
  it('does every item once, and no more at once than the limit', async () => {
    let running = 0;
    let most = 0;
    const done: number[] = [];
    await inParallel([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
      running += 1;
      most = Math.max(most, running);
      await turn();
      running -= 1;
      done.push(item);
    });
    assert.deepEqual(done.sort(), [1, 2, 3, 4, 5, 6, 7]);
    assert.equal(most, 3);
  });

  it('rejects with the first failure, begins nothing after it, and only when all that was begun has ended', async () => {
    const begun: number[] = [];
    let ended = 0;
    const work = inParallel([1, 2, 3, 4, 5], 2, async (item, signal) => {
      begun.push(item);
      if (item === 1) throw new Error('first');
      for (let i = 0; i < 10_000 && !signal.aborted; i += 1) await turn();
      for (let i = 0; i < 10; i += 1) await turn();
      ended += 1;
      throw new Error('follows from it');
    });
    await assert.rejects(work, /first/u);
    assert.deepEqual(begun, [1, 2]);
    assert.equal(ended, 1);
  });

  it('aborts with the reason of its signal', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const work = inParallel(
      [1, 2],
      1,
      async (_, signal) => {
        controller.abort(reason);
        await turn();
        signal.throwIfAborted();
      },
      controller.signal,
    );
    await assert.rejects(work, reason);
    await assert.rejects(
      inParallel([1], 1, () => assert.fail('begun'), controller.signal),
      reason,
    );
  });
});
