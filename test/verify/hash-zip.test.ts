import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { extractZip } from '../../src/archive/index.ts';
import { InvalidArchiveError, UnreadableDirectoryError } from '../../src/errors.ts';
import { hashDirectory, hashZipContents, hashZipFile, packageHashFromFiles } from '../../src/verify/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { makeZip, zipArchive } from '../support/zip.ts';
import { H1_VECTORS } from './vectors.ts';

describe('hashZipContents', () => {
  for (const { name, files, h1 } of H1_VECTORS) {
    it(`is the reference's of "${name}"`, async (t) => {
      const zip = join(await withTemporaryDirectory(t), 'a.zip');
      await writeFile(zip, zipArchive(Object.entries(files).map(([file, data]) => ({ name: file, data }))));
      assert.equal(await hashZipContents(zip), h1);
    });
  }

  it('without directory entries is that of the unpacked directory', async (t) => {
    const zip = join(await withTemporaryDirectory(t), 'a.zip');
    await writeFile(zip, makeZip({ a: 'A', 'sub/': '', 'sub/x': 'X' }));
    const nested = H1_VECTORS.find(({ name }) => name === 'nested')?.h1;
    assert.equal(await hashZipContents(zip, { directoryEntries: 'skip' }), nested);
    assert.notEqual(await hashZipContents(zip, { directoryEntries: 'count' }), nested);
  });

  it('refuses a damaged zip, and a line break in a name', async (t) => {
    const zip = join(await withTemporaryDirectory(t), 'a.zip');
    await writeFile(zip, makeZip({ a: randomBytes(100_000) }).subarray(0, 65_536));
    await assert.rejects(hashZipContents(zip), InvalidArchiveError);
    await writeFile(zip, makeZip({ 'a\nb': 'A' }));
    await assert.rejects(hashZipContents(zip), UnreadableDirectoryError);
  });
});

describe('hashZipFile', () => {
  it('is the SHA-256 of the file, whatever it holds', async (t) => {
    const file = join(await withTemporaryDirectory(t), 'a.zip');
    for (const content of [Buffer.alloc(0), Buffer.from('not a zip'), randomBytes(2_500_000)]) {
      await writeFile(file, content);
      assert.equal(await hashZipFile(file), `zh:${createHash('sha256').update(content).digest('hex')}`);
    }
  });

  it('says when there is none, and aborts', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await assert.rejects(hashZipFile(join(directory, 'none')), { systemCode: 'ENOENT' });
    await assert.rejects(hashZipFile(directory), { systemCode: 'EISDIR' });
    await assert.rejects(hashZipFile(directory, { signal: AbortSignal.abort(new Error('enough')) }), /enough/u);
  });
});

describe('whatever tree of files', () => {
  // Few letters, so that directories are shared; one beyond U+FFFF and one after the surrogates, for the order.
  const segment = fc.string({ unit: fc.constantFrom('a', 'b', '-', '_', 'é', '\u{1f600}', '\ufffd'), minLength: 1, maxLength: 3 });
  const name = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/'));
  const content = fc.oneof(fc.string(), fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)), fc.integer({ min: 0, max: 200_000 }).map((length) => 'x'.repeat(length)));
  const entry = fc.record({ data: content, stored: fc.boolean(), dataDescriptor: fc.boolean(), zip64: fc.boolean(), mode: fc.constantFrom(0o100644, 0o100755) });
  const files = fc.dictionary(name, entry, { maxKeys: 12, minKeys: 1, noNullPrototype: true }).map((tree) => {
    const names = Object.keys(tree);
    // A file cannot be a directory as well.
    return Object.fromEntries(Object.entries(tree).filter(([one]) => !names.some((other) => other.startsWith(`${one}/`))));
  });

  it('has one hash: of its zip, of what was unpacked, and of the directory', async (t) => {
    const root = await withTemporaryDirectory(t);
    let run = 0;
    await fc.assert(
      fc.asyncProperty(files, fc.boolean(), async (tree, withDirectories) => {
        run += 1;
        const [zip, out] = [join(root, `${run}.zip`), join(root, `${run}`)];
        const parents = new Set(Object.keys(tree).flatMap((one) => [...one.matchAll(/\//gu)].map((slash) => one.slice(0, slash.index + 1))));
        const directories = withDirectories ? Object.fromEntries([...parents].map((one) => [one, ''])) : {};
        await writeFile(zip, makeZip({ ...directories, ...tree }));
        await mkdir(out);
        const extracted = await extractZip(zip, out, { durable: false });
        const expected = packageHashFromFiles(Object.entries(tree).map(([one, { data }]) => ({ name: one, sha256: createHash('sha256').update(data).digest('hex') })));
        assert.equal(packageHashFromFiles(extracted), expected);
        assert.equal(await hashDirectory(out), expected);
        assert.equal(await hashZipContents(zip, { directoryEntries: 'skip' }), expected);
      }),
      { numRuns: 60 },
    );
  });
});
