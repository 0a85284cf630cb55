/** What is published in directories that were made just before is as durable as they are: each new level is synced into the one above it. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { hasStrace, traceProgram } from '../support/strace.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { NAMING_CALLS, unsyncedNames } from '../support/unsynced-names.ts';

async function unsyncedAfter(t: TestContext, call: string): Promise<string[] | undefined> {
  if (!hasStrace(t)) return undefined;
  const directory = await withTemporaryDirectory(t);
  return unsyncedNames(directory, traceProgram(new URL('./fixtures/one-call.js', import.meta.url), [call, directory], NAMING_CALLS));
}

describe('directories made for a publication', () => {
  it('are durable with the files written in them', async (t) => {
    const unsynced = await unsyncedAfter(t, 'makeAndWrite');
    if (unsynced !== undefined) assert.deepEqual(unsynced, []);
  });

  it('are durable with the directory published in them', async (t) => {
    const unsynced = await unsyncedAfter(t, 'makeAndPublish');
    if (unsynced !== undefined) assert.deepEqual(unsynced, []);
  });

  it('are told apart by this test: without the syncs every level is named', async (t) => {
    const unsynced = await unsyncedAfter(t, 'makeAndWriteVolatile');
    if (unsynced !== undefined) assert.deepEqual(unsynced.sort(), ['target', 'target/1', 'target/1/2', 'target/1/2/keep', 'target/1/2/replace']);
  });
});
