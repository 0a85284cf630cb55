/**
 * What becomes of a package of a lock file, by what is in the cache, what the lock file says, and what the cache may do: one table. A cell has the outcome, or
 * the code of the error, and how many zips were downloaded for it.
 */
import assert from 'node:assert/strict';
import { appendFile, chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { EnsureAllError, ProviderCache, RwxCacheError, type ProviderCacheOptions, type ProviderPackage } from '../../src/index.ts';
import { hashZipContents } from '../../src/verify/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { HOST, withRegistry } from './support.ts';

const LOCKS = ['no hash', 'h1', 'zh', 'another platform’s h1, all zh', 'wrong'] as const;

const TABLE = `
cache     | may             | no hash            | h1                 | zh                 | another platform's | wrong
cold      | demand a signer | installed 1        | installed 1        | installed 1        | installed 1        | ERR_HASH_MISMATCH 1
cold      | do without      | installed 1        | installed 1        | installed 1        | installed 1        | ERR_HASH_MISMATCH 1
cold      | be offline      | ERR_OFFLINE 0      | ERR_OFFLINE 0      | ERR_OFFLINE 0      | ERR_OFFLINE 0      | ERR_OFFLINE 0
cold      | only read       | ERR_READ_ONLY 0    | ERR_READ_ONLY 0    | ERR_READ_ONLY 0    | ERR_READ_ONLY 0    | ERR_READ_ONLY 0
warm      | demand a signer | hit 0              | hit 0              | hit 0              | hit 0              | ERR_HASH_MISMATCH 0
warm      | do without      | hit 0              | hit 0              | hit 0              | hit 0              | ERR_HASH_MISMATCH 0
warm      | be offline      | hit 0              | hit 0              | hit 0              | hit 0              | ERR_HASH_MISMATCH 0
warm      | only read       | hit 0              | hit 0              | hit 0              | hit 0              | ERR_HASH_MISMATCH 0
unsigned  | demand a signer | adopted 1          | hit 0              | hit 0              | hit 0              | ERR_HASH_MISMATCH 0
unsigned  | do without      | hit 0              | hit 0              | hit 0              | hit 0              | ERR_HASH_MISMATCH 0
unsigned  | be offline      | ERR_HASH_UNPROVEN 0 | hit 0             | hit 0              | hit 0              | ERR_HASH_MISMATCH 0
unsigned  | only read       | ERR_READ_ONLY 0    | hit 0              | hit 0              | hit 0              | ERR_HASH_MISMATCH 0
foreign   | demand a signer | adopted 1          | adopted 0          | adopted 1          | adopted 1          | ERR_HASH_MISMATCH 1
foreign   | do without      | adopted 1          | adopted 0          | adopted 1          | adopted 1          | ERR_HASH_MISMATCH 1
foreign   | be offline      | ERR_HASH_UNPROVEN 0 | adopted 0         | ERR_HASH_UNPROVEN 0 | ERR_HASH_UNPROVEN 0 | ERR_HASH_UNPROVEN 0
foreign   | only read       | ERR_READ_ONLY 0    | adopted 0          | ERR_READ_ONLY 0    | ERR_READ_ONLY 0    | ERR_READ_ONLY 0
damaged   | demand a signer | repaired 1         | repaired 1         | repaired 1         | repaired 1         | ERR_HASH_MISMATCH 1
damaged   | do without      | repaired 1         | repaired 1         | repaired 1         | repaired 1         | ERR_HASH_MISMATCH 1
damaged   | be offline      | ERR_HASH_UNPROVEN 0 | ERR_HASH_UNPROVEN 0 | ERR_HASH_UNPROVEN 0 | ERR_HASH_UNPROVEN 0 | ERR_HASH_UNPROVEN 0
damaged   | only read       | ERR_READ_ONLY 0    | ERR_READ_ONLY 0    | ERR_READ_ONLY 0    | ERR_READ_ONLY 0    | ERR_READ_ONLY 0
`;

const ROWS = TABLE.trim()
  .split('\n')
  .slice(1)
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([state = '', policy = '', ...cells]) => ({ state, policy, cells }));

