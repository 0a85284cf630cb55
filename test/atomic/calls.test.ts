/** Which system calls an operation makes, and in which order: durability and cost cannot be seen from its result. */
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { hasStrace, traceProgram } from '../support/strace.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

const KINDS = 'openat,open,write,fsync,close,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,stat,lstat,fstat,statx,newfstatat';

/** The calls that touch `directory`, as `name what`, with the random part of names taken out. */
function callsIn(directory: string, call: string): string[] {
  return traceProgram(new URL('./fixtures/one-call.js', import.meta.url), [call, directory], KINDS)
    .filter((line) => line.includes(directory) && !line.includes('execve'))
    .map((line) => {
      const name = /^\d+\s+(\w+)\(/u.exec(line)?.[1] ?? line;
      const paths = [...line.matchAll(/["<](\/[^">]*)[">]/gu)]
        .map(([, path = '']) => path)
        .filter((path) => path.startsWith(directory))
        .map((path) => `.${path.slice(directory.length)}`.replace(/\/\.target\.[0-9a-f]{32}\.tmp/u, '/TEMP').replace(/[0-9a-f]{32}/u, 'STAGED'));
      return `${name.replace(/^(open|rename|link|unlink|mkdir)at2?$/u, '$1')} ${[...new Set(paths)].join(' ')}`;
    });
}

async function prepare(t: TestContext): Promise<string | undefined> {
  return hasStrace(t) ? withTemporaryDirectory(t) : undefined;
}

describe('system calls', () => {
  it('writeFileAtomic: file synced before the rename, directory after it, and not one call more', async (t) => {
    const directory = await prepare(t);
    if (directory === undefined) return;
    assert.deepEqual(callsIn(directory, 'replace'), ['open ./TEMP', 'statx ./TEMP', 'open .', 'write ./TEMP', 'fsync ./TEMP', 'close ./TEMP', 'rename ./TEMP ./target', 'fsync .', 'close .']);
    assert.deepEqual(callsIn(directory, 'volatile'), ['open ./TEMP', 'write ./TEMP', 'close ./TEMP', 'rename ./TEMP ./target']);
  });

  it('writeFileAtomic, keep: linked, unlinked, then synced', async (t) => {
    const directory = await prepare(t);
    if (directory === undefined) return;
    assert.deepEqual(callsIn(directory, 'keep').slice(3), ['write ./TEMP', 'fsync ./TEMP', 'close ./TEMP', 'link ./TEMP ./target', 'unlink ./TEMP', 'fsync .', 'close .']);
  });

  it('the bare package never syncs the directory', async (t) => {
    const directory = await prepare(t);
    if (directory === undefined) return;
    const calls = callsIn(directory, 'bare');
    assert.ok(calls.some((call) => call.startsWith('rename ')));
    assert.ok(!calls.includes('fsync .'));
  });

  it('syncTree and publishDirectory: every file and directory synced, then the rename, then the directory above', async (t) => {
    const directory = await prepare(t);
    if (directory === undefined) return;
    const calls = callsIn(directory, 'publish').filter((call) => /^(?:fsync|rename) /u.test(call));
    assert.deepEqual(calls.slice(0, 2).sort(), ['fsync ./STAGED/package/a', 'fsync ./STAGED/package/b']);
    // The second sync of the staged directory is that of its final mode.
    assert.deepEqual(calls.slice(2), ['fsync ./STAGED/package', 'fsync ./STAGED/package', 'rename ./STAGED/package ./target', 'fsync .']);
  });

  it('statFresh: a hit is one call, a miss where the parent exists four', async (t) => {
    const directory = await prepare(t);
    if (directory === undefined) return;
    assert.deepEqual(callsIn(directory, 'stat'), ['statx ./target', 'open .', 'close .', 'statx ./target']);
    await mkdir(join(directory, 'target'));
    assert.deepEqual(callsIn(directory, 'stat'), ['statx ./target']);
  });

  it('statFresh: deeper misses are walked down from the nearest directory that exists', async (t) => {
    const directory = await prepare(t);
    if (directory === undefined) return;
    assert.deepEqual(callsIn(directory, 'statDeep'), [
      'statx ./target/1/2/3',
      'open ./target/1/2',
      'open ./target/1',
      'open ./target',
      'open .',
      'close .',
      'statx ./target',
    ]);
    await mkdir(join(directory, 'target', '1'), { recursive: true });
    assert.deepEqual(callsIn(directory, 'statDeep').slice(1), ['open ./target/1/2', 'open ./target/1', 'close ./target/1', 'statx ./target/1/2']);
  });

  it('makeDirectories: one mkdir where the parent exists, and syncs of what grew', async (t) => {
    const directory = await prepare(t);
    if (directory === undefined) return;
    assert.deepEqual(callsIn(directory, 'make'), ['mkdir ./target', 'statx .', 'open .', 'fsync .', 'close .']);
    assert.deepEqual(callsIn(directory, 'make'), ['mkdir ./target', 'statx ./target']);
    const deep = callsIn(directory, 'makeDeep');
    assert.deepEqual(deep.slice(0, 3), ['mkdir ./target/1/2', 'mkdir ./target/1', 'mkdir ./target/1/2']);
    assert.deepEqual(deep.filter((call) => call.startsWith('fsync')).sort(), ['fsync ./target', 'fsync ./target/1']);
  });
});
