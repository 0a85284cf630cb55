/** Touching a directory: its ctime moves, and nothing else. */
import assert from 'node:assert/strict';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { touchDirectory } from '../../src/atomic/touch-directory.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

describe('touchDirectory', () => {
  it('moves the ctime, though it has only just changed, and leaves the other times', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (let round = 0; round < 20; round += 1) {
      await mkdir(join(directory, String(round)));
      const before = await stat(directory, { bigint: true });
      assert.equal(await touchDirectory(directory), true);
      const after = await stat(directory, { bigint: true });
      assert.ok(after.ctimeNs > before.ctimeNs);
      assert.equal(after.mtimeNs / 10_000n, before.mtimeNs / 10_000n);
    }
  });

  it('says so where there is nothing to touch', async (t) => {
    assert.equal(await touchDirectory(join(await withTemporaryDirectory(t), 'missing')), false);
  });
});
