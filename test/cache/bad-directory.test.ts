import assert from 'node:assert/strict';
import { chmod, lstat, mkdir, readFile, readdir, readlink, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ProviderCache, type ProviderCacheOptions } from '../../src/index.ts';
import { startChild } from '../support/child.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { assertFailure, assertNothingLeft, failsCleanly, failureOf, recovers, SECRET, withScene, type ExpectedFailure } from './failure.ts';
import type { EnsureReport, EnsureTask } from './fixtures/ensure.ts';
import { HOST, openCache, THING, THING_PATH, treeOf, withRegistry } from './support.ts';

const inTheWay = (path: string): ExpectedFailure => ({ code: 'ERR_FILE_SYSTEM', fields: { systemCode: 'ENOTDIR' }, says: new RegExp(`${path}.*ENOTDIR; something that is not a directory stands in the way`, 'u') });

describe('a file where a directory should be', { concurrency: 8 }, () => {
  const above = ['', `/${HOST}`, `/${HOST}/acme`, `/${HOST}/acme/thing`, `/${HOST}/acme/thing/1.2.3`];
  for (const level of above) {
    it(`providers${level}: it says which, and goes on when it is moved aside`, async (t) => {
      const scene = await withScene(t);
      const path = join(scene.directory, `providers${level}`);
      await rm(path, { recursive: true, force: true });
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, 'in the way');
      const error = await failureOf(scene.cache.ensure(THING));
      assertFailure(error, inTheWay(`providers${level}`));
      assert.equal(await readFile(path, 'utf8'), 'in the way');
      await unlink(path);
      await assertNothingLeft(scene.directory);
      await recovers(scene);
    });
  }

  for (const part of ['presence', 'locks', 'staging', 'records']) {
    it(`state/${part}: it says which, and goes on when it is moved aside`, async (t) => {
      const scene = await withScene(t);
      const path = join(scene.directory, 'state', part);
      await rm(path, { recursive: true });
      await writeFile(path, 'in the way');
      assertFailure(await failureOf(scene.cache.ensure(THING)), { ...inTheWay(`state/${part}`), says: new RegExp(`state/${part}.*ENOTDIR`, 'u') });
      await unlink(path);
      await mkdir(path);
      await assertNothingLeft(scene.directory);
      await recovers(scene);
    });
  }

  for (const path of ['', '/state', '/state/locks', '/providers']) {
    it(`directory${path}, when the cache is opened`, async (t) => {
      const root = await withTemporaryDirectory(t);
      const directory = join(root, 'cache');
      await mkdir(dirname(`${directory}${path}`), { recursive: true });
      await writeFile(`${directory}${path}`, 'in the way');
      const error = await failureOf(ProviderCache.open({ directory }));
      assertFailure(error, { code: 'ERR_FILE_SYSTEM', fields: { systemCode: 'ENOTDIR' }, says: new RegExp(`${directory}.*ENOTDIR`, 'u') });
      await unlink(`${directory}${path}`);
      await recovers(await sceneIn(t, directory));
    });
  }

  it('a directory where a lock file should be', async (t) => {
    const scene = await withScene(t);
    const lock = join(scene.directory, `${THING_PATH}.lock`);
    await mkdir(lock, { recursive: true });
    assertFailure(await failureOf(scene.cache.ensure(THING)), { code: 'ERR_FILE_SYSTEM', fields: { systemCode: 'EISDIR', path: lock }, says: /linux_amd64\.lock: EISDIR/u });
    await rm(lock, { recursive: true });
    await assertNothingLeft(scene.directory);
    await recovers(scene);
  });
});

