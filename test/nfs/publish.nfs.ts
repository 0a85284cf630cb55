/** Both clients publish the same names at once: one winner each, and nobody on either side ever sees a part or a mixture. */
import assert from 'node:assert/strict';
import { mkdir, open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { refreshDirectory, writeFileAtomic } from '../../src/atomic/index.ts';
import { writerOf } from '../atomic/fixtures/content.ts';
import { startChild, type Child } from '../support/child.ts';
import type { ReaderReport } from './fixtures/reader.ts';
import { withSharedDirectory, type SharedDirectory } from './lab.ts';

const ROUNDS = 200;
/** The readers look at all of them; what both hosts have in the end is compared for each so many. */
const CHECKED = 5;

async function startReady(t: TestContext, program: string, ...args: readonly string[]): Promise<Child> {
  const child = startChild(t, new URL(program, import.meta.url), args);
  assert.equal(await child.message(), 'ready');
  return child;
}

async function withPlaces(t: TestContext): Promise<SharedDirectory> {
  const shared = await withSharedDirectory(t);
  await mkdir(join(shared.a, 'staging'));
  await mkdir(join(shared.a, 'published'));
  return shared;
}

/** Who wrote what stands there, by one client's eyes; fails for a part or a mixture. */
async function writersSeen(directory: string, round: number): Promise<string[]> {
  const seen: string[] = [];
  for (const path of [`directory-${round}/a`, `directory-${round}/b`, `file-${round}`]) {
    const writer = writerOf(await readFile(join(directory, 'published', path), 'utf8'));
    assert.ok(writer !== undefined, `${path} in round ${round} is whole and of one writer`);
    seen.push(writer);
  }
  assert.equal(seen[0], seen[1]);
  return seen;
}

describe('publishing from both clients at once', () => {
  it(`has one winner for each directory and each file, ${ROUNDS} times, and never shows a part`, async (t) => {
    const shared = await withPlaces(t);
    const publishers = [
      await startReady(t, '../atomic/fixtures/publisher.js', shared.a, 'a'),
      await startReady(t, '../atomic/fixtures/publisher.js', shared.b, 'b'),
    ];
    const readers = [await startReady(t, './fixtures/reader.js', shared.a), await startReady(t, './fixtures/reader.js', shared.b)];
    const wins = { directory: [0, 0], file: [0, 0] };
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const child of [...readers, ...publishers]) child.process.send(round);
      const won = (await Promise.all(publishers.map((child) => child.message()))) as { directory: boolean; file: boolean }[];
      for (const kind of ['directory', 'file'] as const) {
        assert.equal(won.filter((each) => each[kind]).length, 1, `one winner of the ${kind} in round ${round}`);
        wins[kind] = wins[kind].map((count, index) => count + Number(won[index]?.[kind]));
      }
      if (round % CHECKED === 0) assert.deepEqual(await writersSeen(shared.a, round), await writersSeen(shared.b, round));
    }
    for (const reader of readers) {
      reader.process.send('stop');
      const { bad, whole } = (await reader.message()) as ReaderReport;
      assert.deepEqual(bad, []);
      assert.ok(whole > 0, 'the reader has seen something');
      t.diagnostic(`a reader saw ${whole} whole entries while they were published`);
    }
    t.diagnostic(`won by A and B: directories ${wins.directory.join(' and ')}, files ${wins.file.join(' and ')}`);
  });

  it('is needed: readers see parts of what is written in its place', async (t) => {
    const shared = await withPlaces(t);
    const publisher = await startReady(t, './fixtures/in-place-publisher.js', shared.a, 'a');
    const reader = await startReady(t, './fixtures/reader.js', shared.b);
    for (let round = 0; round < 10; round += 1) {
      for (const child of [reader, publisher]) child.process.send(round);
      await publisher.message();
    }
    reader.process.send('stop');
    const { bad } = (await reader.message()) as ReaderReport;
    t.diagnostic(`${bad.length} times a part, as ${JSON.stringify(bad[0]?.slice(0, 50))}`);
    assert.ok(bad.length > 0);
  });

  it('is needed: a look before a rename, instead of a call that refuses, has two winners', async (t) => {
    const shared = await withPlaces(t);
    const publishByLook = async (directory: string, round: number): Promise<boolean> => {
      const target = join(directory, 'published', `file-${round}`);
      const temporary = join(directory, 'staging', `${directory === shared.a ? 'a' : 'b'}-${round}`);
      await writeFile(temporary, temporary);
      if ((await stat(target).catch(() => undefined)) !== undefined) return false;
      await rename(temporary, target);
      return true;
    };
    let doubles = 0;
    for (let round = 0; round < 50; round += 1) {
      const won = await Promise.all([publishByLook(shared.a, round), publishByLook(shared.b, round)]);
      if (won[0] && won[1]) doubles += 1;
    }
    t.diagnostic(`two winners in ${doubles} of 50 rounds`);
    assert.ok(doubles > 0);
  });
});

describe('a reader that holds a file open which another client replaces', () => {
  it('reads it to its end', async (t) => {
    const shared = await withSharedDirectory(t);
    const [before, after] = [Buffer.alloc(4 << 20, 'old'), Buffer.alloc(4 << 20, 'new')];
    await writeFileAtomic(join(shared.a, 'file'), before);
    const handle = await open(join(shared.b, 'file'));
    const first = await handle.read(Buffer.alloc(1000), 0, 1000, 0);
    await writeFileAtomic(join(shared.a, 'file'), after);
    const chunks = [first.buffer];
    for (let at = 1000; ; at += chunks.at(-1)?.length ?? 0) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(1 << 16), 0, 1 << 16, at);
      if (bytesRead === 0) break;
      chunks.push(buffer.subarray(0, bytesRead));
    }
    assert.ok(Buffer.concat(chunks).equals(before));
    // Without this the name still leads to the old file here, and its fstat says ESTALE (measured).
    await refreshDirectory(shared.b);
    assert.ok((await readFile(join(shared.b, 'file'))).equals(after));
    assert.equal((await handle.stat()).size, before.length);
    await handle.close();
  });
});
