/** Runs rounds of writing, cutting the power, and checking, on one disk. Runs on the host; each boot checks what the one before it wrote. */
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DISK, sharedTmpdir, startMachine } from '../support/machine/machine.ts';
import { sourceTree } from '../support/source-tree.ts';
import { imagesDirectory, makeImage } from './image.ts';
import { parseLine, type Finding, type Kind, type Line, type Place, type Told, type Task, type Writing } from './protocol.ts';

/** What is to be done in a round. */
export interface Plan {
  readonly writers: readonly Writing[];
  /** The power is cut so long after every writer has published something of each of its kinds. */
  readonly writingMs: number;
}

/** What came of it. */
export interface Round extends Plan {
  readonly told: readonly Told[];
  readonly counts: Partial<Record<Finding['kind'], number>>;
  readonly examples: readonly Finding[];
}

/** A boot, a check, and what is written then, take 15 s. */
const SECONDS = 300;

/** A moment between 1 and 6 s, which follows from the seed. */
export function randomMoment(seed: string, round: number): number {
  return 1000 + (createHash('sha256').update(`${seed} ${round}`).digest().readUInt32BE() % 5000);
}

/** Runs the rounds; `roundsPerCache` of them go on in the cache that the cuts before have left behind. */
export async function runRounds(plans: readonly Plan[], options: { readonly roundsPerCache: number; readonly onRound?: (round: Round, index: number) => void }): Promise<Round[]> {
  const image = await mkdtemp(join(imagesDirectory(), 'rwx-cache-power-'));
  const directory = await mkdtemp(join(sharedTmpdir(), 'rwx-cache-power-'));
  const removeBoth = (): void => {
    for (const path of [image, directory]) rmSync(path, { recursive: true, force: true });
  };
  process.once('exit', removeBoth);
  try {
    const disk = join(image, 'disk');
    makeImage(disk);
    const rounds: Round[] = [];
    let before: { readonly plan: Plan; readonly place: Place; readonly told: readonly Told[] } | undefined;
    for (const [round, plan] of [...plans, undefined].entries()) {
      const firstInCache = (of: number): number => of - (of % options.roundsPerCache);
      const place = { round, home: join(DISK, `round-${round}`), cache: join(DISK, `cache-${firstInCache(round)}`) };
      const earlier = rounds.slice(firstInCache(round - 1)).flatMap(({ told }) => told);
      const task: Task = {
        check: before && { place: before.place, told: before.told, earlier: earlier.filter(({ kind }) => kind === 'package') },
        write: plan && { place, writers: plan.writers },
      };
      const lines = await boot(disk, join(directory, 'task.json'), task, plan?.writingMs);
      if (before !== undefined) {
        const checked = lines.find((line) => line.line === 'checked');
        if (checked === undefined) throw new Error(`Round ${round - 1} was not checked`);
        const done: Round = { ...before.plan, told: before.told, counts: checked.counts, examples: checked.examples };
        rounds.push(done);
        options.onRound?.(done, round - 1);
      }
      before = plan && { plan, place, told: lines.filter((line) => line.line === 'told') };
    }
    return rounds;
  } finally {
    process.off('exit', removeBoth);
    removeBoth();
  }
}

/** One boot, to its end or to the cut. Answers what was told until then. */
async function boot(disk: string, taskFile: string, task: Task, writingMs: number | undefined): Promise<Line[]> {
  await writeFile(taskFile, JSON.stringify(task));
  const lines: Line[] = [];
  const noise: string[] = [];
  let writing = task.write?.writers.length;
  let isCut = false;
  const machine = await startMachine({
    root: sourceTree(),
    program: join(import.meta.dirname, 'guest.js'),
    words: [taskFile],
    memory: '1G',
    seconds: SECONDS,
    modules: [],
    disk,
    print: (text) => {
      const line = parseLine(text);
      if (line === undefined) noise.push(text);
      else lines.push(line);
      if (line?.line !== 'begun' || writing === undefined) return;
      writing -= 1;
      if (writing > 0) return;
      setTimeout(() => {
        isCut = true;
        machine.cut();
      }, writingMs);
    },
  });
  const code = await machine.ended;
  const failed = lines.filter((line) => line.line === 'failed').map(({ what }) => what);
  if (failed.length > 0 || (task.write === undefined ? code !== 0 : !isCut)) throw new Error(['The machine did not do its task', ...failed, ...noise].join('\n'));
  return lines;
}

/** A line of the table. */
export function describeRound({ told, counts, writingMs }: Round, index: number): string {
  const count = (kind: Kind): number => told.filter((one) => one.kind === kind).length;
  const others = (counts.temporary ?? 0) + (counts.unrecorded ?? 0) + (counts.after ?? 0);
  return `| ${[index + 1, writingMs, count('file'), count('directory'), count('package'), counts.missing ?? 0, counts.broken ?? 0, others].join(' | ')} |`;
}

/** The table's head. */
export const TABLE_HEAD = '| round | ms of writing | files told | directories | packages | missing | broken | other faults |\n| --- | --- | --- | --- | --- | --- | --- | --- |';
