/**
 * A network that drops each connection after a random number of bytes: everything arrives, and little of it twice. `RWX_CACHE_ROUNDS=200` runs it with a
 * zip of 27 MB and connections of up to 8 MiB.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { hashDirectory } from '../../src/verify/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { noiseRelease } from './noise.ts';
import { openCache, THING, withRegistry } from './support.ts';

const MIB = 1024 * 1024;
const WHOLE = process.env['RWX_CACHE_ROUNDS'];
const ROUNDS = Number(WHOLE ?? 5);

describe('a network that drops each connection after a random number of bytes', () => {
  it(`${ROUNDS} installations succeed, and download at most 1.3 times the zip in the median`, async (t) => {
    const cutWithin = { least: 64 * 1024, most: (WHOLE === undefined ? 2 : 8) * MIB };
    const registry = await withRegistry(t, { providers: [noiseRelease(WHOLE === undefined ? 6 * MIB : 27_000_000)], faults: [{ on: 'zip', cutWithin }] });
    const size = registry.releases[0]?.packages.get('linux_amd64')?.size ?? 0;
    const root = await withTemporaryDirectory(t);
    const ratios: number[] = [];
    const requests: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = registry.requestLog.length;
      const directory = join(root, String(round));
      const cache = await openCache(t, registry, { directory });
      const { outcome, path, hashes } = await cache.ensure(THING);
      assert.deepEqual([outcome, await hashDirectory(path)], ['installed', hashes[0]]);
      await cache.close();
      await rm(directory, { recursive: true });
      const zips = registry.requestLog.slice(before).filter(({ route }) => route === 'zip');
      ratios.push(zips.reduce((sum, { sentBytes }) => sum + sentBytes, 0) / size);
      requests.push(zips.length);
    }
    ratios.sort((a, b) => a - b);
    const median = ratios[Math.floor(ratios.length / 2)] ?? Infinity;
    t.diagnostic(`${ROUNDS} runs of ${size} bytes: sent ${ratios[0]?.toFixed(3)} times at least, ${median.toFixed(3)} in the median, ${ratios.at(-1)?.toFixed(3)} at most; up to ${Math.max(...requests)} requests`);
    assert.ok(Math.max(...requests) > 1, 'nothing was cut');
    assert.ok(median <= 1.3, String(median));
  });
});
