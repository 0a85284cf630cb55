/** The fence before a publish: who has lost the lock by then does not publish what was staged under it, and starts again. */
import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { leftovers, THING, withCache } from './support.ts';

for (const lockStrategy of ['kernel', 'lease'] as const) {
  describe(`a ${lockStrategy} that is lost right before the publish`, () => {
    it('publishes nothing: the package is fetched once more, under the lock as it is then', async (t) => {
      const { cache, directory, registry } = await withCache(t, { cache: { lockStrategy } });
      const locks = join(directory, 'state/locks');
      let lost = false;
      const found = await cache.ensure(THING, {
        onProgress: ({ phase }) => {
          if (phase !== 'publishing' || lost) return;
          lost = true;
          for (const name of readdirSync(locks)) rmSync(join(locks, name), { recursive: true });
        },
      });
      assert.equal(lost, true);
      assert.equal(found.outcome, 'installed');
      assert.equal(registry.count('zip'), 2);
      assert.deepEqual((await leftovers(directory)).filter((path) => path.startsWith('state/staging')), []);
    });
  });
}
