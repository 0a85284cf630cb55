/** A hit: its file-system calls the first time in a process, and its time when it is repeated, beside one `stat`. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ProviderCache, type ProviderCacheOptions } from '../src/index.ts';
import { startRegistry } from '../test/support/registry/index.ts';
import { traceProgram } from '../test/support/strace.ts';
import { comparison, interleave, skipped, timeOfEach, type Row, type Scope, type Subject } from './harness.ts';

const REQUEST = { source: 'registry.example.com/acme/thing', version: '1.2.3', platform: 'linux_amd64' };
const CALLS = 500;
const MOST_CALLS = 6;
const NAME = 'hit, the first one in a process: file-system calls';

async function repeated(cache: ProviderCache, scope: Scope): Promise<Row> {
  scope.say('repeated');
  const { path } = await cache.ensure(REQUEST);
  const times = await interleave(scope.rounds(40), {
    ours: () => timeOfEach(CALLS, () => cache.ensure(REQUEST)),
    hand: () => timeOfEach(CALLS, () => stat(path)),
  });
  return comparison('hit, repeated', times.ours, 'one fs.promises.stat', times.hand, 3);
}

/** Counts every call between the program's two markers that names a path or works on a file, and the calls' names. */
function firstCalls(options: ProviderCacheOptions): Row {
  let lines: string[];
  try {
    lines = traceProgram(new URL('./programs/first-hit.js', import.meta.url), [JSON.stringify({ cache: options, request: REQUEST })], '%file,%desc');
  } catch (error) {
    return skipped(NAME, `strace does not work here (${error instanceof Error ? error.message : String(error)})`);
  }
  const begin = lines.findIndex((line) => line.includes('"/marker-start"'));
  const end = lines.findIndex((line) => line.includes('"/marker-end"'));
  if (begin === -1 || end === -1) return skipped(NAME, 'the markers are not in the trace');
  const calls = lines.slice(begin + 1, end).flatMap((line) => {
    const [, call, rest] = /^\d+ +(\w+)\((.*)$/u.exec(line) ?? [];
    // Paths are given ("/…") or stand behind a descriptor (17</…>). Pipes and event descriptors have names without a slash.
    return call !== undefined && rest !== undefined && /["<]\//u.test(rest) ? [call] : [];
  });
  return {
    name: NAME,
    ours: `${calls.length} (${calls.join(', ')})`,
    other: '',
    ratio: '',
    target: `≤ ${MOST_CALLS}`,
    holds: calls.length <= MOST_CALLS,
  };
}

export const hit: Subject = {
  name: 'hit',
  run: async (scope) => {
    const registry = await startRegistry({ providers: [{ address: 'acme/thing', version: '1.2.3' }] });
    const options: ProviderCacheOptions = { directory: join(scope.directory, 'cache'), hosts: registry.hosts('registry.example.com'), environment: {} };
    const cache = await ProviderCache.open(options);
    try {
      await cache.ensure(REQUEST);
      scope.say('the first one');
      return [firstCalls(options), await repeated(cache, scope)];
    } finally {
      await cache.close();
      await registry.close();
    }
  },
};
