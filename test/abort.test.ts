import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { abortReason, delay, onAbort, raceAbort } from '../src/abort.ts';

describe('waiting that can be ended', () => {
  it('ends at once, with the signal’s own reason', async () => {
    const stop = new AbortController();
    const reason = new Error('enough');
    const waits = [delay(60_000, stop.signal), raceAbort(new Promise(() => undefined), stop.signal)];
    stop.abort(reason);
    for (const wait of waits) await assert.rejects(wait, (error) => error === reason);
    await assert.rejects(delay(0, stop.signal), (error) => error === reason);
    await assert.rejects(raceAbort(Promise.resolve(1), stop.signal), (error) => error === reason);
  });

  it('hands what comes too late to whoever has to release it', async () => {
    const stop = new AbortController();
    let finish: (value: string) => void = () => undefined;
    const late: string[] = [];
    const race = raceAbort(new Promise<string>((resolve) => (finish = resolve)), stop.signal, (value) => late.push(value));
    stop.abort(new Error('enough'));
    await assert.rejects(race, /enough/u);
    finish('a handle');
    await delay(0);
    assert.deepEqual(late, ['a handle']);
  });

  it('puts one listener on a signal, however many wait for it', async (t) => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): number => warnings.push(warning);
    process.on('warning', onWarning);
    t.after(() => process.off('warning', onWarning));
    const stop = new AbortController();
    const waits = Array.from({ length: 50 }, () => delay(60_000, stop.signal));
    let called = 0;
    const unfollow = onAbort(stop.signal, () => (called += 1));
    onAbort(stop.signal, () => (called += 10));
    unfollow();
    stop.abort(new Error('enough'));
    for (const wait of waits) await assert.rejects(wait, /enough/u);
    await delay(1);
    assert.equal(called, 10);
    assert.deepEqual(warnings, []);
  });

  it('makes an Error of every reason', () => {
    assert.ok(abortReason(AbortSignal.abort('a word')) instanceof Error);
    assert.match(abortReason(AbortSignal.abort('a word')).message, /a word/u);
    assert.equal(abortReason(AbortSignal.abort()).name, 'AbortError');
  });
});
