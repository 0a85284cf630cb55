/**
 * Real `terraform` programs that fill the very tree that `ensure` fills, all at once and without a lock of theirs.
 * `RWX_CACHE_ROUNDS` says how often (default 2). Terraform's own failures among themselves are counted and shown.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, open, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hashDirectory, hashZipContents } from '../../src/verify/index.ts';
import { HOST, treeOf } from '../cache/support.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { init } from '../support/terraform.ts';
import { ensureInProcess } from './ensure-process.ts';
import { cacheOptions, executableOf, largeZip, lastWords, openCache, PLATFORM, release, required, terraform, until, withRegistryProcess, WITHOUT_TERRAFORM, workingDirectory } from './support.ts';

const PROVIDERS = [required('heavy'), required('light')];
const EACH = 8;
/** Between two pairs of `ensure`: together they cover the time that the terraforms take. */
const STEP_MS = 250;
const ROUNDS = Number(process.env['RWX_CACHE_ROUNDS'] ?? 2);

/** A point that so many have to reach before anyone goes on. */
function barrier(count: number): { arrive(): Promise<void>; readonly complete: Promise<void> } {
  let open = (): void => undefined;
  const complete = new Promise<void>((resolve) => {
    open = resolve;
  });
  let missing = count;
  return {
    complete,
    arrive: () => {
      missing -= 1;
      if (missing === 0) open();
      return complete;
    },
  };
}

/** Changes one byte in the middle. Size and times stay as they were, to the nanosecond. */
async function spoil(path: string): Promise<void> {
  const { size } = await stat(path);
  const reference = join(tmpdir(), `rwx-cache-test-times-${process.pid}`);
  execFileSync('touch', ['-r', path, reference]);
  await chmod(path, 0o755);
  const file = await open(path, 'r+');
  try {
    await file.write(Buffer.from('!'), 0, 1, Math.floor(size / 2));
  } finally {
    await file.close();
  }
  execFileSync('touch', ['-r', reference, path]);
  await rm(reference);
}

describe(`${EACH} terraform init and ${EACH} ensure at once on one cold cache`, { skip: WITHOUT_TERRAFORM }, () => {
  it(`leave every entry right, and no ensure fails (${ROUNDS} rounds)`, async (t) => {
    const root = await withTemporaryDirectory(t);
    const zips = { heavy: join(root, 'heavy.zip'), light: join(root, 'light.zip') };
    await writeFile(zips.heavy, largeZip('heavy', 12 << 20));
    await writeFile(zips.light, largeZip('light', 1 << 20));
    const h1 = { heavy: await hashZipContents(zips.heavy), light: await hashZipContents(zips.light) };
    const registry = await withRegistryProcess(t, { providers: [{ ...release('heavy'), zipPath: zips.heavy }, { ...release('light'), zipPath: zips.light }] });
    const outcomes = new Map<string, number>();
    const count = (what: string): void => {
      outcomes.set(what, (outcomes.get(what) ?? 0) + 1);
    };

    for (let round = 0; round < ROUNDS; round += 1) {
      const place = join(root, `round-${round}`);
      const options = cacheOptions(registry, join(place, 'cache'), { verifyOnHit: 'hash', settleMs: 1500 });
      const cache = await openCache(t, options);
      const directories = await Promise.all(Array.from({ length: EACH }, (_, index) => workingDirectory(place, `work-${index}`, PROVIDERS)));
      const start = barrier(EACH);
      const answersToCome = Promise.all(
        Array.from({ length: EACH }, (_, index) => {
          // They come while the terraforms download, unzip and write in place.
          const go = async (): Promise<void> => {
            await start.arrive();
            await sleep(Math.floor(index / 2) * STEP_MS);
          };
          return ensureInProcess(t, { cache: options, request: PROVIDERS[index % 2] ?? required('heavy') }, { go });
        }),
      );
      const zips = await registry.count('zip');
      await start.complete;
      // Every other round an ensure is well ahead, so that the terraforms write into an entry that is already ours.
      if (round % 2 === 1) await until('an ensure downloads', async () => (await registry.count('zip')) > zips);
      const initsToCome = directories.map((directory) =>
        init(terraform(), directory, { configuration: { hosts: registry.hosts(HOST) }, environment: { TF_PLUGIN_CACHE_DIR: cache.providersDirectory } }),
      );
      const [inits, answers] = await Promise.all([Promise.all(initsToCome), answersToCome]);

      for (const { code, output } of inits) count(code === 0 ? 'terraform: exit 0' : `terraform: ${/Error: (.*)/u.exec(output)?.[1] ?? 'failed without a word'}`);
      for (const answer of answers) {
        assert.ok('outcome' in answer, `an ensure failed: ${JSON.stringify(answer)}`);
        count(`ensure: ${answer.outcome}${answer.metBadEntry ? ', after it had met a bad entry' : ''}`);
      }
      for (const name of ['heavy', 'light'] as const) {
        const entry = join(cache.providersDirectory, HOST, 'acme', name, '1.2.3', PLATFORM);
        assert.equal(await hashDirectory(entry), h1[name], `${name} when all have ended`);
        const found = await cache.ensure(required(name));
        count(`ensure afterwards: ${found.outcome}`);
        assert.ok(found.hashes.includes(h1[name]));
        assert.equal(await hashDirectory(entry), h1[name]);
        assert.equal((await cache.ensure(required(name))).outcome, 'hit');
      }
      // A bad state that nothing but its bytes gives away, met by several at once.
      const entry = join(cache.providersDirectory, HOST, 'acme/heavy/1.2.3', PLATFORM);
      await spoil(join(entry, executableOf('heavy')));
      assert.notEqual(await hashDirectory(entry), h1.heavy);
      const repairs = await Promise.all(Array.from({ length: 3 }, () => ensureInProcess(t, { cache: options, request: required('heavy') })));
      const after = repairs.map((answer) => ('outcome' in answer ? answer.outcome : JSON.stringify(answer)));
      assert.equal(after.filter((outcome) => outcome === 'repaired').length, 1, after.join(', '));
      assert.ok(after.every((outcome) => ['repaired', 'joined', 'hit'].includes(outcome)), after.join(', '));
      assert.equal(await hashDirectory(entry), h1.heavy);
      assert.deepEqual(await treeOf(join(cache.directory, 'state/staging')), []);
      const next = await init(terraform(), await workingDirectory(place, 'next', PROVIDERS), { configuration: { mirror: cache.providersDirectory } });
      assert.equal(next.code, 0, lastWords(next));
    }
    for (const [what, times] of [...outcomes].sort()) t.diagnostic(`${times} × ${what}`);
  });
});