const POLICIES: Readonly<Record<string, Partial<ProviderCacheOptions>>> = {
  'demand a signer': {},
  'do without': { verification: { signature: 'off' } },
  'be offline': { offline: true },
  'only read': { readOnly: true },
};

async function withOpen<T>(options: ProviderCacheOptions, use: (cache: ProviderCache) => Promise<T>): Promise<T> {
  const cache = await ProviderCache.open(options);
  try {
    return await use(cache);
  } finally {
    await cache.close();
  }
}

/** One provider for each cell of a row. */
const PROVIDERS = LOCKS.map((_, index) => ({ source: `${HOST}/acme/p${index}`, version: '1.2.3', platform: 'linux_amd64' }));

/** Puts the cache into the state that a row begins with. */
async function prepare(state: string, options: ProviderCacheOptions): Promise<void> {
  if (state === 'cold') return;
  const packages = await withOpen(state === 'unsigned' ? { ...options, verification: { signature: 'off' } } : options, (cache) => cache.ensureAll(PROVIDERS));
  // As terraform leaves it, or a restore without the state.
  if (state === 'foreign') await rm(join(options.directory, 'state'), { recursive: true });
  if (state !== 'damaged') return;
  for (const { executable } of packages) {
    await chmod(executable, 0o755);
    await appendFile(executable, 'x');
  }
}

/** The outcome of each provider, or the code of its error. */
async function outcomes(options: ProviderCacheOptions, lockFile: string): Promise<string[]> {
  try {
    const packages = await withOpen(options, (cache) => cache.ensureLockFile(lockFile, { platform: 'linux_amd64' }));
    return packages.map(({ outcome }) => outcome);
  } catch (error) {
    assert.ok(error instanceof EnsureAllError);
    const { packages, failures } = error as EnsureAllError<ProviderPackage>;
    const codes = new Map(failures.map((failure) => [failure.index, failure.error instanceof RwxCacheError ? failure.error.code : String(failure.error)]));
    return packages.map((found, index) => found?.outcome ?? codes.get(index) ?? 'nothing');
  }
}

describe('the packages of a lock file', () => {
  const releases = LOCKS.map((_, index) => ({ address: `acme/p${index}`, version: '1.2.3', platforms: ['linux_amd64', 'darwin_arm64'] }));

  for (const { state, policy, cells } of ROWS) {
    it(`in a cache that is ${state} and may ${policy}`, async (t) => {
      const registry = await withRegistry(t, { providers: releases });
      const root = await withTemporaryDirectory(t);
      const options = { hosts: registry.hosts(HOST), environment: {}, settleMs: 20, http: { backoffMs: 1 }, directory: join(root, 'cache') };
      const hashOf = async (index: number, platform: string): Promise<[h1: string, zh: string]> => {
        const { source, sha256 } = registry.releases[index]?.packages.get(platform) ?? { source: new Uint8Array(), sha256: '' };
        const zip = join(root, `${index}-${platform}.zip`);
        assert.ok(source instanceof Uint8Array);
        await writeFile(zip, source);
        return [await hashZipContents(zip), `zh:${sha256}`];
      };
      const blocks = await Promise.all(
        PROVIDERS.map(async ({ source, version }, index) => {
          const [[h1, zh], [otherH1, otherZh]] = [await hashOf(index, 'linux_amd64'), await hashOf(index, 'darwin_arm64')];
          const hashes = [[], [h1], [zh], [otherH1, otherZh, zh], [otherH1, otherZh]][index] ?? [];
          return `provider "${source}" {\n  version = "${version}"\n${hashes.length === 0 ? '' : `  hashes = [${hashes.map((hash) => `"${hash}"`).join(', ')}]\n`}}\n`;
        }),
      );
      const lockFile = join(root, 'lock.hcl');
      await writeFile(lockFile, blocks.join(''));
      await prepare(state, options);
      const before = registry.requestLog.length;
      const had = await outcomes({ ...options, ...POLICIES[policy] }, lockFile);
      const zips = registry.requestLog.slice(before).filter(({ route }) => route === 'zip');
      assert.deepEqual(had.map((outcome, index) => `${outcome} ${zips.filter(({ path }) => path.includes(`/p${index}/`)).length}`), cells);
    });
  }
});
