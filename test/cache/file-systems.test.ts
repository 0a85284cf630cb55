/** The cache on other local file systems than the one that the rest of the tests happens to run on. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileSystemKind } from '../../src/atomic/index.ts';
import { FileSystemError } from '../../src/errors.ts';
import { acquireLock, probeLocking } from '../../src/lock/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { withDisk, withOverlay, withTmpfs } from '../support/tmpfs.ts';
import { openCache, THING, withRegistry } from './support.ts';

const MOUNTS: Readonly<Record<string, (t: TestContext) => Promise<string | undefined>>> = {
  tmpfs: (t) => withTmpfs(t, 64 << 20),
  overlay: async (t) => withOverlay(t, await withTemporaryDirectory(t)),
  ext4: async (t) => withDisk(t, 'ext4', await withTemporaryDirectory(t)),
  xfs: async (t) => withDisk(t, 'xfs', await withTemporaryDirectory(t)),
};

describe('a cache on', () => {
  for (const [name, mount] of Object.entries(MOUNTS)) {
    it(`${name}: installs, hits, repairs, and has kernel locks of this host`, async (t) => {
      const disk = await mount(t);
      if (disk === undefined) return;
      assert.deepEqual(await fileSystemKind(disk), { network: false, name });
      assert.equal((await probeLocking(disk)).kernel, 'host');
      const registry = await withRegistry(t);
      const cache = await openCache(t, registry, { directory: join(disk, 'cache'), settleMs: 1 });
      const { executable } = await cache.ensure(THING);
      assert.equal((await cache.ensure(THING)).outcome, 'hit');
      const whole = await readFile(executable);
      await writeFile(join(dirname(executable), 'stray'), 'not of the package');
      assert.equal((await cache.ensure(THING)).outcome, 'repaired');
      assert.ok((await readFile(executable)).equals(whole));
      const lock = await acquireLock(join(disk, 'lock'));
      await assert.rejects(acquireLock(join(disk, 'lock'), { timeoutMs: 0 }), { code: 'ERR_LOCK_TIMEOUT' });
      await lock.release();
      // Before the mount goes.
      await cache.close();
    });
  }
});

describe('an entry in a lower layer of an overlay', () => {
  it('is a hit; one that is not the package cannot be moved away, and the error says so', async (t) => {
    const lower = await withTemporaryDirectory(t);
    const registry = await withRegistry(t);
    const builder = await openCache(t, registry, { directory: join(lower, 'cache') });
    await builder.ensure(THING);
    await builder.close();
    const disk = await withOverlay(t, lower);
    if (disk === undefined) return;
    const cache = await openCache(t, registry, { directory: join(disk, 'cache'), settleMs: 1 });
    const { outcome, path } = await cache.ensure(THING);
    assert.equal(outcome, 'hit');
    await writeFile(join(path, 'stray'), 'not of the package');
    // What came with a lower layer cannot be renamed.
    await assert.rejects(cache.ensure(THING), (error) => error instanceof FileSystemError && error.systemCode === 'EXDEV' && error.path === path);
    await cache.close();
  });
});
