/** Many processes and threads, one path: exactly one winner, and nobody ever sees half of anything. */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { startChild } from '../support/child.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { writerOf } from './fixtures/content.ts';

const WRITERS = 8;
const ROUNDS = 200;

describe('eight at once', () => {
  it('processes: one winner of each directory and file, and a reader that polls sees only whole ones', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (const name of ['staging', 'published']) await mkdir(join(directory, name));
    const writers = Array.from({ length: WRITERS }, (_, id) => startChild(t, new URL('./fixtures/publisher.js', import.meta.url), [directory, `${id}`]));
    const reader = startChild(t, new URL('./fixtures/reader.js', import.meta.url), [directory]);
    for (const child of [...writers, reader]) assert.equal(await child.message(), 'ready');

    const winners = new Set<number>();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const writer of writers) writer.process.send(round);
      const won = (await Promise.all(writers.map((writer) => writer.message()))) as { directory: boolean; file: boolean }[];
      const directories = won.flatMap((result, id) => (result.directory ? [id] : []));
      const files = won.flatMap((result, id) => (result.file ? [id] : []));
      assert.equal(directories.length, 1, `round ${round}: directories`);
      assert.equal(files.length, 1, `round ${round}: files`);
      assert.equal(writerOf(await readFile(join(directory, 'published', `directory-${round}`, 'a'), 'utf8')), `${String(directories[0])}:${round}`);
      assert.equal(writerOf(await readFile(join(directory, 'published', `file-${round}`), 'utf8')), `${String(files[0])}:${round}`);
      for (const id of directories) winners.add(id);
    }
    assert.ok(winners.size > 1, 'they did compete');

    reader.process.send('stop');
    const seen = (await reader.message()) as { bad: string[]; reads: number; round: number };
    assert.deepEqual(seen.bad, []);
    assert.ok(seen.reads > ROUNDS && seen.round > 0);
    for (const writer of writers) writer.process.disconnect();
    for (const writer of writers) assert.deepEqual(await writer.ended, { code: 0, signal: null });
    assert.deepEqual(await readdir(join(directory, 'staging')), []);
    assert.equal((await readdir(join(directory, 'published'))).length, 2 * ROUNDS);
    assert.deepEqual((await readdir(directory)).sort(), ['published', 'replaced', 'staging']);
  });

  it('threads of one process: no error, nothing left, the last content whole', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const threads = Array.from({ length: WRITERS }, (_, id) => new Worker(new URL('./fixtures/thread.js', import.meta.url), { workerData: { path: join(directory, 'file'), id, times: 100 } }));
    const won = await Promise.all(
      threads.map(
        (thread) =>
          new Promise<number>((resolve, reject) => {
            thread.once('message', resolve);
            thread.once('error', reject);
          }),
      ),
    );
    assert.equal(won.reduce((sum, kept) => sum + kept, 0), 100, 'one winner of each name');
    assert.notEqual(writerOf(await readFile(join(directory, 'file'), 'utf8')), undefined);
    assert.equal((await readdir(directory)).length, 101);
    await Promise.all(threads.map((thread) => thread.terminate()));
  });
});
