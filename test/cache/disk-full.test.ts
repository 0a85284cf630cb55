import assert from 'node:assert/strict';
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { mkdir, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ProviderCache, RwxCacheError, type ProgressEvent } from '../../src/index.ts';
import { startRegistry, type EmbeddedRegistry, type ProviderRelease } from '../support/registry/index.ts';
import { withTmpfs } from '../support/tmpfs.ts';
import { assertFailure, assertNothingLeft, failureOf, recovers, type ExpectedFailure } from './failure.ts';
import { HOST, openCache, THING } from './support.ts';

const MIB = 1024 * 1024;
const PAGE = 4096;

/** 3 MiB unpacked, a part of that as a zip: there is room for both while the disk is not filled. */
const BINARY = Buffer.alloc(3 * MIB, Array.from({ length: 5000 }, (_, index) => `${index * index} `).join(''));
const RELEASE: ProviderRelease = { address: 'acme/thing', version: '1.2.3', files: { 'terraform-provider-thing_v1.2.3_x5': { data: BINARY, mode: 0o100755 } } };

const FULL: ExpectedFailure = { code: 'ERR_FILE_SYSTEM', fields: { systemCode: 'ENOSPC' }, says: /^Could not .*ENOSPC; the file system is full: free space, then call again$/u };

/** Fills a disk to the last page, but for so many bytes. */
function fill(disk: string, leave = 0): void {
  const descriptor = openSync(join(disk, 'filler'), 'a');
  try {
    const { bavail, bsize } = statfsSync(disk);
    const bytes = bavail * bsize - leave;
    for (let at = 0; at < bytes; at += MIB) writeSync(descriptor, Buffer.alloc(Math.min(MIB, bytes - at), 1));
  } finally {
    closeSync(descriptor);
  }
}

async function withRegistryOf(t: TestContext): Promise<EmbeddedRegistry> {
  const registry = await startRegistry({ providers: [RELEASE] });
  t.after(() => registry.close());
  return registry;
}

describe('a disk that is full', () => {
  const phases: readonly ProgressEvent['phase'][] = ['resolving', 'downloading', 'verifying', 'unpacking', 'publishing'];
  for (const phase of phases) {
    it(`from the moment of ${phase} on`, async (t) => {
      const disk = await withTmpfs(t, 8 * MIB);
      if (disk === undefined) return;
      const registry = await withRegistryOf(t);
      const directory = join(disk, 'cache');
      const cache = await openCache(t, registry, { directory, lockTimeoutMs: 5000 });
      let filled = false;
      const onProgress = (event: ProgressEvent): void => {
        if (event.phase !== phase || filled) return;
        filled = true;
        fill(disk);
      };
      const error = await failureOf(cache.ensure(THING, { onProgress }));
      assert.ok(filled);
      assertFailure(error, FULL);
      await assertNothingLeft(directory);
      rmSync(join(disk, 'filler'));
      await recovers({ cache, registry });
    });
  }

  it('from the moment of its opening on', async (t) => {
    const disk = await withTmpfs(t, 8 * MIB);
    if (disk === undefined) return;
    const registry = await withRegistryOf(t);
    const directory = join(disk, 'cache');
    const cache = await openCache(t, registry, { directory, lockTimeoutMs: 5000 });
    fill(disk);
    assertFailure(await failureOf(cache.ensure(THING)), FULL);
    await assertNothingLeft(directory);
    rmSync(join(disk, 'filler'));
    await recovers({ cache, registry });
  });

  it('but for some pages, from before the cache is opened on: it fails cleanly, or there is room', async (t) => {
    const disk = await withTmpfs(t, 8 * MIB);
    if (disk === undefined) return;
    const registry = await withRegistryOf(t);
    const pages = [...Array.from({ length: 10 }, (_, index) => index), 16, 64, 128, 256, 512, 768, 800, 900, 1024, 1500];
    const relieve = (): Promise<void> => unlink(join(disk, 'filler'));
    const met: string[] = [];
    for (const leave of pages) {
      const exhaust = (): void => {
        fill(disk, leave * PAGE);
      };
      met.push(await outcomeOn({ disk, registry, exhaust, relieve }));
    }
    assert.equal(met.at(-1), 'installed');
    assertMet(met, ['state/format', 'package.zip', 'package/terraform-provider-thing']);
  });

  it('but for some inodes, from before the cache is opened on: it fails cleanly, or there is room', async (t) => {
    const disk = await withTmpfs(t, 8 * MIB, 100);
    if (disk === undefined) return;
    const registry = await withRegistryOf(t);
    const filler = join(disk, 'filler');
    const relieve = (): Promise<void> => rm(filler, { recursive: true });
    const met: string[] = [];
    for (let leave = 0; leave <= 30; leave += 1) {
      const exhaust = async (): Promise<void> => {
        // Swept just now, as it says: housekeeping would take an inode at one moment or another.
        await mkdir(join(disk, 'cache/state'), { recursive: true });
        await writeFile(join(disk, 'cache/state/swept'), '');
        await mkdir(filler);
        const free = statfsSync(disk).ffree - leave;
        await Promise.all(Array.from({ length: free }, (_, index) => writeFile(join(filler, String(index)), '')));
      };
      met.push(await outcomeOn({ disk, registry, exhaust, relieve }));
    }
    assert.equal(met.at(-1), 'installed');
    // Not the record's file: it takes the inode that the zip has given back.
    assertMet(met, ['state/locks:', 'state/records:', 'state/format', 'state/presence/', 'linux_amd64.lock', 'staging directory', 'package.zip', 'package:', 'package/terraform-provider-thing']);
  });
});

/** That the sweep has met each of these stages, or it would show less than it says. */
function assertMet(met: readonly string[], stages: readonly string[]): void {
  const missed = stages.filter((stage) => !met.some((message) => message.includes(stage)));
  assert.deepEqual(missed, [], `only these were met:\n${met.join('\n')}`);
}

interface Shortage {
  readonly disk: string;
  readonly registry: EmbeddedRegistry;
  readonly exhaust: () => void | Promise<void>;
  readonly relieve: () => Promise<void>;
}

/** One cache from its first directory on, on a disk with little room. When that is too little, it works as soon as there is more. */
async function outcomeOn({ disk, registry, exhaust, relieve }: Shortage): Promise<string> {
  const directory = join(disk, 'cache');
  const options = { directory, hosts: registry.hosts(HOST), environment: {}, lockTimeoutMs: 5000 };
  await exhaust();
  let cache: ProviderCache | undefined;
  let failure: string | undefined;
  const attempt = async (): Promise<void> => {
    cache = await ProviderCache.open(options);
    await cache.ensure(THING);
  };
  const error = await attempt().catch((reason: unknown) => reason);
  if (error !== undefined) {
    assert.ok(error instanceof RwxCacheError);
    assertFailure(error, FULL);
    await assertNothingLeft(directory);
    failure = error.message;
  }
  await relieve();
  const later = cache ?? (await ProviderCache.open(options));
  await recovers({ cache: later, registry }, failure === undefined ? 'hit' : 'installed');
  await later.close();
  await rm(directory, { recursive: true });
  return failure ?? 'installed';
}
