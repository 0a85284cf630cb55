/** What dead processes left is cleared away; what living ones need is not. */
import assert from 'node:assert/strict';
import { copyFile, cp, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { uniqueName } from '../../src/atomic/index.ts';
import { findStaging, openDirectories } from '../../src/cache/directories.ts';
import { keepHouse, type HousekeepingAges } from '../../src/cache/housekeeping.ts';
import { enterPresence, presenceOf, type Presence } from '../../src/cache/presence.ts';
import { startChild, type Child } from '../support/child.ts';
import type { EmbeddedRegistry } from '../support/registry/index.ts';
import type { EnsureTask } from './fixtures/ensure.ts';
import { HOST, openCache, THING, THING_PATH, treeOf, withCache } from './support.ts';

/** Time stamps cannot be set back for good (ctime), so the terms are cut short instead. */
const AT_ONCE: HousekeepingAges = { deadMs: 1, trashMs: 1, recordMs: 1, presenceMs: 1, partialMs: 1, metadataMs: 1, everyMs: 0 };

const NEVER = new AbortController().signal;

async function sweepAtOnce(directory: string): Promise<void> {
  const directories = await openDirectories({ directory, readOnly: false });
  const presence = await enterPresence(directories.presence);
  await grownOld(presence);
  await keepHouse(directories, await findStaging(directories), presence, NEVER, AT_ONCE);
  await presence.leave();
}

/** What is there by now is older than all ages of {@link AT_ONCE}, by the file system's own clock, which may tick every few milliseconds only. */
async function grownOld(presence: Presence): Promise<void> {
  const begun = await presence.touch();
  while ((await presence.touch()) - begun <= AT_ONCE.deadMs) await new Promise(setImmediate);
}

/** A process that is killed, or not, in the middle of its download. */
async function startStalled(t: TestContext, directory: string, registry: EmbeddedRegistry): Promise<Child> {
  const child = startChild(t, new URL('./fixtures/ensure.js', import.meta.url));
  assert.equal(await child.message(), 'ready');
  child.process.send({ cache: { directory, hosts: registry.hosts(HOST) }, requests: [THING], options: { pin: true } } satisfies EnsureTask);
  while (registry.count('zip') === 0 || (await treeOf(join(directory, 'state/staging'))).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  return child;
}

/** The marks of all packages: `<presence>.<unique>`. */
async function marksIn(directory: string): Promise<string[]> {
  return (await treeOf(join(directory, 'state/pins'))).filter((path) => path.includes('/')).map((path) => path.slice(path.indexOf('/') + 1));
}

const STALL = { registry: { faults: [{ on: 'zip', stallAt: 100, times: 1 }] } } as const;

describe('what a killed process left', () => {
  it('is swept when it is old: staging, presence mark and pin', async (t) => {
    const { cache, directory, registry } = await withCache(t, STALL);
    const child = await startStalled(t, directory, registry);
    child.process.kill('SIGKILL');
    await child.ended;
    const state = join(directory, 'state');
    const [left] = await readdir(join(state, 'staging'));
    const [mark] = await readdir(join(state, 'presence'));
    const [pin] = await marksIn(directory);
    assert.ok(left !== undefined && mark !== undefined && pin !== undefined && left.startsWith(mark) && pin.startsWith(mark));
    assert.equal(await presenceOf(join(state, 'presence'), mark), 'absent');

    // Young leftovers stay: a server may have taken the lock from a process that is still at work.
    await cache.ensure(THING);
    await cache.close();
    assert.deepEqual(await readdir(join(state, 'staging')), [left]);

    await sweepAtOnce(directory);
    for (const name of ['staging', 'presence', 'pins']) assert.deepEqual(await readdir(join(state, name)), [], name);
    assert.equal((await readdir(join(state, 'records'))).length, 1);
  });

  it('is kept while its process lives, however old it is', async (t) => {
    const { directory, registry } = await withCache(t, STALL);
    await startStalled(t, directory, registry);
    await sweepAtOnce(directory);
    for (const name of ['staging', 'presence', 'pins']) assert.equal((await readdir(join(directory, 'state', name))).length, 1, name);
  });
});

describe('what nobody needs', () => {
  it('is swept from the trash, and from the records where there is no entry', async (t) => {
    const { cache, directory, registry } = await withCache(t, { cache: { settleMs: 0 } });
    const { path } = await cache.ensure(THING);
    await registry.publish({ address: 'acme/second', version: THING.version });
    const gone = await cache.ensure({ ...THING, source: `${HOST}/acme/second` });
    await rm(gone.path, { recursive: true });
    await writeFile(join(path, 'LICENSE.new'), 'spoilt');
    assert.equal((await cache.ensure(THING)).outcome, 'repaired');
    await cache.close();
    const state = join(directory, 'state');
    assert.equal((await readdir(join(state, 'trash'))).length, 1);
    assert.equal((await readdir(join(state, 'records'))).length, 2);
    await sweepAtOnce(directory);
    assert.deepEqual(await readdir(join(state, 'trash')), []);
    assert.equal((await readdir(join(state, 'records'))).length, 1);
  });

  it('is swept from the records where a crash came between the last two steps of writing one: it is whole then, and its entry is there', async (t) => {
    const { cache, directory } = await withCache(t);
    await cache.ensure(THING);
    await cache.close();
    const records = join(directory, 'state', 'records');
    const [record = ''] = await readdir(records);
    await copyFile(join(records, record), join(records, `.${record}.${uniqueName()}.tmp`));
    await sweepAtOnce(directory);
    assert.deepEqual(await readdir(records), [record]);
  });

  it('waits until an hour has passed since the last sweep, of whatever process', async (t) => {
    const { directory } = await withCache(t);
    const directories = await openDirectories({ directory, readOnly: false });
    const places = await findStaging(directories);
    const presence = await enterPresence(directories.presence);
    t.after(() => presence.leave());
    const leave = async (): Promise<void> => {
      await mkdir(join(places.staging, uniqueName()));
      await grownOld(presence);
    };
    await leave();
    await keepHouse(directories, places, presence, NEVER, { ...AT_ONCE, everyMs: 3_600_000 });
    assert.deepEqual(await readdir(places.staging), []);
    await leave();
    await keepHouse(directories, places, presence, NEVER, { ...AT_ONCE, everyMs: 3_600_000 });
    assert.equal((await readdir(places.staging)).length, 1);
  });
});

describe('the records of entries that somebody removed', () => {
  it('are swept; that of the entry which stands there stays', async (t) => {
    const { cache, directory } = await withCache(t);
    const records = join(directory, 'state/records');
    for (let round = 1; round <= 3; round += 1) {
      if (round > 1) await rm(join(directory, THING_PATH), { recursive: true });
      assert.equal((await cache.ensure(THING)).outcome, 'installed');
      assert.equal((await readdir(records)).length, round);
    }
    await sweepAtOnce(directory);
    assert.equal((await readdir(records)).length, 1);
    assert.equal((await cache.ensure(THING)).outcome, 'hit');
  });

  it('stay as long as one of them may name the hash of what was restored', async (t) => {
    const { cache, directory } = await withCache(t);
    const entry = join(directory, THING_PATH);
    await cache.ensure(THING);
    await cp(entry, `${entry}.copy`, { recursive: true });
    await rm(entry, { recursive: true });
    await rename(`${entry}.copy`, entry);
    await sweepAtOnce(directory);
    assert.equal((await readdir(join(directory, 'state/records'))).length, 1);
    assert.equal((await cache.ensure(THING)).outcome, 'hit');
  });
});

describe('presence', () => {
  it('is made when something is written, not by a hit, and goes with close', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    await cache.ensure(THING);
    assert.equal((await readdir(join(directory, 'state/presence'))).length, 1);
    await cache.close();
    const other = await openCache(t, registry, { directory });
    assert.equal((await other.ensure(THING)).outcome, 'hit');
    assert.deepEqual(await treeOf(join(directory, 'state/presence')), []);
  });

  it('is known by its lock', async (t) => {
    const { directory } = await withCache(t);
    const marks = join(directory, 'state/presence');
    const presence = await enterPresence(marks);
    assert.equal(await presenceOf(marks, presence.id), 'present');
    await presence.leave();
    assert.equal(await presenceOf(marks, presence.id), 'absent');
    await writeFile(join(marks, 'e'.repeat(32)), '');
    assert.equal(await presenceOf(marks, 'e'.repeat(32)), 'absent');
  });
});
