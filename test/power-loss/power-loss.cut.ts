/**
 * What a caller was told is published survives a power cut, and nothing else shows; and each sync is needed for it. `RWX_CACHE_ROUNDS=40` for the
 * full number, `RWX_CACHE_SEED` for the moments of an earlier run. Two machines run side by side.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, it } from 'node:test';
import type { Kind, Sync, Writing } from './protocol.ts';
import { describeRound, randomMoment, runRounds, TABLE_HEAD, type Plan, type Round } from './rounds.ts';

const ROUNDS = Number(process.env['RWX_CACHE_ROUNDS'] ?? 5);
/** Without the syncs every round fails, so a few of them say it; on demand as many as with them. */
const CONTROLS = ROUNDS <= 5 ? 2 : ROUNDS;
const SEED = process.env['RWX_CACHE_SEED'] ?? randomBytes(4).toString('hex');
const KINDS: readonly Kind[] = ['file', 'directory', 'package'];

/** Three processes that publish all kinds of things under the same names, cut off at a random moment. */
function randomPlans(count: number, without: readonly Sync[]): Plan[] {
  const writing: Writing = { kinds: KINDS, once: false, without };
  return Array.from({ length: count }, (_, round) => ({ writers: [writing, writing, writing], writingMs: randomMoment(SEED, round) }));
}

function lostSomething({ told, counts }: Round): boolean {
  return told.length > 0 && (counts.missing ?? 0) + (counts.broken ?? 0) > 0;
}

/** What was told of one kind, and is missing or broken now. */
function lost({ examples }: Round, kind: Kind, how: 'missing' | 'broken'): boolean {
  return examples.some((finding) => finding.kind === how && finding.of === kind);
}

describe('a power cut', { concurrency: true }, () => {
  it(`loses nothing that was told, shows nothing partial, and hinders nothing, ${ROUNDS} times`, async () => {
    const rows = [TABLE_HEAD];
    const rounds = await runRounds(randomPlans(ROUNDS, []), { roundsPerCache: 5, onRound: (round, index) => rows.push(describeRound(round, index)) });
    console.log(`Power loss, seed ${SEED}:\n${rows.join('\n')}`);
    assert.equal(rounds.length, ROUNDS);
    for (const [index, { counts, examples, told }] of rounds.entries()) {
      assert.deepEqual(counts, {}, `round ${index + 1}, RWX_CACHE_SEED=${SEED}: ${JSON.stringify(examples, undefined, 2)}`);
      for (const kind of KINDS) assert.ok(told.some((one) => one.kind === kind), `round ${index + 1}: no ${kind} was told`);
    }
  });

  describe('without the syncs', () => {
    const rounds: Round[] = [];
    const all = (): Round[] => rounds.slice(0, CONTROLS);
    before(async () => {
      const withoutFiles: Plan = { writers: [{ kinds: KINDS, once: false, without: ['files'] }], writingMs: 1000 };
      // One thing, after which nothing is synced any more: the next sync would write its name as well.
      const single = KINDS.map((kind): Plan => ({ writers: [{ kinds: [kind], once: true, without: ['directories'] }], writingMs: 300 }));
      rounds.push(...(await runRounds([...randomPlans(CONTROLS, ['files', 'directories']), withoutFiles, ...single], { roundsPerCache: 1 })));
      console.log(`Without the syncs, seed ${SEED}; then without those of files, then without those of directories:\n${[TABLE_HEAD, ...rounds.map(describeRound)].join('\n')}`);
    });

    it(`all of them are needed: in each of ${CONTROLS} rounds, what was told is gone`, () => {
      assert.equal(all().filter(lostSomething).length, CONTROLS);
      for (const kind of KINDS) assert.ok(all().some((round) => lost(round, kind, 'missing') || lost(round, kind, 'broken')), kind);
    });

    it('those of files are needed: the names are there, and the contents are not', () => {
      const round = rounds[CONTROLS];
      assert.ok(round !== undefined);
      for (const kind of ['file', 'directory', 'package'] as const) assert.ok(lost(round, kind, 'broken'), JSON.stringify(round.examples));
    });

    for (const [index, kind] of KINDS.entries()) {
      it(`those of directories are needed: the last ${kind} that was told is gone`, () => {
        const round = rounds[CONTROLS + 1 + index];
        assert.ok(round?.told.length === 1 && lost(round, kind, 'missing'), JSON.stringify(round?.examples));
      });
    }
  });
});
