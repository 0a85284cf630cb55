/** Downloads that outlive their process: killed, aborted, damaged, beside others, and on a full disk. */
import assert from 'node:assert/strict';
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { keepHouse } from '../../src/cache/housekeeping.ts';
import { findStaging, openDirectories } from '../../src/cache/directories.ts';
import { enterPresence } from '../../src/cache/presence.ts';
import { hashDirectory } from '../../src/verify/index.ts';
import type { ProgressEvent } from '../../src/index.ts';
import { startChild, type Child } from '../support/child.ts';
import type { EmbeddedRegistry } from '../support/registry/index.ts';
import { withTmpfs } from '../support/tmpfs.ts';
import type { EnsureReport, EnsureTask } from './fixtures/ensure.ts';
import { noiseRelease } from './noise.ts';
import { HOST, openCache, THING, treeOf, withCache, withRegistry } from './support.ts';

const MIB = 1024 * 1024;
const RELEASE = noiseRelease(9 * MIB);
/** Where the connection falls silent, and how much of that is on disk when nothing more comes. */
const STALL = 6 * MIB;
const BLOCK = 256 * 1024;

const partialsOf = (directory: string): string => join(directory, 'state/partial', String(process.getuid?.()));

async function partialsIn(directory: string): Promise<string[]> {
  return readdir(partialsOf(directory)).catch(() => []);
}

function zipOf(registry: EmbeddedRegistry, version = '1.2.3'): { readonly sha256: string; readonly size: number } {
  return registry.releases.find(({ release }) => release.version === version)?.packages.get('linux_amd64') ?? assert.fail();
}

/** The next download falls silent in its middle. */
function stallOnce(registry: EmbeddedRegistry): void {
  registry.faults.inject({ on: 'zip', stallAt: STALL, times: 1, headers: { etag: `"${zipOf(registry).sha256}"` } });
}

/** Until all that came is on disk, where a later process finds it. */
async function untilKept(directory: string): Promise<void> {
  for (const began = performance.now(); ; await new Promise((resolve) => setTimeout(resolve, 10))) {
    for (const name of await partialsIn(directory)) if ((await stat(join(partialsOf(directory), name))).size > STALL - 2 * BLOCK) return;
    assert.ok(performance.now() - began < 60_000, 'nothing is kept');
  }
}

function startEnsure(t: TestContext, directory: string, registry: EmbeddedRegistry, version = '1.2.3'): Child {
  const child = startChild(t, new URL('./fixtures/ensure.js', import.meta.url));
  void child.message().then(() => {
    child.process.send({ cache: { directory, hosts: registry.hosts(HOST) }, requests: [{ ...THING, version }] } satisfies EnsureTask);
  });
  return child;
}

/** A process that is killed in the middle of its download. */
async function killInDownload(t: TestContext, directory: string, registry: EmbeddedRegistry): Promise<void> {
  stallOnce(registry);
  const child = startEnsure(t, directory, registry);
  await untilKept(directory);
  child.process.kill('SIGKILL');
  await child.ended;
}

/** The requests for zips from here on, with the byte that each asked for and how many it got. */
function watchZips(registry: EmbeddedRegistry): () => { readonly from: number; readonly status: number; readonly sentBytes: number }[] {
  const before = registry.requestLog.length;
  return () =>
    registry.requestLog
      .slice(before)
      .filter(({ route }) => route === 'zip')
      .map(({ headers, status, sentBytes }) => ({ from: Number(/^bytes=(\d+)-$/u.exec(headers.range ?? '')?.[1] ?? 0), status, sentBytes }));
}

