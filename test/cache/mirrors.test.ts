/** Packages from mirrors: what is installed, what is refused, who is content with it, and what is said when nobody has it. */
import assert from 'node:assert/strict';
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { stagePackage } from '../../src/cache/staged-package.ts';
import { NoSourceError } from '../../src/errors.ts';
import type { ProviderCacheOptions, ProviderSource } from '../../src/index.ts';
import { parsePlatform, parseProviderAddress, parseVersion } from '../../src/layout/index.ts';
import { RegistryClient } from '../../src/registry/index.ts';
import { checkSources } from '../../src/registry/sources/checked.ts';
import { multiSource } from '../../src/registry/sources/multi-source.ts';
import { hashDirectory, hashZipContents } from '../../src/verify/index.ts';
import { startChild } from '../support/child.ts';
import { startMirror, zhOf, type TestMirror } from '../support/network-mirror.ts';
import { startServer } from '../support/http-server.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { makeZip, zipArchive } from '../support/zip.ts';
import { assertNothingLeft } from './failure.ts';
import type { EnsureReport, EnsureTask } from './fixtures/ensure.ts';
import { HOST, leftovers, openCache, THING, withRegistry } from './support.ts';

const ADDRESS = `${HOST}/acme/thing`;
const FILES = { 'terraform-provider-thing_v1.2.3': { data: 'program', mode: 0o100755 }, 'docs/README.md': 'Read me.\n' };
const ZIP = makeZip(FILES);
const ZH = zhOf(ZIP);

/** An unpacked and a packed mirror of the package. */
async function withDirectories(t: TestContext): Promise<{ readonly unpacked: string; readonly packed: string; readonly entry: string; readonly zip: string; readonly h1: string }> {
  const root = await withTemporaryDirectory(t);
  const [unpacked, packed] = [join(root, 'unpacked'), join(root, 'packed')];
  const entry = join(unpacked, ADDRESS, '1.2.3/linux_amd64');
  for (const [name, file] of Object.entries(FILES)) {
    await mkdir(dirname(join(entry, name)), { recursive: true });
    await writeFile(join(entry, name), typeof file === 'string' ? file : file.data);
  }
  const zip = join(packed, ADDRESS, 'terraform-provider-thing_1.2.3_linux_amd64.zip');
  await mkdir(dirname(zip), { recursive: true });
  await writeFile(zip, ZIP);
  return { unpacked, packed, entry, zip, h1: await hashDirectory(entry) };
}

async function withMirror(t: TestContext, hashes?: readonly string[], zip: Uint8Array = ZIP): Promise<TestMirror> {
  return startMirror(t, [{ address: ADDRESS, version: '1.2.3', platform: 'linux_amd64', zip, hashes }]);
}

async function open(t: TestContext, sources: readonly ProviderSource[], options: Partial<ProviderCacheOptions> = {}) {
  const directory = options.directory ?? (await withTemporaryDirectory(t));
  return { directory, cache: await openCache(t, undefined, { directory, sources, lockTimeoutMs: 5000, settleMs: 100, ...options, http: { retries: 0, ...options.http } }) };
}

const fromUrl = (mirror: TestMirror): ProviderSource => ({ type: 'network_mirror', url: mirror.url });
const fromPath = (path: string): ProviderSource => ({ type: 'filesystem_mirror', path });

