import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EnsureAllError, ProviderCache, type EnsureAllRequest, type OverallEvent, type ProgressEvent, type ProviderPackage } from '../../src/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { HOST, openCache, treeOf, withCache, withRegistry } from './support.ts';

const NAMES = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta'];
const RELEASES = NAMES.map((name) => ({ address: `acme/${name}`, version: '1.2.3' }));
const ALL: readonly EnsureAllRequest[] = NAMES.map((name) => request(name));

function request(name: string, more: Partial<EnsureAllRequest> = {}): EnsureAllRequest {
  return { source: `${HOST}/acme/${name}`, version: '1.2.3', platform: 'linux_amd64', ...more };
}

/** What an `ensureAll` that must fail rejected with. */
async function failureOf(work: Promise<unknown>): Promise<EnsureAllError<ProviderPackage>> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof EnsureAllError, `${String(error)} is no EnsureAllError`);
  return error as EnsureAllError<ProviderPackage>;
}

async function pinsIn(directory: string): Promise<string[]> {
  return (await treeOf(join(directory, 'state/pins'))).filter((path) => path.includes('/'));
}

async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  const start = performance.now();
  while (!(await isSo())) {
    assert.ok(performance.now() - start < 30_000, 'it does not come about');
    await sleep(5);
  }
}

