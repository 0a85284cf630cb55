/**
 * Many processes that take over one stale lock at the same moment. The bare package lets several of them have it; nobody may. A lock
 * counts as double when two processes say that they hold it before either has been told to release.
 */
import assert from 'node:assert/strict';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, it, type TestContext } from 'node:test';
import { startChild } from '../support/child.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

interface Outcome {
  readonly double: number;
  readonly unheld: number;
}

const STALE_TERM_MS = 100;

/** Runs the race, round by round, and counts the rounds with more than one holder and with none. */
async function race(t: TestContext, kind: 'ours' | 'bare', processes: number, rounds: number, skewsMs: readonly number[] = [0]): Promise<Outcome> {
  const directory = await withTemporaryDirectory(t);
  for (let round = 0; round < rounds; round += 1) await makeStale(kind, join(directory, String(round)), round);
  const skew = `--import ${new URL('./fixtures/skew.js', import.meta.url).href}`;
  const children = Array.from({ length: processes }, (_, index) =>
    startChild(t, new URL('./fixtures/takeover.js', import.meta.url), [kind, directory, String(rounds)], {
      env: { ...process.env, NODE_OPTIONS: skew, SKEW_MS: String(skewsMs[index % skewsMs.length]) },
    }),
  );
  const answers = (): Promise<unknown[]> => Promise.all(children.map((child) => child.message()));
  const tell = (): void => {
    for (const child of children) child.process.send('go');
  };
  await answers();
  await setTimeout(STALE_TERM_MS + 50);
  let double = 0;
  let unheld = 0;
  for (let round = 0; round < rounds; round += 1) {
    tell();
    const holders = (await answers()).filter((holds) => holds === true).length;
    if (holders > 1) double += 1;
    if (holders === 0) unheld += 1;
    tell();
    await answers();
  }
  return { double, unheld };
}

/** What a holder that was killed leaves. */
async function makeStale(kind: 'ours' | 'bare', path: string, round: number): Promise<void> {
  if (kind === 'bare') {
    await mkdir(`${path}.lock`);
    await utimes(`${path}.lock`, 1, 1);
    return;
  }
  const held = join(`${path}.lease`, 'held');
  await mkdir(held, { recursive: true });
  await writeFile(join(held, `${round.toString(16).padStart(32, '0')}-${STALE_TERM_MS}`), '');
}

describe('a stale lease', () => {
  for (const processes of [2, 4, 8]) {
    it(`is taken over by exactly one of ${processes} processes, 300 times in a row`, async (t) => {
      assert.deepEqual(await race(t, 'ours', processes, 300), { double: 0, unheld: 0 });
    });
  }

  it('is taken over by exactly one of processes whose clocks are an hour apart', async (t) => {
    assert.deepEqual(await race(t, 'ours', 3, 60, [-3_600_000, 0, 3_600_000]), { double: 0, unheld: 0 });
  });

  it('is granted twice by the bare package', async (t) => {
    const { double } = await race(t, 'bare', 8, 60);
    assert.ok(double > 0, `${double} double grants`);
  });
});
