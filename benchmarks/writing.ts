/** `writeFileAtomic` beside the same core calls by hand, and beside `write-file-atomic`. */
import { randomBytes } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import writeFileAtomicPackage from 'write-file-atomic';
import { writeFileAtomic } from '../src/atomic/index.ts';
import { comparison, interleave, ratioOf, timeOfEach, type Row, type Scope, type Subject } from './harness.ts';

const DATA = randomBytes(4096);

/** What an atomic write cannot do without: a private name, exclusively; the bytes; with `durable` both syncs; the rename. */
async function byHand(path: string, durable: boolean): Promise<void> {
  const parent = durable ? await open(dirname(path), 'r') : undefined;
  const temporary = `${path}.${randomBytes(16).toString('hex')}.tmp`;
  const handle = await open(temporary, 'wx');
  await handle.writeFile(DATA);
  if (durable) await handle.sync();
  await handle.close();
  await rename(temporary, path);
  await parent?.sync();
  await parent?.close();
}

async function compare(scope: Scope, durable: boolean): Promise<Row[]> {
  const calls = durable ? 30 : 200;
  const path = (name: string): string => join(scope.directory, `${name}-${durable ? 'synced' : 'unsynced'}`);
  scope.say(`4 KiB, ${durable ? 'with' : 'without'} sync`);
  const times = await interleave(scope.rounds(40), {
    ours: () => timeOfEach(calls, () => writeFileAtomic(path('ours'), DATA, { durable })),
    hand: () => timeOfEach(calls, () => byHand(path('hand'), durable)),
    others: () => timeOfEach(calls, () => writeFileAtomicPackage(path('others'), DATA, { fsync: durable })),
  });
  const name = `writeFileAtomic, 4 KiB, ${durable ? 'file and directory synced' : 'no sync'}`;
  const others = comparison(name, times.ours, `write-file-atomic, ${durable ? 'file synced' : 'no sync'}`, times.others);
  const floor = ratioOf(times.hand, times.others);
  return [
    comparison(name, times.ours, 'the same calls by hand', times.hand, 1.15),
    { ...others, ratio: `${others.ratio} (${(1 / ratioOf(times.ours, times.others)).toFixed(2)} times as fast)`, target: `by hand ${floor.toFixed(2)} (${(1 / floor).toFixed(2)} times)` },
  ];
}

export const writing: Subject = {
  name: 'writing',
  run: async (scope) => [...(await compare(scope, false)), ...(await compare(scope, true))],
};