describe('a download whose process was killed', () => {
  it('is taken up by the next one: only the rest is sent, and nothing of it stays behind', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: { providers: [RELEASE] } });
    await killInDownload(t, directory, registry);
    const zips = watchZips(registry);
    const progress: number[] = [];
    const onProgress = (event: ProgressEvent): void => {
      if (event.phase === 'downloading') progress.push(event.receivedBytes);
    };
    const { outcome, path, hashes } = await cache.ensure(THING, { onProgress });
    assert.deepEqual([outcome, await hashDirectory(path)], ['installed', hashes[0]]);
    const { size } = zipOf(registry);
    const [asked, rest, ...more] = zips();
    assert.ok(asked !== undefined && rest !== undefined && more.length === 0);
    assert.ok(rest.from > STALL - 2 * BLOCK && rest.from <= STALL, String(rest.from));
    assert.ok(rest.sentBytes >= size - rest.from && rest.sentBytes < size - rest.from + 4096, String(rest.sentBytes));
    // The first answer told what the package is now; what was in flight by then is lost.
    assert.ok(asked.from === 0 && asked.sentBytes < size, String(asked.sentBytes));
    t.diagnostic(`${asked.sentBytes} bytes of the first answer were on their way, of ${size}`);
    assert.ok(progress[0] !== undefined && progress[0] >= rest.from && progress.at(-1) === size, 'progress goes on');
    assert.deepEqual(await partialsIn(directory), []);
  });

  it('is taken up by two at once, which do not disturb each other', async (t) => {
    const registry = await withRegistry(t, { providers: [RELEASE] });
    const zip = registry.releases[0]?.packages.get('linux_amd64')?.source;
    assert.ok(zip instanceof Uint8Array);
    // Two versions of one content have one digest, and locks of their own.
    await registry.publish({ address: 'acme/thing', version: '1.2.4', zip });
    const { directory } = await withCache(t);
    await killInDownload(t, directory, registry);
    const zips = watchZips(registry);
    const children = ['1.2.3', '1.2.4'].map((version) => startEnsure(t, directory, registry, version));
    const reports = await Promise.all(children.map((child) => child.message() as Promise<EnsureReport[]>));
    assert.deepEqual(reports.map(([report]) => report?.outcome), ['installed', 'installed']);
    assert.equal(reports[0]?.[0]?.h1, reports[1]?.[0]?.h1);
    assert.ok(zips().some(({ from, status }) => from > 0 && status === 206));
    assert.deepEqual(await partialsIn(directory), []);
  });

  it('and is damaged since, is found out: everything again, by itself', async (t) => {
    for (const at of [0, 3 * MIB]) {
      const { cache, directory, registry } = await withCache(t, { registry: { providers: [RELEASE] } });
      await killInDownload(t, directory, registry);
      const [name = ''] = await partialsIn(directory);
      const file = await open(join(partialsOf(directory), name), 'r+');
      const [{ buffer }] = [await file.read(Buffer.alloc(1), 0, 1, at)];
      await file.write(Buffer.from([~(buffer[0] ?? 0) & 0xff]), 0, 1, at);
      await file.close();
      const zips = watchZips(registry);
      const { outcome, path, hashes } = await cache.ensure(THING);
      assert.deepEqual([outcome, await hashDirectory(path)], ['installed', hashes[0]]);
      assert.deepEqual(zips().map(({ from }) => from > 0), [false, true, false]);
      assert.deepEqual(await partialsIn(directory), []);
    }
  });

  it('and has changed on the server since, is left alone', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: { providers: [RELEASE] } });
    await killInDownload(t, directory, registry);
    // The same bytes, but nothing vouches for it any more.
    const { sha256 } = zipOf(registry);
    registry.faults.inject({ on: 'zip', headers: { etag: `"${sha256}-2"` } });
    const zips = watchZips(registry);
    assert.equal((await cache.ensure(THING)).outcome, 'installed');
    assert.deepEqual(zips().map(({ from }) => from), [0]);
    assert.equal((await partialsIn(directory)).length, 1, 'it goes by its age');
  });
});

describe('a download that is aborted', () => {
  it('ends at once, and the next call takes it up', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: { providers: [RELEASE] } });
    stallOnce(registry);
    const abort = new AbortController();
    const call = cache.ensure(THING, { signal: abort.signal }).then(() => assert.fail('it succeeded'), (reason: unknown) => reason);
    await untilKept(directory);
    const began = performance.now();
    abort.abort(new Error('enough'));
    assert.equal(((await call) as Error).message, 'enough');
    // 100 ms is the promise; the rest is for a busy machine.
    assert.ok(performance.now() - began < 1000);
    const zips = watchZips(registry);
    await cache.ensure(THING);
    assert.ok((zips()[1]?.from ?? 0) > STALL - 2 * BLOCK);
    assert.deepEqual(await partialsIn(directory), []);
  });
});