describe('ensureAll', () => {
  it('answers in the order of the requests, and does equal ones once', async (t) => {
    const { cache, registry } = await withCache(t, { registry: { providers: RELEASES } });
    const reversed = [...ALL].reverse();
    const found = await cache.ensureAll([...reversed, request('alpha'), { source: `${HOST.toUpperCase()}:443/acme/Alpha`, version: '1.2.3', platform: 'linux_amd64' }]);
    assert.deepEqual(
      found.map(({ address }) => address.type),
      [...NAMES.toReversed(), 'alpha', 'alpha'],
    );
    assert.equal(found.at(-1), found.at(-3));
    assert.equal(registry.count('zip'), NAMES.length);
    assert.deepEqual(new Set(found.map(({ outcome }) => outcome)), new Set(['installed']));
    assert.deepEqual(new Set((await cache.ensureAll(ALL)).map(({ outcome }) => outcome)), new Set(['hit']));
    assert.deepEqual(await cache.ensureAll([]), []);
  });

  it('tells of every failure, each with its request, after all others have ended', async (t) => {
    const { cache } = await withCache(t, { registry: { providers: RELEASES, faults: [{ on: 'metadata', path: '/beta/', status: 404 }] } });
    const wrong = [`h1:${'A'.repeat(43)}=`, `zh:${'0'.repeat(64)}`];
    const error = await failureOf(
      cache.ensureAll([request('alpha'), request('beta'), request('gamma', { expectedHashes: wrong }), request('delta', { version: 'no version' }), null as never, request('zeta'), request('beta')]),
    );
    assert.equal(error.code, 'ERR_ENSURE_ALL');
    assert.deepEqual(
      error.failures.map(({ index, request: asked, error: { name } }) => [index, asked, name]),
      [
        [1, `${HOST}/acme/beta 1.2.3 linux_amd64`, 'PlatformNotSupportedError'],
        [2, `${HOST}/acme/gamma 1.2.3 linux_amd64`, 'HashMismatchError'],
        [3, `${HOST}/acme/delta no version linux_amd64`, 'InvalidConstraintsError'],
        [4, 'null', 'InvalidOptionError'],
      ],
    );
    assert.deepEqual(error.errors, error.failures.map((failure) => failure.error));
    assert.equal(error.cause, error.errors[0]);
    assert.deepEqual(error.packages.map((found) => found?.address.type), ['alpha', undefined, undefined, undefined, undefined, 'zeta', undefined]);
    for (const part of ['4 of 7', `acme/beta 1.2.3 linux_amd64: ${String(error.errors[0]?.message)}`, 'acme/gamma']) assert.ok(error.message.includes(part), error.message);
    assert.equal((await cache.ensure(ALL[0] ?? request('alpha'))).outcome, 'hit');
  });

  it('lets a registry that does not answer hold up its own packages only, and ends with an abort', async (t) => {
    const [silent, quick] = [
      await withRegistry(t, { faults: [{ on: 'metadata', silent: true }] }),
      await withRegistry(t, { providers: RELEASES }),
    ];
    const directory = await withTemporaryDirectory(t);
    const cache = await openCache(t, undefined, { directory, hosts: { ...silent.hosts('slow.example.com'), ...quick.hosts(HOST) } });
    const abort = new AbortController();
    const stuck = Array.from({ length: 20 }, (_, index) => ({ source: `slow.example.com/acme/p${index}`, version: '1.0.0', platform: 'linux_amd64' }));
    const had = new Set<string>();
    let overall: OverallEvent | undefined;
    const running = cache.ensureAll([...stuck, ...ALL], {
      signal: abort.signal,
      pin: true,
      onProgress: (event) => {
        if (event.phase === 'overall') overall = event;
        else if (event.phase === 'publishing') had.add(event.package);
      },
    });
    running.catch(() => undefined);
    await until(() => overall?.packagesDone === ALL.length);
    assert.equal(had.size, ALL.length);
    const reason = new Error('enough');
    const begun = performance.now();
    abort.abort(reason);
    await assert.rejects(running, reason);
    // 100 ms are promised; the rest is for a busy machine.
    assert.ok(performance.now() - begun < 1000);
    await until(async () => (await pinsIn(directory)).length === 0);
  });

  it('keeps all packages from being pruned, or none', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: { providers: RELEASES } });
    const found = await cache.ensureAll([...ALL, ...ALL], { pin: true });
    assert.equal((await pinsIn(directory)).length, ALL.length);
    assert.equal((await cache.prune({ maxBytes: 0 })).removed.length, 0);
    for (const { pin } of found) await pin?.release();
    assert.equal((await pinsIn(directory)).length, 0);
    registry.faults.inject({ on: 'metadata', status: 404 });
    const error = await failureOf(cache.ensureAll([...ALL, request('eta')], { pin: true }));
    assert.equal((await pinsIn(directory)).length, 0);
    assert.ok(error.packages.every((kept) => kept?.pin === undefined));
  });

  it('says what the whole has come to', async (t) => {
    const { cache, registry } = await withCache(t, { registry: { providers: RELEASES, faults: [{ on: 'metadata', path: '/beta/', status: 404 }] } });
    const overall: OverallEvent[] = [];
    const each: ProgressEvent[] = [];
    await failureOf(
      cache.ensureAll([...ALL, ...ALL], {
        concurrency: 2,
        onProgress: (event) => {
          if (event.phase === 'overall') overall.push(event);
          else each.push(event);
          throw new Error('a listener’s own fault');
        },
      }),
    );
    assert.deepEqual(overall[0], { phase: 'overall', packages: 6, packagesDone: 0, packagesFailed: 0, receivedBytes: 0, totalBytes: 0 });
    const bytes = registry.releases.filter(({ release }) => release.address !== 'acme/beta').reduce((sum, { packages }) => sum + (packages.get('linux_amd64')?.size ?? 0), 0);
    assert.deepEqual(overall.at(-1), { phase: 'overall', packages: 6, packagesDone: 5, packagesFailed: 1, receivedBytes: bytes, totalBytes: bytes });
    assert.equal(each.filter(({ phase }) => phase === 'publishing').length, 5);
  });

  it('takes part in what other calls are at, by other spellings too', async (t) => {
    const { cache, registry } = await withCache(t, { registry: { providers: RELEASES, faults: [{ on: 'zip', delayMs: 100 }] } });
    const [single, [exact, constrained]] = await Promise.all([cache.ensure(request('alpha')), cache.ensureAll([request('alpha'), request('alpha', { version: '~> 1.2' })])]);
    assert.deepEqual([exact?.path, constrained?.path], [single.path, single.path]);
    assert.equal(registry.count('zip'), 1);
  });

  it('ends with the cache', async (t) => {
    const { cache, registry } = await withCache(t, { registry: { providers: RELEASES, faults: [{ on: 'zip', silent: true }] } });
    const running = assert.rejects(cache.ensureAll(ALL, { concurrency: 2 }), { code: 'ERR_CACHE_CLOSED' });
    await until(() => registry.count('zip') === 2);
    await cache.close();
    await running;
    await assert.rejects(cache.ensureAll(ALL), { code: 'ERR_CACHE_CLOSED' });
  });

  it('refuses options that are none, and an abort beforehand', async (t) => {
    const { cache } = await withCache(t);
    for (const concurrency of [0, -1, 1.5, Number.NaN, '8' as never]) await assert.rejects(cache.ensureAll([], { concurrency }), { code: 'ERR_INVALID_OPTION', option: 'concurrency' });
    await assert.rejects(cache.ensureAll('x' as never), { code: 'ERR_INVALID_OPTION', option: 'requests' });
    await assert.rejects(cache.ensureAll([], { pin: 1 as never }), { code: 'ERR_INVALID_OPTION', option: 'pin' });
    await assert.rejects(cache.ensureAll(ALL, { signal: AbortSignal.abort(new Error('before')) }), { message: 'before' });
    assert.ok(cache instanceof ProviderCache);
  });
});
