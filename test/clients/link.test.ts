/** A working directory that `linkInto` filled, in the hands of `terraform`. */
import assert from 'node:assert/strict';
import { lstat, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { ProviderPackage } from '../../src/index.ts';
import { hashDirectory } from '../../src/verify/index.ts';
import { HOST } from '../cache/support.ts';
import type { RegistryProcess } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { init, writeLockFile } from '../support/terraform.ts';
import { cacheOptions, lastWords, openCache, release, required, terraform, withRegistryProcess, WITHOUT_TERRAFORM, workingDirectory } from './support.ts';

const PROVIDER = required('thing');

async function prepare(t: TestContext): Promise<{ registry: RegistryProcess; directory: string; providers: string; found: ProviderPackage; mirror: string }> {
  const root = await withTemporaryDirectory(t);
  const registry = await withRegistryProcess(t, { providers: [release('thing')] });
  const cache = await openCache(t, cacheOptions(registry, join(root, 'cache')));
  const found = await cache.ensure(PROVIDER);
  const directory = await workingDirectory(root, 'work', [PROVIDER]);
  return { registry, directory, providers: join(directory, '.terraform/providers'), found, mirror: cache.providersDirectory };
}

/** Everything about the entry that a program which wrote into it would have changed. */
async function state(found: ProviderPackage): Promise<unknown> {
  const [directory, executable] = await Promise.all([stat(found.path, { bigint: true }), stat(found.executable, { bigint: true })]);
  return {
    inodes: [directory.ino, executable.ino],
    times: [directory.mtimeNs, executable.mtimeNs],
    mode: executable.mode,
    h1: await hashDirectory(found.path),
  };
}

describe('linkInto, then terraform init', { skip: WITHOUT_TERRAFORM }, () => {
  it('works offline through a symlink where the lock file has our hash, and leaves the entry as it was', async (t) => {
    const { registry, directory, providers, found, mirror } = await prepare(t);
    await writeLockFile(directory, [{ ...PROVIDER, hashes: found.hashes }]);
    const linked = await found.linkInto(providers);
    assert.equal(await readlink(linked), found.path);
    const before = await state(found);
    await registry.close();
    const result = await init(terraform(), directory, { configuration: { mirror } });
    assert.equal(result.code, 0, lastWords(result));
    assert.deepEqual(await state(found), before);
    assert.equal(await readlink(linked), found.path);
  });

  it('is a copy without a lock file, and terraform writes into that copy', async (t) => {
    const { registry, directory, providers, found } = await prepare(t);
    const linked = await found.linkInto(providers);
    assert.equal((await lstat(linked)).isDirectory(), true);
    const executable = join(linked, found.executable.slice(found.path.length));
    const [before, copied] = [await state(found), await stat(executable, { bigint: true })];
    const result = await init(terraform(), directory, { configuration: { hosts: registry.hosts(HOST) } });
    assert.equal(result.code, 0, lastWords(result));
    // It did write, in place: that is what the copy is for.
    const written = await stat(executable, { bigint: true });
    assert.equal(written.ino, copied.ino);
    assert.notEqual(written.mtimeNs, copied.mtimeNs);
    assert.deepEqual(await state(found), before);
  });

  it('would have spoiled the entry through a symlink that nobody should ask for without a lock file', { skip: process.getuid?.() === 0 ? false : 'only root writes into read-only files' }, async (t) => {
    const { registry, directory, providers, found } = await prepare(t);
    await found.linkInto(providers, { method: 'symlink' });
    const before = await state(found);
    const result = await init(terraform(), directory, { configuration: { hosts: registry.hosts(HOST) } });
    assert.equal(result.code, 0, lastWords(result));
    assert.notDeepEqual(await state(found), before);
  });
});