describe('what is kept of a download', () => {
  it('is nothing when it is small, and nothing when it has ended well', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: { providers: [noiseRelease(7 * MIB)] } });
    registry.faults.inject({ on: 'zip', stallAt: 6 * MIB, times: 1, headers: { etag: `"${zipOf(registry).sha256}"` } });
    const quick = await openCache(t, registry, { directory, http: { backoffMs: 1, idleTimeoutMs: 500 } });
    await quick.ensure(THING);
    assert.ok(registry.requestLog.some(({ headers }) => headers.range !== undefined), 'it went on in its own process');
    assert.ok(!(await readdir(join(directory, 'state'))).includes('partial'));
    await registry.publish(noiseRelease(9 * MIB, '2.0.0'));
    await cache.ensure({ ...THING, version: '2.0.0' });
    assert.deepEqual(await partialsIn(directory), []);
  });

  it('is swept with the rest, when it is old', async (t) => {
    const { directory, registry } = await withCache(t, { registry: { providers: [RELEASE] } });
    await killInDownload(t, directory, registry);
    const directories = await openDirectories({ directory, readOnly: false });
    const presence = await enterPresence(directories.presence);
    t.after(() => presence.leave());
    const day = 86_400_000;
    const ages = { deadMs: day, trashMs: day, recordMs: day, presenceMs: day, partialMs: day, metadataMs: day, everyMs: 0 };
    const places = await findStaging(directories);
    const { signal } = new AbortController();
    await keepHouse(directories, places, presence, signal, ages);
    assert.equal((await partialsIn(directory)).length, 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await keepHouse(directories, places, presence, signal, { ...ages, partialMs: 1 });
    assert.deepEqual(await partialsIn(directory), []);
    assert.equal((await treeOf(places.staging)).length, 1);
  });

  it('is not the reason why a disk is full: it makes room for what is needed', async (t) => {
    const disk = await withTmpfs(t, 48 * MIB);
    if (disk === undefined) return;
    const registry = await withRegistry(t, { providers: [RELEASE, noiseRelease(9 * MIB, '2.0.0', 2)] });
    const directory = join(disk, 'cache');
    const cache = await openCache(t, registry, { directory });
    await killInDownload(t, directory, registry);
    // As the sweep does, some minutes later.
    for (const name of await readdir(join(directory, 'state/staging'))) await rm(join(directory, 'state/staging', name), { recursive: true });
    assert.equal((await partialsIn(directory)).length, 1);
    // Room for most of a zip and its content, and with what the other one takes, for all of it.
    const filler = openSync(join(disk, 'filler'), 'w');
    const { bavail, bsize } = statfsSync(disk);
    for (let left = bavail * bsize - 15 * MIB; left > 0; left -= MIB) writeSync(filler, Buffer.alloc(Math.min(left, MIB), 1));
    closeSync(filler);
    const { outcome, path, hashes } = await cache.ensure({ ...THING, version: '2.0.0' });
    assert.deepEqual([outcome, await hashDirectory(path)], ['installed', hashes[0]]);
    assert.deepEqual(await partialsIn(directory), []);
    // And one that nothing can make room for says so, and keeps nothing.
    rmSync(path, { recursive: true });
    const more = openSync(join(disk, 'more'), 'w');
    for (let left = statfsSync(disk).bavail * bsize - 6 * MIB; left > 0; left -= MIB) writeSync(more, Buffer.alloc(Math.min(left, MIB), 1));
    closeSync(more);
    await assert.rejects(cache.ensure({ ...THING, version: '2.0.0' }), { code: 'ERR_FILE_SYSTEM', systemCode: 'ENOSPC' });
    assert.deepEqual(await partialsIn(directory), []);
  });
});
