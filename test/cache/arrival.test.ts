/** The watch of those who wait for an entry's lock on a network: it ends when the entry has come, and what proves nothing does not end it. */
import assert from 'node:assert/strict';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Criteria } from '../../src/cache/acceptance.ts';
import { watchForEntry, type Arrival } from '../../src/cache/arrival.ts';
import type { EntryPlace } from '../../src/cache/entry.ts';
import { onAbort } from '../../src/abort.ts';
import type { ProviderCache } from '../../src/index.ts';
import { THING, THING_PATH, withCache } from './support.ts';

const CRITERIA: Criteria = {
  rules: { signature: 'required', expiredKeys: 'warn' },
  expectedHashes: [],
  hashHits: false,
  offline: false,
  readOnly: false,
};

async function withWatch(t: TestContext, network: boolean): Promise<{ cache: ProviderCache; directory: string; arrival: Arrival }> {
  const { cache, directory } = await withCache(t);
  const place: EntryPlace = { package: THING_PATH.replace('providers/', ''), type: 'thing', path: join(directory, THING_PATH), records: join(directory, 'state/records'), network };
  const arrival = watchForEntry(place, CRITERIA);
  t.after(() => {
    arrival.end();
  });
  return { cache, directory, arrival };
}

const come = (arrival: Arrival): Promise<void> => new Promise((resolve) => {
  if (arrival.signal.aborted) resolve();
  else onAbort(arrival.signal, resolve);
});

describe('the watch for an entry', () => {
  it('ends when the entry has come', async (t) => {
    const { cache, arrival } = await withWatch(t, true);
    arrival.begin();
    arrival.begin();
    assert.equal(arrival.found(), undefined);
    const { hashes } = await cache.ensure(THING);
    await come(arrival);
    assert.ok(hashes.includes(String(arrival.found()?.record.h1)));
  });

  it('goes on past what somebody else put there', async (t) => {
    const { cache, directory, arrival } = await withWatch(t, true);
    await mkdir(join(directory, THING_PATH), { recursive: true });
    await writeFile(join(directory, THING_PATH, 'terraform-provider-thing_v1.2.3_x5'), 'half', { mode: 0o755 });
    arrival.begin();
    await setTimeout(300);
    assert.equal(arrival.found(), undefined);
    await rename(join(directory, THING_PATH), join(directory, 'away'));
    await cache.ensure(THING);
    await come(arrival);
  });

  it('does not begin on a local disk, where the kernel serves the waiters in turn, nor go on after its end', async (t) => {
    const local = await withWatch(t, false);
    local.arrival.begin();
    await local.cache.ensure(THING);
    const ended = await withWatch(t, true);
    ended.arrival.begin();
    ended.arrival.end();
    await ended.cache.ensure(THING);
    await setTimeout(300);
    assert.equal(local.arrival.found(), undefined);
    assert.equal(ended.arrival.found(), undefined);
  });
});
