/**
 * Whether a package is handed out, and how it came: what the cache holds × what the lock file says × where this cache takes packages
 * from and what it asks of them. The clients' rules for their plugin cache, and ours where they differ (each row that does says why).
 */
import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { inParallel } from '../../src/archive/parallel.ts';
import type { Outcome, ProviderCacheOptions } from '../../src/index.ts';
import type { EmbeddedRegistry } from '../support/registry/index.ts';
import { startMirror, type TestMirror } from '../support/network-mirror.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { HOST, openCache, THING, withRegistry } from './support.ts';

/** What is in the cache: nothing; ours, signed; ours, let in without a look at signatures; from the mirror; what another program put there; what it left half-way. */
type Held = 'cold' | 'signed' | 'unchecked' | 'mirrored' | 'foreign' | 'partial';
/** What the lock file holds for the version: nothing; the right h1; the right zh alone, as from another platform; other hashes. */
type Lock = 'none' | 'h1' | 'zh' | 'wrong';
type Policy = 'required' | 'off' | 'mirror' | 'offline';

type Answer = Outcome | 'ERR_OFFLINE' | 'ERR_HASH_MISMATCH' | 'ERR_HASH_UNPROVEN';

const LOCKS: readonly Lock[] = ['none', 'h1', 'zh', 'wrong'];
const POLICIES: readonly Policy[] = ['required', 'off', 'mirror', 'offline'];

/** For each content and policy, the answers in the order of {@link LOCKS}. */
const TABLE: Readonly<Record<Held, Readonly<Record<Policy, readonly [Answer, Answer, Answer, Answer]>>>> = {
  cold: {
    required: ['installed', 'installed', 'installed', 'ERR_HASH_MISMATCH'],
    off: ['installed', 'installed', 'installed', 'ERR_HASH_MISMATCH'],
    mirror: ['installed', 'installed', 'installed', 'ERR_HASH_MISMATCH'],
    offline: ['ERR_OFFLINE', 'ERR_OFFLINE', 'ERR_OFFLINE', 'ERR_OFFLINE'],
  },
  // Without a lock entry the clients download again; a signed record of our own says as much as they would find out.
  signed: {
    required: ['hit', 'hit', 'hit', 'ERR_HASH_MISMATCH'],
    off: ['hit', 'hit', 'hit', 'ERR_HASH_MISMATCH'],
    mirror: ['hit', 'hit', 'hit', 'ERR_HASH_MISMATCH'],
    offline: ['hit', 'hit', 'hit', 'ERR_HASH_MISMATCH'],
  },
  unchecked: {
    required: ['adopted', 'hit', 'hit', 'ERR_HASH_MISMATCH'],
    off: ['hit', 'hit', 'hit', 'ERR_HASH_MISMATCH'],
    mirror: ['adopted', 'hit', 'hit', 'ERR_HASH_MISMATCH'],
    offline: ['ERR_HASH_UNPROVEN', 'hit', 'hit', 'ERR_HASH_MISMATCH'],
  },
  mirrored: {
    required: ['adopted', 'hit', 'hit', 'ERR_HASH_MISMATCH'],
    off: ['hit', 'hit', 'hit', 'ERR_HASH_MISMATCH'],
    mirror: ['hit', 'hit', 'hit', 'ERR_HASH_MISMATCH'],
    offline: ['ERR_HASH_UNPROVEN', 'hit', 'hit', 'ERR_HASH_MISMATCH'],
  },
  // The clients believe an executable that is there, when they are told that they may break the lock file; here it is proved or replaced.
  foreign: {
    required: ['adopted', 'adopted', 'adopted', 'ERR_HASH_MISMATCH'],
    off: ['adopted', 'adopted', 'adopted', 'ERR_HASH_MISMATCH'],
    mirror: ['adopted', 'adopted', 'adopted', 'ERR_HASH_MISMATCH'],
    offline: ['ERR_HASH_UNPROVEN', 'adopted', 'ERR_HASH_UNPROVEN', 'ERR_HASH_UNPROVEN'],
  },
  partial: {
    required: ['repaired', 'repaired', 'repaired', 'ERR_HASH_MISMATCH'],
    off: ['repaired', 'repaired', 'repaired', 'ERR_HASH_MISMATCH'],
    mirror: ['repaired', 'repaired', 'repaired', 'ERR_HASH_MISMATCH'],
    offline: ['ERR_HASH_UNPROVEN', 'ERR_HASH_UNPROVEN', 'ERR_HASH_UNPROVEN', 'ERR_HASH_UNPROVEN'],
  },
};