describe('a package from a mirror', () => {
  it('of the network is installed, with where it came from and what a lock file should hold', async (t) => {
    const mirror = await withMirror(t);
    const { cache, directory } = await open(t, [fromUrl(mirror)]);
    const found = await cache.ensure(THING);
    assert.equal(found.outcome, 'installed');
    assert.equal(await hashDirectory(found.path), found.hashes[0]);
    const { installedAt, ...provenance } = found.provenance;
    assert.ok(installedAt);
    assert.deepEqual(provenance, {
      provedBy: 'archive',
      source: { type: 'network_mirror', location: mirror.url },
      url: `${mirror.url}${ADDRESS}/1.2.3_linux_amd64.zip`,
      archiveBytes: ZIP.length,
      checksum: 'mirror',
      signature: { status: 'not-checked' },
    });
    assert.deepEqual(found.lockHashes, [String(found.hashes[0]), ZH]);
    const hit = await cache.ensure({ ...THING, version: '~> 1.0' });
    assert.equal(hit.outcome, 'hit');
    assert.deepEqual(hit.lockHashes, found.lockHashes);
    // A process that comes later knows all of it from the record.
    const { cache: later } = await open(t, [fromUrl(mirror)], { directory, offline: true });
    const again = await later.ensure(THING);
    assert.equal(again.outcome, 'hit');
    assert.deepEqual(again.provenance, found.provenance);
    assert.deepEqual(again.lockHashes, found.lockHashes);
  });

  it('of a directory is installed from a zip, and from what is unpacked', async (t) => {
    const { packed, unpacked, h1, zip } = await withDirectories(t);
    for (const [path, hashes, provedBy] of [[packed, [h1, ZH], 'archive'], [unpacked, [h1], 'directory']] as const) {
      const { cache } = await open(t, [fromPath(path)]);
      const found = await cache.ensure({ ...THING, version: '>= 1.0' });
      assert.equal(found.outcome, 'installed');
      assert.deepEqual(found.hashes, hashes);
      assert.equal(found.provenance.provedBy, provedBy);
      assert.deepEqual(found.provenance.source, { type: 'filesystem_mirror', location: path });
      assert.equal((await cache.ensure(THING)).outcome, 'hit');
      assert.equal((await cache.ensure(THING, { expectedHashes: [h1] })).outcome, 'hit');
    }
    assert.deepEqual(await readFile(zip), ZIP);
  });

  it('is downloaded once for many processes', async (t) => {
    const mirror = await withMirror(t);
    const directory = await withTemporaryDirectory(t);
    const children = Array.from({ length: 4 }, () => startChild(t, new URL('./fixtures/ensure.js', import.meta.url)));
    for (const child of children) await child.message();
    const task: EnsureTask = { cache: { directory, sources: [fromUrl(mirror)] }, requests: [THING] };
    for (const child of children) child.process.send(task);
    const reports = await Promise.all(children.map(async (child) => (await child.message()) as EnsureReport[]));
    assert.deepEqual(reports.flat().map(({ error }) => error), [undefined, undefined, undefined, undefined]);
    assert.equal(new Set(reports.flat().map(({ h1 }) => h1)).size, 1);
    assert.equal(mirror.requests.filter(({ path }) => path.endsWith('.zip')).length, 1);
  });

  it('has to have one of the expected hashes, whatever the mirror', async (t) => {
    const { packed, unpacked, h1 } = await withDirectories(t);
    const mirror = await withMirror(t);
    for (const source of [fromUrl(mirror), fromPath(packed), fromPath(unpacked)]) {
      const { cache, directory } = await open(t, [source]);
      await assert.rejects(cache.ensure(THING, { expectedHashes: ['h1:AAAA', `zh:${'0'.repeat(64)}`] }), { code: 'ERR_HASH_MISMATCH' });
      await assertNothingLeft(directory);
      assert.equal((await cache.ensure(THING, { expectedHashes: ['h1:AAAA', h1] })).outcome, 'installed');
    }
  });

  it('is what the mirror lists, or is not installed', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const withDirectoryEntry = zipArchive([{ name: 'docs/' }, { name: 'terraform-provider-thing', data: 'x', mode: 0o100755 }]);
    await writeFile(join(directory, 'x.zip'), withDirectoryEntry);
    const archiveH1 = await hashZipContents(join(directory, 'x.zip'));
    const { h1 } = await withDirectories(t);
    const cases: readonly (readonly [string, readonly string[], Uint8Array, boolean])[] = [
      ['its zh', [ZH], ZIP, true],
      ['its h1', [h1], ZIP, true],
      ['one of several', ['h1:AAAA', ZH, 'zz:1'], ZIP, true],
      ['its h1 as the reference takes it of a zip with directory entries', [archiveH1], withDirectoryEntry, true],
      ['none', [], ZIP, true],
      ['another zh', [`zh:${'0'.repeat(64)}`], ZIP, false],
      ['another h1', ['h1:AAAA'], ZIP, false],
      ['its zh in upper case', [ZH.toUpperCase().replace('ZH', 'zh')], ZIP, false],
    ];
    for (const [name, hashes, zip, good] of cases) {
      const { cache, directory: place } = await open(t, [fromUrl(await withMirror(t, hashes, zip)), { type: 'direct' }], { fallback: 'unreachable' });
      const work = cache.ensure(THING);
      if (good) assert.equal((await work).provenance.checksum, hashes.length === 0 ? 'not-checked' : 'mirror', name);
      else {
        await assert.rejects(work, { code: 'ERR_HASH_MISMATCH', expected: hashes, message: /network_mirror http\S+ lists/u }, name);
        await assertNothingLeft(place);
      }
    }
  });

  it('keeps to the rules of archives, and is named in what is said', async (t) => {
    const { unpacked, entry } = await withDirectories(t);
    await symlink('/etc/passwd', join(entry, 'leads-out'));
    const { cache, directory } = await open(t, [fromPath(unpacked)]);
    await assert.rejects(cache.ensure(THING), { code: 'ERR_ARCHIVE_UNSAFE', rule: 'type', entry: 'leads-out', archive: `${ADDRESS}/1.2.3/linux_amd64` });
    await assertNothingLeft(directory);
    const { cache: other } = await open(t, [fromUrl(await withMirror(t, undefined, Buffer.from('no zip')))]);
    await assert.rejects(other.ensure(THING), { code: 'ERR_ARCHIVE_INVALID' });
    const { cache: third } = await open(t, [fromUrl(await withMirror(t, undefined, makeZip({ 'not-a-provider': 'x' })))]);
    await assert.rejects(third.ensure(THING), { code: 'ERR_EXECUTABLE_MISSING' });
  });
});