describe('something else where the entry should be', { concurrency: 8 }, () => {
  it('a dangling symlink: repaired, and nothing is written where it led', async (t) => {
    const scene = await withScene(t);
    const { entry, elsewhere } = await placesOf(t, scene.directory);
    await symlink(join(elsewhere, 'nowhere'), entry);
    const { path } = await recovers(scene, 'repaired');
    assert.ok((await lstat(path)).isDirectory());
    assert.deepEqual(await readdir(elsewhere), []);
    const [trashed = ''] = await readdir(join(scene.directory, 'state/trash'));
    assert.equal(await readlink(join(scene.directory, 'state/trash', trashed)), join(elsewhere, 'nowhere'));
    assert.equal((await scene.cache.ensure(THING)).outcome, 'hit');
  });

  it('a symlink to itself: repaired', async (t) => {
    const scene = await withScene(t);
    const { entry } = await placesOf(t, scene.directory);
    await symlink(entry, entry);
    await recovers(scene, 'repaired');
  });

  it('a symlink to a directory that is not the package: repaired, and that directory stays as it was', async (t) => {
    const scene = await withScene(t);
    const { entry, elsewhere } = await placesOf(t, scene.directory);
    await writeFile(join(elsewhere, 'terraform-provider-thing_v1.2.3_x5'), 'not it');
    await symlink(elsewhere, entry);
    const { path } = await recovers(scene, 'repaired');
    assert.ok((await lstat(path)).isDirectory());
    assert.equal(await readFile(join(elsewhere, 'terraform-provider-thing_v1.2.3_x5'), 'utf8'), 'not it');
    assert.deepEqual(await readdir(elsewhere), ['terraform-provider-thing_v1.2.3_x5']);
  });

  it('a symlink to the package itself: adopted, and left as it is', async (t) => {
    const scene = await withScene(t);
    const { entry, elsewhere } = await placesOf(t, scene.directory);
    const other = await openCache(t, scene.registry, { directory: join(elsewhere, 'cache'), credentials: { [HOST]: { token: SECRET } } });
    const { path } = await other.ensure(THING);
    await symlink(path, entry);
    await recovers(scene, 'adopted');
    assert.equal(await readlink(entry), path);
    assert.equal((await scene.cache.ensure(THING)).outcome, 'hit');
  });

  it('a file: repaired', async (t) => {
    const scene = await withScene(t);
    const { entry } = await placesOf(t, scene.directory);
    await writeFile(entry, 'in the way');
    await recovers(scene, 'repaired');
  });

  it('an empty directory: repaired', async (t) => {
    const scene = await withScene(t);
    const { entry } = await placesOf(t, scene.directory);
    await mkdir(entry);
    await recovers(scene, 'repaired');
  });

  it('a directory with a dangling symlink in it: repaired', async (t) => {
    const scene = await withScene(t);
    const { entry } = await placesOf(t, scene.directory);
    await mkdir(entry);
    await symlink('nowhere', join(entry, 'terraform-provider-thing_v1.2.3_x5'));
    await recovers(scene, 'repaired');
  });

  it('while the registry is bad: it stays as it was', async (t) => {
    const scene = await withScene(t, { registry: { faults: [{ on: 'zip', status: 404 }] } });
    const { entry } = await placesOf(t, scene.directory);
    await symlink('nowhere', entry);
    assertFailure(await failureOf(scene.cache.ensure(THING)), { code: 'ERR_HTTP_STATUS', says: /404/u });
    assert.equal(await readlink(entry), 'nowhere');
    await unlink(entry);
    await assertNothingLeft(scene.directory);
    await recovers(scene);
  });

  for (const offline of [true, false]) {
    it(`with ${offline ? 'offline' : 'readOnly'}: refused, and it stays as it was`, async (t) => {
      const scene = await withScene(t);
      const { entry } = await placesOf(t, scene.directory);
      await symlink('nowhere', entry);
      const strict = await openCache(t, scene.registry, { directory: scene.directory, offline, readOnly: !offline });
      assertFailure(await failureOf(strict.ensure(THING)), { code: offline ? 'ERR_HASH_UNPROVEN' : 'ERR_READ_ONLY', says: /acme\/thing\/1\.2\.3\/linux_amd64/u });
      assert.equal(await readlink(entry), 'nowhere');
    });
  }
});

describe('a directory of another format', () => {
  for (const readOnly of [false, true]) {
    it(`is refused and left alone${readOnly ? ', readOnly as well' : ''}`, async (t) => {
      const scene = await withScene(t);
      const { directory } = scene;
      await writeFile(join(directory, 'state/format'), '2\n');
      const before = await treeOf(directory);
      assertFailure(await failureOf(ProviderCache.open({ directory, readOnly })), { code: 'ERR_CACHE_FORMAT', fields: { directory, found: '2' }, says: new RegExp(`${directory} has the state format "2"`, 'u') });
      assert.deepEqual(await treeOf(directory), before);
      await writeFile(join(directory, 'state/format'), '1\n');
      await recovers(await sceneIn(t, directory));
    });
  }
});

describe('a cache that is only read', () => {
  it('makes no directory, and says what is missing', async (t) => {
    const directory = join(await withTemporaryDirectory(t), 'cache');
    const registry = await withRegistry(t);
    const cache = await openCache(t, registry, { directory, readOnly: true });
    assert.equal(await cache.lookup(THING), undefined);
    assertFailure(await failureOf(cache.ensure(THING)), { code: 'ERR_READ_ONLY', says: /registry\.example\.com\/acme\/thing\/1\.2\.3\/linux_amd64 would have to be written/u });
    assertFailure(await failureOf(cache.ensure(THING, { pin: true })), { code: 'ERR_READ_ONLY', says: /acme\/thing/u });
    for await (const found of cache.list()) assert.fail(found.path);
    assert.deepEqual(await readdir(dirname(directory)), []);
    assert.equal(registry.requestLog.length, 0);
    const filler = await openCache(t, registry, { directory });
    await filler.ensure(THING);
    assert.equal((await cache.ensure(THING)).outcome, 'hit');
  });
});

