import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { LockTimeoutError, type LockHolder } from '../../src/errors.ts';
import { withinLimits, type Wait } from '../../src/lock/wait.ts';
import { until } from './fixtures/until.ts';

const HOLDER: LockHolder = { host: 'worker-1', pid: 7, since: '2026-01-02T03:04:05.678Z' };

const holder = (): Promise<LockHolder> => Promise.resolve(HOLDER);
const ignore = (): void => undefined;
const never = <T,>(): Promise<T> => new Promise<T>(ignore);

/** Timers alone do not say that the file system hangs; work that never settles does. */
function hang(wait: Wait): Promise<never> {
  wait.contended();
  return never();
}

describe('a wait', () => {
  it('tries once, however short its limit is', async () => {
    const slow = async (): Promise<string> => {
      await setTimeout(60);
      return 'had';
    };
    assert.equal(await withinLimits('/a', { timeoutMs: 0 }, holder, slow, ignore), 'had');
  });

  it('ends where the file system does not even answer', async () => {
    await assert.rejects(withinLimits('/a', { timeoutMs: 0 }, holder, () => never(), ignore), LockTimeoutError);
  });

  it('does not wait for a holder’s name that does not come', async () => {
    await assert.rejects(withinLimits('/a', { timeoutMs: 20 }, () => never(), hang, ignore), (error) => {
      assert.ok(error instanceof LockTimeoutError);
      assert.equal(error.holder, undefined);
      return true;
    });
  });

  it('gives back what comes too late', async () => {
    const given: string[] = [];
    const reason = new Error('enough');
    const controller = new AbortController();
    const late = async (): Promise<string> => {
      await setTimeout(30);
      return 'late';
    };
    const waiting = withinLimits('/a', { signal: controller.signal }, holder, late, (value) => given.push(value));
    controller.abort(reason);
    await assert.rejects(waiting, (error) => error === reason);
    await until(() => given.length === 1, 'the late value is given back');
    assert.deepEqual(given, ['late']);
  });

  it('takes a limit longer than any timer', async () => {
    for (const timeoutMs of [2 ** 31, Infinity]) {
      const work = async (wait: Wait): Promise<string> => {
        wait.contended();
        await setTimeout(20, undefined, { signal: wait.signal });
        return 'had';
      };
      assert.equal(await withinLimits('/a', { timeoutMs }, holder, work, ignore), 'had');
    }
  });

  it('leaves no listener on its caller’s signal', async () => {
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...given: Parameters<typeof add>) => {
      listeners += 1;
      add(...given);
    };
    signal.removeEventListener = (...given: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...given);
    };
    for (const timeoutMs of [undefined, 1000]) await withinLimits('/a', { signal, timeoutMs }, holder, () => Promise.resolve(1), ignore);
    assert.equal(listeners, 0);
  });
});