describe('several sources', () => {
  it('are asked in their order, and the first that has the package delivers it', async (t) => {
    const { packed, unpacked } = await withDirectories(t);
    const empty = await withTemporaryDirectory(t);
    const { cache } = await open(t, [{ ...fromPath(packed), exclude: ['*/*/*'] }, fromPath(empty), { ...fromPath(unpacked), include: [`${HOST}/acme/*`] }, fromPath(packed)]);
    assert.deepEqual((await cache.ensure(THING)).provenance.source, { type: 'filesystem_mirror', location: unpacked });
  });

  it('offer the newest version of all of them', async (t) => {
    const { packed } = await withDirectories(t);
    const mirror = await startMirror(t, [{ address: ADDRESS, version: '1.3.0', platform: 'linux_amd64', zip: ZIP }]);
    const { cache } = await open(t, [fromPath(packed), fromUrl(mirror)]);
    const newest = await cache.ensure({ ...THING, version: '~> 1.0' });
    assert.equal(String(newest.version), '1.3.0');
    assert.equal(newest.provenance.source?.type, 'network_mirror');
  });

  it('say in order what each of them answered, when none has it', async (t) => {
    const { packed } = await withDirectories(t);
    const mirror = await withMirror(t);
    const { cache, directory } = await open(t, [fromUrl(mirror), fromPath(packed), { type: 'direct', include: ['acme/other'] }]);
    for (const version of ['9.0.0', '~> 1.0'] as const) {
      const source = version === '9.0.0' ? THING.source : `${HOST}/acme/unknown`;
      const error = await cache.ensure({ ...THING, source, version }).then(() => assert.fail('it succeeded'), (reason: unknown) => reason);
      assert.ok(error instanceof NoSourceError);
      assert.deepEqual(error.report.map(({ source: { type, location } }) => [type, location]), [['network_mirror', mirror.url], ['filesystem_mirror', packed]]);
      const code = version === '9.0.0' ? 'ERR_PLATFORM_NOT_SUPPORTED' : 'ERR_PROVIDER_NOT_FOUND';
      assert.deepEqual(error.report.map((answer) => answer.error.code), [code, code]);
      assert.ok(error.message.includes(mirror.url) && error.message.includes(packed));
    }
    await assertNothingLeft(directory);
    const { cache: none } = await open(t, []);
    await assert.rejects(none.ensure(THING), { code: 'ERR_NO_SOURCE', report: [], message: /include and exclude/u });
  });

  it('end at one that cannot be asked, or go on there by fallback', async (t) => {
    const { packed } = await withDirectories(t);
    const refused = await startServer(t, {});
    await refused.close();
    const broken = await startServer(t, { '*': { status: 503 } });
    const cut = await withMirror(t);
    cut.routes[cut.path(ADDRESS, '1.2.3_linux_amd64.zip')] = { body: ZIP, cutAfter: 10 };
    const unreachable: readonly (readonly [ProviderSource, string])[] = [
      [{ type: 'network_mirror', url: `${refused.origin}/` }, 'ERR_NETWORK'],
      [{ type: 'network_mirror', url: `${broken.origin}/` }, 'ERR_HTTP_STATUS'],
      [fromUrl(cut), 'ERR_DOWNLOAD_INCOMPLETE'],
      [fromPath('/nonexistent/mirror'), 'ERR_SOURCE_UNAVAILABLE'],
      [{ type: 'oci_mirror', repositoryTemplate: 'example.com/${type}' }, 'ERR_SOURCE_UNAVAILABLE'],
    ];
    for (const [source, code] of unreachable) {
      const { cache, directory } = await open(t, [source, fromPath(packed)]);
      await assert.rejects(cache.ensure(THING), { code });
      await assertNothingLeft(directory);
      const { cache: lenient } = await open(t, [source, fromPath(packed)], { fallback: 'unreachable' });
      assert.equal((await lenient.ensure(THING)).provenance.source?.location, packed, code);
      const { cache: alone } = await open(t, [source], { fallback: 'unreachable' });
      const error = await alone.ensure(THING).then(() => assert.fail('it succeeded'), (reason: unknown) => reason);
      assert.ok(error instanceof NoSourceError);
      assert.deepEqual(error.report.map((answer) => answer.error.code), [code]);
    }
  });

  it('end at an answer that is wrong, or asks for a token, under both', async (t) => {
    const { packed } = await withDirectories(t);
    for (const [status, code] of [[401, 'ERR_UNAUTHORIZED'], [403, 'ERR_UNAUTHORIZED'], [418, 'ERR_HTTP_STATUS']] as const) {
      const server = await startServer(t, { '*': { status } });
      for (const fallback of ['not-found', 'unreachable'] as const) {
        const { cache } = await open(t, [{ type: 'network_mirror', url: `${server.origin}/` }, fromPath(packed)], { fallback });
        await assert.rejects(cache.ensure(THING), { code });
      }
    }
  });

  it('go on where an entry vanishes between its offer and its copy', async (t) => {
    const { packed, unpacked } = await withDirectories(t);
    const other = await withDirectories(t);
    const registry = new RegistryClient({ environment: {} });
    t.after(() => registry.close());
    const all = multiSource(checkSources([fromPath(unpacked), fromPath(packed), fromPath(other.packed)], { defaultHost: HOST }), { registry });
    const sources: typeof all = {
      ...all,
      withOffer: (wanted, call, use) =>
        all.withOffer(wanted, call, async (offer, turn) => {
          if (turn < 2 && 'path' in offer) await rm(offer.path, { recursive: true });
          return use(offer, turn);
        }),
    };
    const identity = { address: parseProviderAddress(ADDRESS), version: parseVersion('1.2.3'), platform: parsePlatform('linux_amd64') };
    const { record, directory } = await stagePackage(identity, await withTemporaryDirectory(t), {
      registry,
      sources,
      rules: { signature: 'required', expiredKeys: 'warn' },
      expectedHashes: [],
      limits: undefined,
      signatures: () => assert.fail('no signature is looked for'),
      partials: undefined,
      signal: new AbortController().signal,
      report: () => undefined,
    });
    assert.equal(record.provenance.source?.location, other.packed);
    assert.equal(await hashDirectory(directory), record.h1);
  });
});

