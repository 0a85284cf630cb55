import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { hashZipEntries } from '../../src/archive/index.ts';
import { InvalidArchiveError } from '../../src/errors.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { makeZip, zipArchive } from '../support/zip.ts';

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

describe('hashZipEntries', () => {
  it('hashes every entry in its order, directories as nothing, and judges no names', async (t) => {
    const zip = join(await withTemporaryDirectory(t), 'a.zip');
    const large = randomBytes(2_500_000);
    await writeFile(zip, makeZip({ 'sub/': '', large, '../evil': 'E', link: { data: 'target', mode: 0o120777 }, 'sub/x': { data: 'X', stored: true } }));
    assert.deepEqual(await hashZipEntries(zip), [
      { name: 'sub/', sha256: sha256(''), directory: true },
      { name: 'large', sha256: sha256(large), directory: false },
      { name: '../evil', sha256: sha256('E'), directory: false },
      { name: 'link', sha256: sha256('target'), directory: false },
      { name: 'sub/x', sha256: sha256('X'), directory: false },
    ]);
  });

  it('counts the last content of a name for every entry of that name, as the reference does', async (t) => {
    const zip = join(await withTemporaryDirectory(t), 'a.zip');
    await writeFile(zip, zipArchive([{ name: 'a', data: 'first' }, { name: 'b', data: 'B' }, { name: 'a', data: 'last' }]));
    assert.deepEqual(
      (await hashZipEntries(zip)).map(({ name, sha256: hash }) => [name, hash]),
      [['a', sha256('last')], ['b', sha256('B')], ['a', sha256('last')]],
    );
  });

  it('has nothing to say of an empty zip, and refuses names that are not UTF-8', async (t) => {
    const zip = join(await withTemporaryDirectory(t), 'a.zip');
    await writeFile(zip, zipArchive([]));
    assert.deepEqual(await hashZipEntries(zip), []);
    await writeFile(zip, zipArchive([{ name: Buffer.from([0xff]), data: '' }]));
    await assert.rejects(hashZipEntries(zip), InvalidArchiveError);
  });

  it('aborts', async (t) => {
    const zip = join(await withTemporaryDirectory(t), 'a.zip');
    await writeFile(zip, makeZip({ large: randomBytes(10_000_000) }));
    const controller = new AbortController();
    const work = hashZipEntries(zip, { signal: controller.signal });
    setImmediate(() => {
      controller.abort();
    });
    await assert.rejects(work, { name: 'AbortError' });
  });
});
