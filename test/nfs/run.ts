/**
 * `npm run test:nfs`: the suite on real NFSv4.1, in machines that it boots itself, or on two mounts of one export by two clients, given as
 * `RWX_CACHE_NFS_MOUNTS=/path/a:/path/b`. Words choose test files, as for `npm test`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ENDING_SIGNALS } from '../support/machine/machine.ts';
import { sourceTree } from '../support/source-tree.ts';
import { missingPackages, runMachine } from './boot.ts';
import { givenMounts, MOUNTS } from './given-mounts.ts';
import { labEnvironment, type Lab } from './lab.ts';
import { makeQueue, UNFIT } from './queue.ts';
import { createReport } from './report.ts';

/** A machine has one core. More than two would wait for the longest file. */
const MACHINES = 2;
/** Two machines on two cores that do nothing else take a third of it. */
const SECONDS = 1200;
/** So that the machines end together; the rest takes less than a minute each. */
// `retransmission` comes second, so that it has a fresh machine: behind other files it has stood still for ever in three whole runs of five, and never alone. Not cured, and the
// reason not known.
const LONGEST_FIRST = ['main-job', 'retransmission', 'publish', 'errors', 'loss', 'stale-hits', 'look-ups', 'mount-options', 'lease', 'kernel-locks'];
const SUFFIX = '.nfs.js';

/** Runs the suite once: takes files from the queue until there are none, prints, and answers an exit code. */
type Runner = (queue: string, print: (line: string) => void) => Promise<number>;

const suite = join(import.meta.dirname, `suite.js`);

function chooseFiles(words: readonly string[]): string[] {
  const rank = (file: string): number => (LONGEST_FIRST.includes(file) ? LONGEST_FIRST.indexOf(file) : LONGEST_FIRST.length);
  return readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => name.slice(0, -SUFFIX.length))
    .filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
    .sort((one, other) => rank(one) - rank(other) || one.localeCompare(other));
}

const onMachine: Runner = async (queue, print) => {
  const machine = {
    root: sourceTree(),
    program: suite,
    words: ['--guest', queue],
    memory: '1280M',
    seconds: SECONDS,
    // The kernel's last words.
    print: (line: string) => { if (!/^(?:reboot|sysrq): /u.test(line)) print(line); },
  };
  let code = await runMachine(machine);
  while (code === UNFIT) code = await runMachine(machine);
  return code;
};

const onMounts = (lab: Lab): Runner => async (queue, print) => {
  // A group of its own, so that its tests' processes can be ended with it.
  const child = spawn(process.execPath, [suite, queue], { env: { ...process.env, ...labEnvironment(lab) }, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const end = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid);
  };
  process.once('exit', end);
  const ended = once(child, 'exit') as Promise<[number | null]>;
  for await (const line of createInterface({ input: child.stdout })) print(line);
  const [code] = await ended;
  process.off('exit', end);
  return code ?? 1;
};

async function runSuite(files: readonly string[], runners: readonly Runner[]): Promise<number> {
  const report = createReport(files, console.log);
  const queue = makeQueue(files);
  process.once('exit', () => { rmSync(queue, { recursive: true, force: true }); });
  const begun = performance.now();
  const codes = await Promise.all(runners.map(async (runner) => {
    const { print, close } = report.listen();
    // Also when a signal ends it all: what there is of a file's results is shown.
    process.once('exit', close);
    const code = await runner(queue, print);
    close();
    return code;
  }));
  const good = report.finish();
  console.log(`in ${Math.round((performance.now() - begun) / 1000)} s, ${runners.length} at a time`);
  return good && codes.every((code) => code === 0) ? 0 : 1;
}

async function main(words: readonly string[]): Promise<number> {
  const files = chooseFiles(words);
  if (files.length === 0) {
    console.error(`No file of the suite matches ${words.join(', ')}`);
    return 1;
  }
  const mounts = process.env[MOUNTS];
  if (mounts !== undefined) return runSuite(files, [onMounts(await givenMounts(mounts))]);
  const missing = missingPackages();
  if (missing.length > 0) {
    console.log(`skipped: the NFS suite boots a machine of its own, and that takes: apt-get install ${missing.join(' ')}`);
    console.log(`or give it two mounts of one export by two clients: ${MOUNTS}=/path/a:/path/b`);
    return 0;
  }
  return runSuite(files, Array.from({ length: Math.min(MACHINES, availableParallelism(), files.length) }, () => onMachine));
}

// Not `once`: `timeout` sends its signal twice, and the second must not cut the clearing away short.
for (const signal of ENDING_SIGNALS) process.on(signal, () => process.exit(130));
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
