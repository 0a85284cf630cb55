import assert from 'node:assert/strict';
import { chmod, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseRecord, type EntryRecord } from '../../src/cache/record-format.ts';
import { openCache, THING, withCache } from './support.ts';

/** The only record of the cache. */
async function onlyRecord(directory: string): Promise<{ readonly file: string; readonly inode: bigint; readonly record: EntryRecord | undefined }> {
  const records = join(directory, 'state/records');
  const names = await readdir(records);
  assert.equal(names.length, 1, names.join(', '));
  const file = join(records, names[0] ?? '');
  return { file, inode: (await stat(file, { bigint: true })).ino, record: parseRecord(await readFile(file, 'utf8')) };
}

describe('a record', () => {
  it('is bound anew when the executable was written in place with the same bytes, as terraform does without a lock file', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    const { executable } = await cache.ensure(THING);
    const bytes = await readFile(executable);
    await chmod(executable, 0o755);
    await writeFile(executable, bytes);
    await utimes(executable, 1, 1);
    const other = await openCache(t, registry, { directory });
    assert.equal((await other.ensure(THING)).outcome, 'hit');
    const { record } = await onlyRecord(directory);
    // Otherwise every process that comes later would hash the whole entry again.
    assert.equal(record?.executable.mtimeNs, (await stat(executable, { bigint: true })).mtimeNs);
    assert.equal(record.provenance.signature.status, 'verified');
  });

  it('is not written again by a hit that only hashed', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    await cache.ensure(THING);
    const before = await onlyRecord(directory);
    const hashing = await openCache(t, registry, { directory, verifyOnHit: 'hash' });
    const written = (await stat(join(directory, 'state/records'), { bigint: true })).mtimeNs;
    assert.equal((await hashing.ensure(THING)).outcome, 'hit');
    assert.deepEqual(await onlyRecord(directory), before);
    assert.equal((await stat(join(directory, 'state/records'), { bigint: true })).mtimeNs, written);
  });
});
