import assert from 'node:assert/strict';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { delay } from '../../src/abort.ts';
import { sweepDirectory } from '../../src/atomic/sweep.ts';
import { uniqueName } from '../../src/atomic/unique-name.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

const isDead = (): Promise<boolean> => Promise.resolve(false);
const HOUR_MS = 3_600_000;

async function leave(directory: string, owner: string | undefined): Promise<string> {
  const name = `${owner === undefined ? '' : `${owner}.`}${uniqueName()}`;
  await mkdir(join(directory, name, 'deep'), { recursive: true, mode: 0o700 });
  await writeFile(join(directory, name, 'deep', 'file'), 'x');
  return name;
}

/** Sweeps until nothing is kept for its youth. The time is the file system's, so there is nothing else to wait for. */
async function sweepUntil(directory: string, olderThanMs: number, count: number): Promise<string[]> {
  const removed: string[] = [];
  while (removed.length < count) {
    removed.push(...(await sweepDirectory(directory, { olderThanMs, isOwnerAlive: isDead })).removed);
    await delay(5);
  }
  return removed.sort();
}

describe('sweepDirectory', () => {
  it('removes old leftovers of dead owners and of nobody, and touches no other name', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const temporary = `.file.${uniqueName()}.tmp`;
    await writeFile(join(directory, temporary), 'x');
    const names = [await leave(directory, 'dead'), await leave(directory, undefined), temporary].sort();
    const others = ['file', '.nfs0001', `file.${uniqueName()}.txt`, 'not-unique.0123', `${uniqueName()}.json`].sort();
    for (const name of others) await writeFile(join(directory, name), 'x');
    assert.deepEqual(await sweepUntil(directory, 20, 3), names);
    assert.deepEqual((await readdir(directory)).sort(), others);
  });

  it('keeps those of the living, and those whose owner cannot be asked about', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await leave(directory, 'alive');
    await leave(directory, 'unknown');
    const dead = await leave(directory, 'dead');
    const isOwnerAlive = (owner: string): Promise<boolean> => (owner === 'unknown' ? Promise.reject(new Error('no answer')) : Promise.resolve(owner === 'alive'));
    await delay(20);
    assert.deepEqual(await sweepDirectory(directory, { olderThanMs: 0, isOwnerAlive }), { removed: [dead], kept: 2 });
    assert.equal((await readdir(directory)).length, 2);
  });

  it("goes by the file system's clock and not by this host's", async (t) => {
    const directory = await withTemporaryDirectory(t);
    await leave(directory, 'dead');
    const realNow = Date.now;
    t.after(() => {
      Date.now = realNow;
    });
    Date.now = () => realNow() + 24 * HOUR_MS;
    assert.deepEqual(await sweepDirectory(directory, { olderThanMs: HOUR_MS, isOwnerAlive: isDead }), { removed: [], kept: 1 });
  });

  it('is not deceived by time stamps that were set', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const name = await leave(directory, 'dead');
    for (const part of ['deep/file', 'deep', '']) await utimes(join(directory, name, part), 0, 0);
    assert.deepEqual(await sweepDirectory(directory, { olderThanMs: HOUR_MS, isOwnerAlive: isDead }), { removed: [], kept: 1 });
  });

  it('keeps an old directory in which something was written lately', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const name = await leave(directory, 'busy');
    const path = join(directory, name, 'deep', 'file');
    // Old enough when nobody writes; each sweep follows a write at once.
    const begun = performance.now();
    while (performance.now() - begun < 700) {
      await delay(10);
      await writeFile(path, 'more');
      assert.deepEqual(await sweepDirectory(directory, { olderThanMs: 500, isOwnerAlive: isDead }), { removed: [], kept: 1 });
    }
    assert.deepEqual(await sweepUntil(directory, 500, 1), [name]);
  });

  it('lets many sweepers at one directory, each leftover being removed once', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const names = await Promise.all(Array.from({ length: 20 }, () => leave(directory, 'dead')));
    await delay(50);
    const swept = await Promise.all(Array.from({ length: 6 }, () => sweepDirectory(directory, { olderThanMs: 30, isOwnerAlive: isDead })));
    const removed = swept.flatMap((result) => result.removed);
    assert.equal(removed.filter((name) => names.includes(name)).length, 20);
    assert.deepEqual([...new Set(removed)].length, removed.length);
    while ((await readdir(directory)).length > 0) await sweepUntil(directory, 0, 0);
  });

  it('never fails for what it cannot remove, and finds nothing in a missing directory', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const name = await leave(directory, 'dead');
    await writeFile(join(directory, name, '.nfs0001'), 'a running plugin');
    await delay(20);
    assert.deepEqual(await sweepDirectory(directory, { olderThanMs: 0, isOwnerAlive: isDead }), { removed: [], kept: 1 });
    assert.deepEqual(await sweepDirectory(join(directory, 'missing'), { olderThanMs: 0, isOwnerAlive: isDead }), { removed: [], kept: 0 });
  });
});
