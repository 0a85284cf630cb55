import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { startHeartbeat } from '../../src/lock/heartbeat.ts';
import { startWatchdog } from '../../src/lock/watchdog.ts';
import { until } from './fixtures/until.ts';

interface Loss {
  readonly reason: string;
  readonly cause: unknown;
}

/** A heartbeat whose beats the test settles, with what it has told. */
function heartbeatOf(termMs: number, beat: () => Promise<void>): { heartbeat: ReturnType<typeof startHeartbeat>; losses: Loss[]; lost: Promise<Loss> } {
  const losses: Loss[] = [];
  let tell: (loss: Loss) => void;
  const lost = new Promise<Loss>((resolve) => (tell = resolve));
  const onLost = (reason: string, cause?: unknown): void => {
    losses.push({ reason, cause });
    tell({ reason, cause });
  };
  return { heartbeat: startHeartbeat({ beat, termMs, begunAt: performance.now(), onLost }), losses, lost };
}

/** Timers of a heartbeat keep no process alive, so the test does. */
async function alive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, 1000);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

const never = (): Promise<void> => new Promise<void>(() => undefined);

describe('a heartbeat', () => {
  it('is lost by a beat that fails, with its cause', async () => {
    const failure = new Error('EIO');
    const { lost } = heartbeatOf(90, () => Promise.reject(failure));
    assert.equal((await alive(lost)).cause, failure);
  });

  it('is lost by a beat that hangs, at the end of the term', async () => {
    let beats = 0;
    const begun = performance.now();
    const { lost, losses } = heartbeatOf(90, () => {
      beats += 1;
      return never();
    });
    assert.match((await alive(lost)).reason, /no heartbeat got through for 90 ms/u);
    assert.ok(performance.now() - begun >= 90);
    await setTimeout(100);
    assert.equal(losses.length, 1);
    assert.equal(beats, 1, 'a second beat would take a second thread');
  });

  it('is told about now, not about a beat that was begun before', async () => {
    const settle: (() => void)[] = [];
    const { heartbeat } = heartbeatOf(60_000, () => new Promise<void>((resolve) => settle.push(resolve)));
    const first = heartbeat.beatNow();
    await setTimeout(5);
    let done = false;
    const second = heartbeat.beatNow().then(() => (done = true));
    settle[0]?.();
    await first;
    await setTimeout(5);
    assert.equal(done, false);
    assert.equal(settle.length, 2);
    settle[1]?.();
    await second;
    heartbeat.stop();
  });

  it('answers the one who asks when the term ends, though the beat hangs', async () => {
    const { heartbeat, losses } = heartbeatOf(90, never);
    await alive(heartbeat.beatNow());
    assert.equal(losses.length, 1);
  });

  it('goes on while beats get through, and says nothing after it was stopped', async () => {
    let beats = 0;
    const { heartbeat, losses } = heartbeatOf(600, () => {
      beats += 1;
      return Promise.resolve();
    });
    await until(() => beats >= 5, 'five beats, more than one term');
    heartbeat.stop();
    const before = beats;
    await setTimeout(450);
    assert.equal(beats, before);
    assert.deepEqual(losses, []);
  });
});

describe('a watchdog', () => {
  it('counts from the time at which a sign of life was begun, and never back', () => {
    const now = performance.now();
    const watchdog = startWatchdog(1000, now, () => undefined);
    watchdog.renew(now - 900);
    assert.ok(watchdog.remainingMs() > 500);
    watchdog.stop();
    const late = startWatchdog(1000, now - 2000, () => undefined);
    assert.equal(late.isOver(), true);
    late.stop();
  });
});
