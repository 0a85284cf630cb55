/** SIGKILL at random moments, and at the boundary of every system call: never half a target, and what is left can be swept. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { delay } from '../../src/abort.ts';
import { sweepDirectory } from '../../src/atomic/sweep.ts';
import { startChild } from '../support/child.ts';
import { hasStrace } from '../support/strace.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { writerOf } from './fixtures/content.ts';

/** Sweeps until only what was published is left; everybody is dead. */
async function sweepAll(directory: string, expected: readonly RegExp[]): Promise<void> {
  for (;;) {
    const left = (await readdir(directory)).filter((name) => !expected.some((pattern) => pattern.test(name)));
    if (left.length === 0) return;
    await sweepDirectory(directory, { olderThanMs: 0, isOwnerAlive: () => Promise.resolve(false) });
    await delay(5);
  }
}

describe('SIGKILL', () => {
  it('at 30 random moments: every target whole, every leftover swept', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (const name of ['work', 'published']) await mkdir(join(directory, name));
    let leftovers = 0;
    for (let generation = 0; generation < 30; generation += 1) {
      const child = startChild(t, new URL('./fixtures/endless.js', import.meta.url), [directory, `${generation}`]);
      await child.message();
      await delay(Math.random() * 60);
      child.process.kill('SIGKILL');
      await child.ended;
      leftovers = (await readdir(join(directory, 'work'))).filter((name) => /[0-9a-f]{32}/u.test(name)).length;
    }
    assert.ok(leftovers > 0, 'some were hit half-way');
    const published = await readdir(join(directory, 'published'));
    for (const name of published) {
      assert.deepEqual((await readdir(join(directory, 'published', name))).sort(), ['a', 'b']);
      for (const file of ['a', 'b']) assert.ok(`directory-${(writerOf(await readFile(join(directory, 'published', name, file), 'utf8')) ?? '').replace(':', '-')}` === name);
    }
    await sweepAll(join(directory, 'work'), [/^kept-\d+-\d+$/u, /^replaced$/u]);
    for (const name of await readdir(join(directory, 'work'))) assert.notEqual(writerOf(await readFile(join(directory, 'work', name), 'utf8')), undefined);
  });

  for (const [call, kinds] of [
    ['replace', 'openat,write,pwrite64,fsync,close,rename,unlink'],
    ['keep', 'openat,write,pwrite64,fsync,close,link,unlink'],
    ['publish', 'openat,write,pwrite64,fsync,close,rename,mkdir,fchmod,statx,rmdir,unlink,getdents64'],
  ] as const) {
    it(`at each system call of ${call}: the target is missing or whole`, async (t) => {
      if (!hasStrace(t)) return;
      const states = new Set<string>();
      let step = 1;
      for (let killed = true; killed; step += 1) {
        const directory = await withTemporaryDirectory(t);
        killed = await killAt(t, call, kinds, step, directory);
        states.add(await stateOf(directory));
        await sweepAll(directory, [/^target$/u]);
      }
      assert.ok(step > 6, `only ${step} boundaries were hit`);
      assert.deepEqual([...states].sort(), ['missing', 'whole']);
    });
  }
});

/** Runs one call with a SIGKILL on entry to its `step`th system call. One pool thread makes them all, and strace counts for each thread. */
async function killAt(t: TestContext, call: string, kinds: string, step: number, directory: string): Promise<boolean> {
  const child = startChild(t, new URL('./fixtures/one-call.js', import.meta.url), [call, directory], { env: { ...process.env, UV_THREADPOOL_SIZE: '1' } });
  await child.message();
  const strace = spawn('strace', ['-f', '-p', `${child.process.pid ?? 0}`, '-o', '/dev/null', '-e', `trace=${kinds}`, '-e', `inject=${kinds}:signal=KILL:when=${step}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  while (!said.includes('attached')) {
    const [text] = (await once(strace.stderr, 'data')) as [Buffer];
    said += text.toString();
  }
  child.process.send('go');
  const { signal } = await child.ended;
  if (strace.exitCode === null) await once(strace, 'exit');
  return signal === 'SIGKILL';
}

async function stateOf(directory: string): Promise<string> {
  const names = await readdir(directory);
  if (!names.includes('target')) return 'missing';
  const target = join(directory, 'target');
  const files = await readdir(target).catch(() => undefined);
  const contents = files === undefined ? [await readFile(target, 'utf8')] : await Promise.all(files.map((file) => readFile(join(target, file), 'utf8')));
  if (files !== undefined && files.length !== 2) return `files: ${files.join()}`;
  return contents.every((content) => content === 'x'.repeat(5000)) ? 'whole' : 'partial';
}
