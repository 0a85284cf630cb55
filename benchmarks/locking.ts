/** The kernel lock: a cycle that nobody contends for, fairness under contention, and how soon it is free when its holder is killed. */
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { tryLock, unlock } from 'fs-native-extensions';
import { lock as lockByPackage } from 'proper-lockfile';
import { acquireLock } from '../src/lock/index.ts';
import { comparison, duration, interleave, median, timeOfEach, type Row, type Scope, type Subject } from './harness.ts';
import { message, startProgram } from './processes.ts';

const CYCLES = 200;
const CONTENDERS = 6;
const HOLD_MS = 5;
const CONTEND_MS = 4000;

/** What a lock by the same addon cannot do without; with `named` it leaves its holder's name, as ours does. */
async function byHand(path: string, named: boolean): Promise<void> {
  const handle = await open(path, 'r+');
  if (!tryLock(handle.fd)) throw new Error(`${path} is locked`);
  if (named) {
    const record = Buffer.alloc(256, ' ');
    record.write(JSON.stringify({ host: hostname(), pid: process.pid, since: new Date().toISOString() }));
    await handle.write(record, 0, record.length, 0);
  }
  unlock(handle.fd);
  await handle.close();
}

async function uncontended(scope: Scope): Promise<Row[]> {
  scope.say('acquire and release, uncontended');
  const path = join(scope.directory, 'uncontended.lock');
  await (await open(path, 'w')).close();
  const times = await interleave(scope.rounds(40), {
    ours: () =>
      timeOfEach(CYCLES, async () => {
        const lock = await acquireLock(path);
        await lock.release();
      }),
    hand: () => timeOfEach(CYCLES, () => byHand(path, true)),
    nameless: () => timeOfEach(CYCLES, () => byHand(path, false)),
    others: () =>
      timeOfEach(CYCLES, async () => {
        const release = await lockByPackage(path);
        await release();
      }),
  });
  const name = 'kernel lock, acquire and release, uncontended';
  return [
    comparison(name, times.ours, 'the same addon by hand, with the holder’s record', times.hand, 3),
    comparison(name, times.ours, 'the same addon by hand, nameless', times.nameless),
    comparison(name, times.ours, 'proper-lockfile', times.others),
  ];
}

async function contended(scope: Scope, kind: 'kernel' | 'proper-lockfile'): Promise<readonly number[]> {
  scope.say(`${CONTENDERS} processes, ${kind}`);
  const path = join(scope.directory, `contended-${kind}.lock`);
  await (await open(path, 'w')).close();
  const children = await Promise.all(Array.from({ length: CONTENDERS }, () => startProgram('contender', { path, kind, holdMs: HOLD_MS, forMs: CONTEND_MS })));
  const counts = children.map((child) => message(child));
  const exits = children.map((child) => once(child, 'exit'));
  for (const child of children) child.send('go');
  const acquired = (await Promise.all(counts)) as number[];
  await Promise.all(exits);
  return acquired;
}

async function fairness(scope: Scope): Promise<Row> {
  const ours = await contended(scope, 'kernel');
  const others = await contended(scope, 'proper-lockfile');
  const span = (counts: readonly number[]): string => `${Math.min(...counts)} to ${Math.max(...counts)} each`;
  const ratio = Math.max(...ours) / Math.min(...ours);
  return {
    name: `${CONTENDERS} processes, ${HOLD_MS} ms hold, ${CONTEND_MS / 1000} s: acquisitions, most by fewest`,
    ours: span(ours),
    other: `proper-lockfile, polling every ${HOLD_MS} ms or more: ${span(others)}`,
    ratio: ratio.toFixed(2),
    target: '≤ 1.2',
    holds: ratio <= 1.2,
  };
}

/** From the signal until the waiter, which stood in the queue, has it. */
async function afterKill(path: string): Promise<number> {
  const holder = await startProgram('holder', { path });
  const exited = once(holder, 'exit');
  let queued = (): void => undefined;
  const waiting = new Promise<void>((resolve) => {
    queued = resolve;
  });
  const granted = acquireLock(path, { onWait: () => { queued(); } }).then((lock) => ({ lock, at: performance.now() }));
  await waiting;
  const killedAt = performance.now();
  holder.kill('SIGKILL');
  const { lock, at } = await granted;
  await lock.release();
  await exited;
  return at - killedAt;
}

async function killed(scope: Scope): Promise<Row> {
  scope.say('the holder is killed');
  const times: number[] = [];
  for (let round = 0; round < scope.rounds(20); round += 1) times.push(await afterKill(join(scope.directory, 'killed.lock')));
  const worst = Math.max(...times);
  return {
    name: 'kernel lock, granted after SIGKILL of its holder',
    ours: `${duration(median(times))}, worst of ${times.length}: ${duration(worst)}`,
    other: 'proper-lockfile: its lease of 10 s',
    ratio: '',
    target: '< 50 ms',
    holds: worst < 50,
  };
}

export const locking: Subject = {
  name: 'locking',
  run: async (scope) => [...(await uncontended(scope)), await fairness(scope), await killed(scope)],
};
