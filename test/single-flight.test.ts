import assert from 'node:assert/strict';
import { test } from 'node:test';
import { singleFlight } from '../src/single-flight.ts';

/** Work that ends when it is told to, and shows how often it began and whether it was stopped. */
function controlledWork(): { work: (signal: AbortSignal) => Promise<string>; finish: (value: string) => void; fail: (error: Error) => void; signals: AbortSignal[] } {
  const signals: AbortSignal[] = [];
  let finish: (value: string) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const work = (signal: AbortSignal): Promise<string> =>
    new Promise((resolve, reject) => {
      signals.push(signal);
      finish = resolve;
      fail = reject;
    });
  return { work, finish: (value) => { finish(value); }, fail: (error) => { fail(error); }, signals };
}

test('callers of one key share one piece of work, and later ones start anew', async () => {
  const { work, finish, signals } = controlledWork();
  const flights = singleFlight<string>();
  const both = Promise.all([flights.run('a', work), flights.run('a', work)]);
  finish('one');
  assert.deepEqual(await both, ['one', 'one']);
  assert.equal(signals.length, 1);
  const next = flights.run('a', work);
  finish('two');
  assert.equal(await next, 'two');
  assert.equal(signals.length, 2);
});

test('all callers get the same failure, and it is not kept', async () => {
  const { work, fail, finish } = controlledWork();
  const flights = singleFlight<string>();
  const both = Promise.allSettled([flights.run('a', work), flights.run('a', work)]);
  const failure = new Error('no');
  fail(failure);
  assert.deepEqual(await both, [{ status: 'rejected', reason: failure }, { status: 'rejected', reason: failure }]);
  const next = flights.run('a', work);
  finish('good');
  assert.equal(await next, 'good');
});

test('a caller who leaves ends only his own wait; the work stops with the last one', async () => {
  const { work, signals } = controlledWork();
  const flights = singleFlight<string>();
  const [first, second] = [new AbortController(), new AbortController()];
  const waits = [flights.run('a', work, first.signal), flights.run('a', work, second.signal)];
  first.abort(new Error('first left'));
  await assert.rejects(waits[0] ?? Promise.resolve(), /first left/u);
  assert.equal(signals[0]?.aborted, false);
  second.abort(new Error('second left'));
  await assert.rejects(waits[1] ?? Promise.resolve(), /second left/u);
  assert.equal(signals[0].aborted, true);
});

test('whoever comes after the last one has left does not join the stopped work', async () => {
  const { work, signals, finish } = controlledWork();
  const flights = singleFlight<string>();
  const leaving = new AbortController();
  const left = flights.run('a', work, leaving.signal);
  leaving.abort(new Error('left'));
  await assert.rejects(left, /left/u);
  const next = flights.run('a', work);
  finish('fresh');
  assert.equal(await next, 'fresh');
  assert.equal(signals.length, 2);
});

test('a caller whose signal has aborted starts nothing', async () => {
  const { work, signals } = controlledWork();
  await assert.rejects(singleFlight<string>().run('a', work, AbortSignal.abort(new Error('before'))), /before/u);
  assert.equal(signals.length, 0);
});