describe('a directory that may not be written', { concurrency: 4 }, () => {
  const parts = ['state/presence', 'state/locks', 'state/staging', 'state/records', 'providers', 'providers/registry.example.com', THING_PATH.slice(0, THING_PATH.lastIndexOf('/'))];
  for (const part of parts) {
    it(`${part}: it says which, and goes on when it may`, async (t) => {
      const user = await asUser(t);
      if (user === undefined) return;
      const { directory, task } = user;
      await (await ProviderCache.open({ directory })).close();
      const path = join(directory, part);
      await mkdir(path, { recursive: true });
      await openToAll(directory);
      await chmod(path, 0o755);
      const [failed] = await user.ensure(task);
      assert.match(failed?.error ?? JSON.stringify(failed), new RegExp(`^ERR_FILE_SYSTEM: Could not .*${part}.*: EACCES; check the owner and mode`, 'u'));
      await assertNothingLeft(directory);
      await chmod(path, 0o777);
      assert.equal((await user.ensure(task))[0]?.outcome, 'installed');
    });
  }

  it('all of it: a hit needs no permission', async (t) => {
    const user = await asUser(t);
    if (user === undefined) return;
    const { directory, registry, task } = user;
    await recovers(await sceneIn(t, directory, registry));
    const requests = registry.requestLog.length;
    for (const cache of [task.cache, { ...task.cache, readOnly: true }, { ...task.cache, verifyOnHit: 'hash' } as const]) {
      assert.equal((await user.ensure({ ...task, cache }))[0]?.outcome, 'hit');
    }
    assert.equal(registry.requestLog.length, requests);
  });

  it('all of it: an entry that was copied hits by its hash, although no record can be written', async (t) => {
    const user = await asUser(t);
    if (user === undefined) return;
    const { directory, registry, task } = user;
    const { path } = await recovers(await sceneIn(t, directory, registry));
    await chmod(path, 0o755);
    await writeFile(join(path, 'touched'), '');
    await unlink(join(path, 'touched'));
    const records = await readdir(join(directory, 'state/records'));
    assert.equal((await user.ensure(task))[0]?.outcome, 'hit');
    assert.deepEqual(await readdir(join(directory, 'state/records')), records);
  });
});

/** The entry's path, with all directories above it, and an empty directory outside of the cache. */
async function placesOf(t: TestContext, directory: string): Promise<{ readonly entry: string; readonly elsewhere: string }> {
  const entry = join(directory, THING_PATH);
  await mkdir(dirname(entry), { recursive: true });
  return { entry, elsewhere: await withTemporaryDirectory(t) };
}

async function sceneIn(t: TestContext, directory: string, given?: Awaited<ReturnType<typeof withRegistry>>): Promise<Parameters<typeof failsCleanly>[0] & Parameters<typeof recovers>[0]> {
  const registry = given ?? (await withRegistry(t));
  return { registry, directory, cache: await openCache(t, registry, { directory }) };
}

/** A process of a user who owns nothing here. Skips the test, and says so, where only root could start one. */
async function asUser(
  t: TestContext,
): Promise<{ readonly directory: string; readonly registry: Awaited<ReturnType<typeof withRegistry>>; readonly task: EnsureTask; ensure(task: EnsureTask): Promise<EnsureReport[]> } | undefined> {
  if (process.platform === 'win32' || process.getuid?.() !== 0) {
    t.skip('needs root to start a process of another user');
    return undefined;
  }
  const root = await withTemporaryDirectory(t);
  await chmod(root, 0o755);
  const directory = join(root, 'cache');
  const registry = await withRegistry(t);
  const cache: ProviderCacheOptions = { directory, hosts: registry.hosts(HOST), lockTimeoutMs: 5000 };
  const child = startChild(t, new URL('./fixtures/ensure.js', import.meta.url), [], { uid: 65534, gid: 65534 });
  assert.equal(await child.message(), 'ready');
  const ensure = async (task: EnsureTask): Promise<EnsureReport[]> => {
    child.process.send(task);
    return (await child.message()) as EnsureReport[];
  };
  return { directory, registry, task: { cache, requests: [THING] }, ensure };
}

/** Every directory of a cache may be written by everybody. */
async function openToAll(directory: string): Promise<void> {
  for (const name of await readdir(directory, { recursive: true })) {
    if ((await lstat(join(directory, name))).isDirectory()) await chmod(join(directory, name), 0o777);
  }
}