describe('a cache that knows no mirror', () => {
  it('does not hand out what came from one, but proves it by the registry; expected hashes prove it as well', async (t) => {
    const registry = await withRegistry(t);
    const zip = registry.releases[0]?.packages.get('linux_amd64')?.source as Uint8Array;
    const mirror = await withMirror(t, undefined, zip);
    const { cache, directory } = await open(t, [fromUrl(mirror)]);
    const { hashes } = await cache.ensure(THING);
    const strict = await openCache(t, registry, { directory });
    assert.equal(await strict.lookup(THING), undefined);
    assert.equal((await strict.lookup(THING, { expectedHashes: hashes }))?.outcome, 'hit');
    const elsewhere = await openCache(t, registry, { directory, sources: [{ ...fromUrl(mirror), exclude: [ADDRESS] }, { type: 'direct' }] });
    assert.equal(await elsewhere.lookup(THING), undefined);
    const lax = await openCache(t, registry, { directory, verification: { signature: 'off' } });
    assert.equal((await lax.ensure(THING)).outcome, 'hit');
    const proved = await strict.ensure(THING);
    assert.equal(proved.outcome, 'adopted');
    assert.equal(proved.provenance.signature.status, 'verified');
    assert.equal(proved.provenance.source?.type, 'direct');
    assert.ok(proved.lockHashes.length >= 2);
    // What the registry signed is good enough for everybody.
    assert.equal((await cache.ensure(THING)).outcome, 'hit');
  });

  it('hears that the registry has another package, and leaves what is there to those who know the mirror', async (t) => {
    const registry = await withRegistry(t);
    const { cache, directory } = await open(t, [fromUrl(await withMirror(t))]);
    await cache.ensure(THING);
    const strict = await openCache(t, registry, { directory, onConflict: 'error', settleMs: 0 });
    await assert.rejects(strict.ensure(THING), { code: 'ERR_ENTRY_CONFLICT' });
    assert.equal((await cache.ensure(THING)).outcome, 'hit');
  });
});

