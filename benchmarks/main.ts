/**
 * `npm run bench [-- words…]`: every subject whose name contains one of the words, or all of them, as one Markdown table.
 * `--quick` takes few rounds, to see that it works; `--update-readme` puts the table into `benchmarks/README.md`.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { markdownTable, type Row, type Subject } from './harness.ts';
import { hit } from './hit.ts';
import { importing } from './importing.ts';
import { installing } from './installing.ts';
import { lockFile } from './lock-file.ts';
import { locking } from './locking.ts';
import { writing } from './writing.ts';

const SUBJECTS: readonly Subject[] = [writing, locking, installing, hit, lockFile, importing];
const BEGIN = '<!-- table: begin -->';
const END = '<!-- table: end -->';

async function measure(subjects: readonly Subject[], quick: boolean): Promise<Row[]> {
  const temporary = await mkdtemp(join(tmpdir(), 'rwx-cache-bench-'));
  const rows: Row[] = [];
  try {
    for (const subject of subjects) {
      const directory = join(temporary, subject.name);
      await mkdir(directory);
      const measured = await subject.run({
        directory,
        rounds: (wanted) => (quick ? Math.max(2, Math.ceil(wanted / 8)) : wanted),
        say: (text) => {
          process.stderr.write(`${subject.name}: ${text}\n`);
        },
      });
      rows.push(...measured);
      await rm(directory, { recursive: true, maxRetries: 3 });
    }
  } finally {
    await rm(temporary, { recursive: true, force: true, maxRetries: 3 });
  }
  return rows;
}

/** Load averages of the last minute, before and after: above the number of CPUs, the absolute times say little. */
function conditions(before: number, quick: boolean): string {
  const [cpu] = cpus();
  const load = `load ${before.toFixed(1)} before, ${(loadavg()[0] ?? 0).toFixed(1)} after`;
  return [`Node.js ${process.version}`, `${process.platform} ${release()}`, `${cpus().length} × ${cpu?.model ?? 'unknown CPU'}`, load, new Date().toISOString().slice(0, 10), ...(quick ? ['--quick'] : [])].join('; ');
}

async function updateReadme(text: string): Promise<void> {
  // By the package's own name, since the compiled file may lie anywhere in it.
  const path = fileURLToPath(new URL('benchmarks/README.md', import.meta.resolve('rwx-cache/package.json')));
  const before = await readFile(path, 'utf8');
  const [head, rest] = before.split(BEGIN);
  const tail = rest?.split(END)[1];
  if (head === undefined || tail === undefined) throw new Error(`${path} has no ${BEGIN} … ${END}`);
  await writeFile(path, `${head}${BEGIN}\n${text}\n${END}${tail}`);
}

const given = process.argv.slice(2);
const words = given.filter((word) => !word.startsWith('--'));
const quick = given.includes('--quick');
const subjects = SUBJECTS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
if (subjects.length === 0) throw new Error(`No subject matches ${words.join(', ')}; there are ${SUBJECTS.map(({ name }) => name).join(', ')}`);

const loadBefore = loadavg()[0] ?? 0;
const table = markdownTable(await measure(subjects, quick));
const text = `\n${conditions(loadBefore, quick)}\n\n${table}\n`;
process.stdout.write(text);
if (given.includes('--update-readme')) await updateReadme(text);
