/** An installed package survives a power cut with all that is above it, also as the first of its registry, in a cache that was made just before. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { hasStrace, traceProgram } from '../support/strace.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { NAMING_CALLS, unsyncedNames } from '../support/unsynced-names.ts';
import { THING_PATH } from './support.ts';

describe('the first package of a registry', () => {
  it('has every name synced: the entry, its record, and each directory above them', async (t) => {
    if (!hasStrace(t)) return;
    const directory = await withTemporaryDirectory(t);
    const lines = traceProgram(new URL('./fixtures/ensure-once.js', import.meta.url), [join(directory, 'new', 'cache')], NAMING_CALLS);
    const made = lines.join('\n');
    for (const name of [THING_PATH, 'state/records', 'providers/registry.example.com']) assert.ok(made.includes(name), name);
    assert.equal((await readdir(join(directory, 'new', 'cache', 'state', 'records'))).length, 1);
    assert.deepEqual(unsyncedNames(directory, lines), []);
  });
});
