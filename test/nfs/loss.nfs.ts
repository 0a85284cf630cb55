/** A holder that is cut off for longer than the server's lease: another takes over, and the holder finds out. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { statFresh } from '../../src/atomic/index.ts';
import { acquireLock } from '../../src/lock/index.ts';
import { hashDirectory } from '../../src/verify/index.ts';
import type { EnsureReport, EnsureTask } from '../cache/fixtures/ensure.ts';
import { HOST, openCache, withRegistry } from '../cache/support.ts';
import { startLocker } from '../lock/fixtures/remote.ts';
import { until } from '../lock/fixtures/until.ts';
import { startChild, type Child } from '../support/child.ts';
import { cutOff, rejoin } from './faults.ts';
import { answersOf, heldCalls, holdingBack } from './fixtures/held-calls.ts';
import type { Answer, Question } from './fixtures/unfenced.ts';
import { withoutFaults, withSharedDirectory } from './lab.ts';

/** Far beyond the ten seconds of the server's lease. */
const TAKEN_OVER_MS = 40_000;

describe('a holder that is cut off', { skip: withoutFaults() }, () => {
  it('loses its lock to another host, hears of it by its own clock before that, and knows it when it is asked', async (t) => {
    const shared = await withSharedDirectory(t);
    t.after(() => { rejoin('a'); });
    // Processes of their own: this one must not have calls that hang.
    const [watching, patient] = [await startLocker(t), await startLocker(t)];
    const watched = await watching.acquire(join(shared.a, 'watched'), { leaseMs: 6000 });
    const fenced = await patient.acquire(join(shared.a, 'fenced'), { leaseMs: 120_000 });
    const unfenced = startChild(t, new URL('./fixtures/unfenced.js', import.meta.url), [join(shared.a, 'unfenced')]);
    assert.equal(await unfenced.message(), 'held');

    cutOff('a');
    const begun = performance.now();
    const since = (): number => Math.round(performance.now() - begun);
    const heard = watched.lost.then((code) => ({ code, afterMs: since() }));
    const taken = ['watched', 'fenced', 'unfenced'].map(async (name) => {
      const lock = await acquireLock(join(shared.b, name), { timeoutMs: TAKEN_OVER_MS });
      return { lock, afterMs: since() };
    });
    const { code, afterMs } = await heard;
    assert.equal(code, 'ERR_LOCK_LOST');
    t.diagnostic(`A's signal aborted ${afterMs} ms after the cut, with a term of 6000`);
    await assert.rejects(watched.assertHeld(), { code: 'ERR_LOCK_LOST' });
    const next = await Promise.all(taken);
    t.diagnostic(`B had the locks after ${next.map((grant) => grant.afterMs).join(', ')} ms`);
    assert.ok(next.every((grant) => grant.afterMs > afterMs), 'A knew it before B had it');

    rejoin('a');
    await assert.rejects(fenced.assertHeld(), { code: 'ERR_LOCK_LOST' });
    assert.equal(await fenced.lost, 'ERR_LOCK_LOST');
    t.diagnostic(`A, whose other term was not over, was told by the server after ${since()} ms`);
    await t.test('is needed: a holder that asks by anything but a write that is synced goes on believing that it holds the lock', async (t) => {
      const answers: Answer[] = [];
      for (const question of ['stat', 'place', 'read', 'write'] as const) answers.push(await ask(unfenced, question));
      await next[2]?.lock.assertHeld();
      assert.deepEqual(answers, ['done', 'done', 'done', 'done']);
      const told = await ask(unfenced, 'write and sync');
      t.diagnostic(`a write and its sync say ${told}`);
      assert.equal(told, 'EIO');
    });
    await fenced.release();
    for (const { lock } of next) {
      await lock.assertHeld();
      await lock.release();
    }
  });

  it('does not publish what another has published, and does publish first if its rename was on its way; nobody ever sees anything but one whole entry', async (t) => {
    const shared = await withSharedDirectory(t);
    t.after(() => { rejoin('a'); });
    const registry = await withRegistry(t, { providers: [{ address: 'acme/early', version: '1.0.0' }, { address: 'acme/late', version: '1.0.0' }] });
    const cache = { directory: join(shared.a, 'cache'), hosts: registry.hosts(HOST) };
    const [early, late] = ['early', 'late'].map((type) => ({ source: `${HOST}/acme/${type}`, version: '1.0.0', platform: 'linux_amd64' }));
    assert.ok(early && late);
    // One is cut off in the midst of its download, the other between its fence and its rename.
    const [cut, landed] = [createSignal(), createSignal()];
    registry.faults.inject({ on: 'zip', path: 'early', until: cut.given, times: 1 });
    const publisher = startChild(t, new URL('../cache/fixtures/ensure.js', import.meta.url), [], { env: { ...process.env, ...holdingBack([['rename', '/providers/.*/linux_amd64$']]) } });
    const downloader = startChild(t, new URL('../cache/fixtures/ensure.js', import.meta.url));
    for (const child of [publisher, downloader]) assert.equal(await child.message(), 'ready');
    publisher.process.send({ cache, requests: [late] } satisfies EnsureTask);
    await heldCalls(publisher, 1);
    downloader.process.send({ cache, requests: [early] } satisfies EnsureTask);
    await until(() => registry.count('zip') === 2, 'the second download has begun');
    cutOff('a');
    cut.give();
    publisher.process.kill('SIGUSR2');

    const readers = watchEntries(t, ['early', 'late'].map((type) => join(shared.b, `cache/providers/${HOST}/acme/${type}/1.0.0/linux_amd64`)));
    const begun = performance.now();
    const since = (): number => Math.round(performance.now() - begun);
    const b = await openCache(t, registry, { directory: join(shared.b, 'cache') });
    // B is to hold the lock of this one, and not to have it installed, when A's rename arrives.
    registry.faults.inject({ on: 'zip', path: 'late', until: landed.given, times: 1 });
    const second = b.ensure(late);
    assert.equal((await b.ensure(early)).outcome, 'installed');
    t.diagnostic(`B had taken over and installed after ${since()} ms`);
    await until(() => registry.count('zip') === 4, 'B has the other lock, and downloads');
    rejoin('a');
    assert.deepEqual([...(await answersOf(publisher, 1)).values()], ['done']);
    landed.give();
    t.diagnostic(`A's rename landed ${since()} ms after the cut, while B held the lock`);
    assert.deepEqual(await outcomesOf(publisher), ['installed']);
    const entry = await statFresh(join(shared.b, `cache/providers/${HOST}/acme/late/1.0.0/linux_amd64`));
    assert.deepEqual(await outcomesOf(downloader), ['joined']);
    t.diagnostic(`B found the other entry there: ${(await second).outcome}`);
    assert.notEqual((await second).outcome, 'installed');
    assert.equal((await statFresh((await second).path))?.ino, entry?.ino, 'the first writer has won');
    for (const [name, seen] of await readers.end()) assert.equal(seen.size, 1, `${name}: ${[...seen].join(', ')}`);
    for (const request of [early, late]) assert.equal((await b.lookup(request))?.outcome, 'hit');
  });
});

async function ask(child: Child, question: Question): Promise<Answer> {
  child.process.send(question);
  return (await child.message()) as Answer;
}

async function outcomesOf(child: Child): Promise<(string | undefined)[]> {
  const reports = (await child.message()) as EnsureReport[];
  return reports.map(({ outcome, error }) => outcome ?? error);
}

function createSignal(): { readonly given: Promise<void>; readonly give: () => void } {
  let give: () => void = () => undefined;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

/** Looks at entries all the while, by fresh looks, and hashes whatever is there. */
function watchEntries(t: TestContext, paths: readonly string[]): { end(): Promise<Map<string, Set<string>>> } {
  const seen = new Map(paths.map((path) => [path, new Set<string>()]));
  let ended = false;
  const look = async (): Promise<void> => {
    for (let last = false; !last; last = ended) {
      for (const [path, hashes] of seen) if ((await statFresh(path)) !== undefined) hashes.add(await hashDirectory(path).catch(String));
      await setTimeout(200);
    }
  };
  const looking = look();
  const end = async (): Promise<Map<string, Set<string>>> => {
    ended = true;
    await looking;
    return seen;
  };
  t.after(end);
  return { end };
}
