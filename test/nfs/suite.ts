/**
 * The suite: runs `*.nfs.js` files one after the other, each of which it takes from the queue given. `--guest` makes the server and the clients
 * first: only for inside of the lab's machine.
 */
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec, type TestEvent } from 'node:test/reporters';
import { createClient, mountAs } from './client.ts';
import { labEnvironment, type Lab } from './lab.ts';
import { takeFile, UNFIT } from './queue.ts';
import { beginMark, endMark, type FileResult } from './report.ts';
import { prepareServer, startServer } from './server.ts';

/** On a machine that does nothing else no file takes half of it; one that hangs must not cost the results of the others. */
const FILE_SECONDS = 900;

function makeLab(): Lab {
  const begun = performance.now();
  const [a, b, slowB] = ['/run/lab/a', '/run/lab/b', '/run/lab/b-actimeo-60'];
  prepareServer();
  startServer();
  mountAs(createClient('a'), a);
  const second = createClient('b');
  mountAs(second, b);
  mountAs(second, slowB, 'actimeo=60', 'nosharecache');
  console.log(`lab: a server and two clients after ${Math.round(performance.now() - begun)} ms`);
  return { a, b, slowB, faults: true };
}

async function runFile(file: string): Promise<FileResult & { readonly hung: boolean }> {
  const begun = performance.now();
  const counts = { passed: 0, failed: 0, skipped: 0, todo: 0 };
  const failures: string[] = [];
  let hung = false;
  const count = (event: TestEvent): void => {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') return;
    const { name, details, skip, todo } = event.data;
    const given = (value: string | boolean | undefined): boolean => value !== undefined && value !== false;
    if (given(todo)) counts.todo += 1;
    else if (given(skip)) counts.skipped += 1;
    else if (event.type === 'test:pass') counts.passed += details.type === 'suite' ? 0 : 1;
    else if (failureType(event) !== 'subtestsFailed') {
      hung ||= failureType(event) === 'testTimeoutFailure' && event.data.nesting === 0;
      counts.failed += 1;
      failures.push(name);
    }
  };
  const reporter = new spec();
  const events = run({ files: [join(import.meta.dirname, `${file}.nfs.js`)], concurrency: 1, timeout: FILE_SECONDS * 1000 });
  const piped = pipeline(events, async function* (all: AsyncIterable<TestEvent>) {
    for await (const event of all) {
      count(event);
      if (!isTotal(event)) yield event;
    }
  }, reporter);
  for await (const text of reporter) process.stdout.write(String(text));
  await piped;
  return { file, seconds: (performance.now() - begun) / 1000, ...counts, failures, hung };
}

/** `subtestsFailed` is a suite that fails because of its tests: they are counted already. */
function failureType({ data: { details } }: Extract<TestEvent, { type: 'test:fail' }>): unknown {
  return 'failureType' in details.error ? details.error.failureType : undefined;
}

/** The runner's own totals of one file; the report has them for all. */
function isTotal(event: TestEvent): boolean {
  return event.type === 'test:diagnostic' && event.data.nesting === 0 && /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/u.test(event.data.message);
}

const guest = process.argv.includes('--guest');
const queue = process.argv.slice(2).find((word) => word !== '--guest');
if (queue === undefined) throw new Error('this is a part of the NFS suite: run it by `npm run test:nfs`');
if (guest) Object.assign(process.env, labEnvironment(makeLab()));
for (let file = takeFile(queue); file !== undefined; file = takeFile(queue)) {
  console.log(beginMark(file));
  const { hung, ...result } = await runFile(file);
  console.log(endMark(result));
  if (hung && guest) process.exit(UNFIT);
}
