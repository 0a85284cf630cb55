/** What `terraform init` itself does with a tree that this library filled, as its plugin cache: the rules of the reference, beside which ours stand. */
import assert from 'node:assert/strict';
import { cp, lstat, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { HOST } from '../cache/support.ts';
import { startRegistry } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { init, writeLockFile } from '../support/terraform.ts';
import { lastWords, openCache, release, required, terraform, WITHOUT_TERRAFORM, workingDirectory } from './support.ts';

/** Of a warm cache: what is asked of the registry, and whether the entry is written to. */
const ROWS = [
  { lock: 'none', mayBreak: false, asks: 'for the zip', writes: true },
  { lock: 'zh', mayBreak: false, asks: 'for the zip', writes: true },
  { lock: 'h1', mayBreak: false, asks: 'for versions', writes: false },
  { lock: 'none', mayBreak: true, asks: 'for versions', writes: false },
] as const;

describe('terraform init with a warm plugin cache', { skip: WITHOUT_TERRAFORM }, () => {
  for (const { lock, mayBreak, asks, writes } of ROWS) {
    it(`asks ${asks} with a lock file that has ${lock === 'none' ? 'no hash' : `its ${lock}`}${mayBreak ? ', which it may break' : ''}`, { skip: writes && process.getuid?.() !== 0 ? 'only root writes into read-only files' : false }, async (t) => {
      const root = await withTemporaryDirectory(t);
      const registry = await startRegistry({ providers: [release('thing')] });
      t.after(() => registry.close());
      const cache = await openCache(t, { directory: join(root, 'cache'), environment: {}, hosts: registry.hosts(HOST) });
      const found = await cache.ensure(required('thing'));
      const directory = await workingDirectory(root, 'work', [required('thing')]);
      if (lock !== 'none') await writeLockFile(directory, [{ ...required('thing'), hashes: found.hashes.filter((hash) => hash.startsWith(`${lock}:`)) }]);
      const pluginCache = join(root, 'plugins');
      await cp(cache.providersDirectory, pluginCache, { recursive: true });
      const executable = join(pluginCache, found.executable.slice(cache.providersDirectory.length));
      const before = await stat(executable, { bigint: true });
      const zips = registry.count('zip');
      const result = await init(terraform(), directory, {
        configuration: { hosts: registry.hosts(HOST) },
        environment: { TF_PLUGIN_CACHE_DIR: pluginCache, ...(mayBreak ? { TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE: '1' } : {}) },
      });
      assert.equal(result.code, 0, lastWords(result));
      assert.equal(registry.count('zip') > zips, asks === 'for the zip');
      assert.ok(registry.count('versions') > 0);
      assert.equal((await stat(executable, { bigint: true })).mtimeNs !== before.mtimeNs, writes);
      assert.ok((await lstat(join(directory, '.terraform/providers', found.path.slice(cache.providersDirectory.length)))).isSymbolicLink());
    });
  }
});