describe('the cache’s own tree as a mirror', () => {
  it('proves nothing of what somebody put there, by whatever path', async (t) => {
    const { unpacked } = await withDirectories(t);
    const directory = await withTemporaryDirectory(t);
    const providers = join(directory, 'providers');
    await cp(unpacked, providers, { recursive: true });
    const link = join(directory, 'link');
    await symlink(providers, link);
    for (const path of [providers, link]) {
      const { cache } = await open(t, [fromPath(path)], { directory });
      assert.equal(await cache.lookup(THING), undefined);
      await assert.rejects(cache.ensure(THING), { code: 'ERR_NO_SOURCE' });
    }
    assert.deepEqual((await leftovers(directory)).filter((path) => path.startsWith('state')), []);
    const { cache } = await open(t, [fromPath(unpacked)], { directory });
    assert.equal((await cache.ensure(THING)).outcome, 'adopted');
  });
});

describe('offline', () => {
  it('packages come from directories still, and from nowhere else', async (t) => {
    const { packed } = await withDirectories(t);
    const mirror = await withMirror(t);
    const { cache } = await open(t, [fromUrl(mirror), fromPath(packed), { type: 'direct' }], { offline: true });
    const found = await cache.ensure({ ...THING, version: '~> 1.0' });
    assert.equal(found.outcome, 'installed');
    assert.equal(found.provenance.source?.location, packed);
    await assert.rejects(cache.ensure({ ...THING, version: '2.0.0' }), { code: 'ERR_OFFLINE', message: /2\.0\.0/u });
    await assert.rejects(cache.ensure({ ...THING, version: '~> 2.0' }), { code: 'ERR_OFFLINE' });
    await assert.rejects(cache.ensure({ ...THING, source: `${HOST}/acme/other`, version: '~> 2.0' }), { code: 'ERR_OFFLINE' });
    assert.equal(mirror.requests.length, 0);
    const { cache: none } = await open(t, [fromUrl(mirror)], { offline: true });
    await assert.rejects(none.ensure(THING), { code: 'ERR_OFFLINE', missing: `${ADDRESS}/1.2.3/linux_amd64` });
    assert.equal(mirror.requests.length, 0);
  });
});

describe('what a lock file should hold', () => {
  it('is, of a signed release, every platform’s zip and what the registry says of them', async (t) => {
    const platforms = ['linux_amd64', 'darwin_arm64', 'windows_amd64'];
    const registry = await withRegistry(t, { providers: [{ address: 'acme/thing', version: '1.2.3', platforms }] });
    const h1 = `h1:${'A'.repeat(43)}=`;
    const zhs = platforms.map((platform) => `zh:${String(registry.releases[0]?.packages.get(platform)?.sha256)}`);
    const own = registry.releases[0]?.packages.get('linux_amd64');
    assert.ok(own?.source instanceof Uint8Array);
    const packages = {
      linux_amd64: { hashes: [zhs[0]], package_size: own.source.length },
      darwin_arm64: { hashes: [zhs[1], h1, 'zz:unknown'], package_size: 1 },
      // Whose zip is not in the signed checksums: nothing of it counts.
      plan9_amd64: { hashes: [`zh:${'0'.repeat(64)}`, `h1:${'B'.repeat(43)}=`], package_size: 1 },
    };
    registry.faults.inject({ on: 'metadata', json: (document) => ({ ...document, packages }) });
    const directory = await withTemporaryDirectory(t);
    const cache = await openCache(t, registry, { directory });
    const found = await cache.ensure(THING);
    assert.deepEqual(found.lockHashes, [String(found.hashes[0]), h1, ...zhs].sort());
    const later = await openCache(t, undefined, { directory, offline: true });
    assert.deepEqual((await later.ensure(THING)).lockHashes, found.lockHashes);
    // Records of older releases have none, and no source.
    const records = join(directory, 'state/records');
    const [name = ''] = await readdir(records);
    const record = JSON.parse(await readFile(join(records, name), 'utf8')) as { lockHashes?: unknown; provenance: { source?: unknown } };
    delete record.lockHashes;
    delete record.provenance.source;
    await writeFile(join(records, name), JSON.stringify(record));
    const old = await (await openCache(t, undefined, { directory, offline: true })).ensure(THING);
    assert.equal(old.outcome, 'hit');
    assert.deepEqual(old.lockHashes, [...found.hashes].sort());
    assert.deepEqual(old.provenance.source, { type: 'direct', location: undefined });
  });
});
