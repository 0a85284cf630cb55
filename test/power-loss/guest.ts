/** The program that the machine runs: checks what the boot before it has written, then writes until the power is cut. */
import { fork } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeDirectories } from '../../src/atomic/index.ts';
import { ProviderCache } from '../../src/index.ts';
import { checkRound } from './check.ts';
import type { WriterTask } from './fixtures/writer.ts';
import { tell, type Finding, type Task } from './protocol.ts';

/** So many findings of a kind are told one by one, for each kind of thing. */
const EXAMPLES = 5;

const { check, write } = JSON.parse(await readFile(process.argv[2] ?? '', 'utf8')) as Task;

if (check !== undefined) {
  const findings = await checkRound(check.place, check.told, check.earlier);
  const counts: Partial<Record<Finding['kind'], number>> = {};
  const examples = new Map<string, Finding[]>();
  for (const finding of findings) {
    counts[finding.kind] = (counts[finding.kind] ?? 0) + 1;
    const key = `${finding.kind} ${finding.of}`;
    examples.set(key, [...(examples.get(key) ?? []), finding].slice(0, EXAMPLES));
  }
  tell({ line: 'checked', counts, examples: [...examples.values()].flat() });
  // Looked at, and no longer needed; the cache stays.
  await rm(check.place.home, { recursive: true });
}

if (write !== undefined) {
  const { place } = write;
  for (const name of ['files', 'directories', 'staging']) await makeDirectories(join(place.home, name));
  // Durable, also where the writers' syncs are taken out: then it is the packages that show it.
  await (await ProviderCache.open({ directory: place.cache })).close();
  write.writers.forEach((writing, by) => {
    const task: WriterTask = { ...writing, by, place };
    const hook = new URL('./fixtures/without-syncs.js', import.meta.url).href;
    const writer = fork(fileURLToPath(new URL('./fixtures/writer.js', import.meta.url)), [JSON.stringify(task)], {
      execArgv: writing.without.length === 0 ? [] : ['--import', hook],
      env: { ...process.env, RWX_CACHE_WITHOUT_SYNCS: writing.without.join(',') },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    writer.once('exit', (code) => {
      tell({ line: 'failed', what: `writer ${by} ended with ${code ?? 'a signal'}` });
      process.exit(1);
    });
  });
}