/** One directory for each content, of which every row gets a copy. */
interface Contents {
  readonly registry: EmbeddedRegistry;
  readonly mirror: TestMirror;
  readonly directories: Readonly<Record<Held, string>>;
  readonly hashes: Readonly<Record<Lock, readonly string[]>>;
}

function optionsOf(policy: Policy, mirror: TestMirror): Partial<ProviderCacheOptions> {
  switch (policy) {
    case 'required':
      return {};
    case 'off':
      return { verification: { signature: 'off' } };
    case 'mirror':
      return { sources: [{ type: 'network_mirror', url: mirror.url }] };
    case 'offline':
      return { offline: true };
  }
}

async function prepare(t: TestContext): Promise<Contents> {
  const registry = await withRegistry(t);
  const zip = registry.releases[0]?.packages.get(THING.platform)?.source;
  assert.ok(zip instanceof Uint8Array);
  const mirror = await startMirror(t, [{ address: `${HOST}/acme/thing`, version: '1.2.3', platform: THING.platform, zip }]);
  const root = await withTemporaryDirectory(t);
  const directories = Object.fromEntries(Object.keys(TABLE).map((held) => [held, join(root, held)])) as Record<Held, string>;
  const fill = async (held: Held, policy: Policy) => (await openCache(t, registry, { directory: directories[held], ...optionsOf(policy, mirror) })).ensure(THING);
  await openCache(t, registry, { directory: directories.cold });
  const { hashes } = await fill('signed', 'required');
  await fill('unchecked', 'off');
  await fill('mirrored', 'mirror');
  for (const held of ['foreign', 'partial'] as const) {
    const { path, executable } = await fill(held, 'off');
    for (const state of ['records', 'locks', 'presence']) await rm(join(directories[held], 'state', state), { recursive: true });
    if (held === 'partial') await rm(executable);
    // As another program would have made it: no record, and no lock of ours was ever there.
    await cp(path, `${path}.copy`, { recursive: true });
    await rm(path, { recursive: true });
    await cp(`${path}.copy`, path, { recursive: true });
    await rm(`${path}.copy`, { recursive: true });
  }
  const wrong = ['h1:AAAA', `zh:${'0'.repeat(64)}`];
  return { registry, mirror, directories, hashes: { none: [], h1: hashes.slice(0, 1), zh: ['h1:AAAA', ...hashes.slice(1)], wrong } };
}

describe('what is handed out', () => {
  it('is as the table says', async (t) => {
    const { registry, mirror, directories, hashes } = await prepare(t);
    const scratch = await withTemporaryDirectory(t);
    const rows = (Object.keys(TABLE) as Held[]).flatMap((held) => POLICIES.flatMap((policy) => LOCKS.map((lock, index) => ({ held, policy, lock, expected: TABLE[held][policy][index] }))));
    await inParallel(rows, 6, async ({ held, policy, lock, expected }) => {
      const directory = join(scratch, `${held}-${policy}-${lock}`);
      // Records bind by times as well as by inode, so a copy is hashed once: what it costs is not looked at here.
      await cp(directories[held], directory, { recursive: true, preserveTimestamps: true });
      const cache = await openCache(t, registry, { directory, settleMs: 0, ...optionsOf(policy, mirror) });
      const answer = await cache.ensure(THING, { expectedHashes: hashes[lock] }).then(
        ({ outcome }) => outcome,
        (error: unknown) => (error as { code: string }).code,
      );
      assert.equal(answer, expected, `${held}, ${policy}, lock file with ${lock}`);
      await cache.close();
    });
    assert.equal(rows.length, 96);
  });
});
