/** The faults of the bare package that this room closes: each is shown on it first. */
import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { fromBufferPromise, validateFileName, type Options } from 'yauzl';
import { withTemporaryDirectory } from '../support/temp.ts';
import { makeZip, zeros, zipArchive } from '../support/zip.ts';
import { invalid, refuses, tree, unpack } from './support.ts';

const LINK = 0o120777;

/** What yauzl alone reads: names and contents. */
async function bare(archive: Buffer, options?: Options): Promise<[name: string, content: string][]> {
  const file = await fromBufferPromise(archive, options);
  const found: [string, string][] = [];
  for await (const entry of file.eachEntry()) found.push([entry.fileName, (await buffer(await file.openReadStreamPromise(entry))).toString()]);
  return found;
}

describe('yauzl alone, and extractZip', () => {
  it('never checks a CRC-32', async (t) => {
    const lie = { crc32: 0xbad };
    for (const stored of [true, false]) {
      const archive = makeZip({ a: { data: 'content', stored, local: lie, central: lie } });
      assert.deepEqual(await bare(archive), [['a', 'content']]);
      await invalid(await withTemporaryDirectory(t), archive, /CRC/u, 'a');
    }
  });

  it('takes entries that share bytes', async (t) => {
    const archive = zipArchive([{ name: 'a', data: 'x' }, { name: 'b', data: 'x', sharesDataOf: 0 }]);
    assert.equal((await bare(archive)).length, 2);
    await refuses(await withTemporaryDirectory(t), archive, 'overlap', 'b');
  });

  it('takes one name twice', async (t) => {
    const archive = zipArchive([{ name: 'a', data: 'first' }, { name: 'a', data: 'second' }]);
    assert.equal((await bare(archive)).length, 2);
    await refuses(await withTemporaryDirectory(t), archive, 'duplicate', 'a');
  });

  it('does not look at the name in the local header', async (t) => {
    const archive = zipArchive([{ name: 'a', data: 'x', local: { name: '../../evil' } }]);
    assert.deepEqual(await bare(archive), [['a', 'x']]);
    await refuses(await withTemporaryDirectory(t), archive, 'header', 'a');
  });

  it('takes bytes before the first entry', async (t) => {
    const archive = zipArchive([{ name: 'a', data: 'x' }], { prepend: Buffer.from('#!/bin/sh\n') });
    assert.deepEqual(await bare(archive), [['a', 'x']]);
    await invalid(await withTemporaryDirectory(t), archive, /before its first entry/u);
  });

  it('takes names that are no good anywhere', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (const name of ['', './x', 'a//b', 'a\0b', 'a\nb', 'CON', 'a.', 'a\u202eb']) {
      assert.equal(validateFileName(name), null);
      await refuses(directory, zipArchive([{ name, data: 'x' }]), 'name', name);
    }
    const archive = zipArchive([{ name: 'DIR/a', data: '1' }, { name: 'dir/a', data: '2' }]);
    assert.equal((await bare(archive)).length, 2);
    await refuses(directory, archive, 'duplicate', 'dir/a');
  });

  it('rewrites backslashes unless told not to', async (t) => {
    const archive = zipArchive([{ name: 'a\\b', data: 'x' }]);
    assert.deepEqual(await bare(archive), [['a/b', 'x']]);
    await refuses(await withTemporaryDirectory(t), archive, 'name', 'a\\b');
  });

  it('reads UTF-8 names without their flag as CP437; the reference takes them as they are', async (t) => {
    const archive = zipArchive([{ name: 'ünï', data: 'x', local: { flags: 0 }, central: { flags: 0 } }]);
    assert.notEqual((await bare(archive))[0]?.[0], 'ünï');
    assert.deepEqual(await tree((await unpack(await withTemporaryDirectory(t), archive)).out), { ünï: 'x' });
  });

  it('gives a symbolic link as an entry like any other', async (t) => {
    const archive = zipArchive([{ name: 'link', data: '/etc/passwd', mode: LINK }]);
    assert.deepEqual(await bare(archive), [['link', '/etc/passwd']]);
    await refuses(await withTemporaryDirectory(t), archive, 'type', 'link');
  });

  it('has no limit of bytes', async (t) => {
    const bytes = 64 * 2 ** 20;
    const archive = makeZip({ bomb: { data: Buffer.alloc(bytes), raw: zeros(bytes) } });
    assert.equal((await bare(archive))[0]?.[1].length, bytes);
    await refuses(await withTemporaryDirectory(t), archive, 'ratio', 'bomb');
  });

  it('believes a number of entries that is too small', async (t) => {
    const archive = zipArchive([{ name: 'a', data: 'x' }, { name: 'hidden', data: 'x' }], { entryCount: 1 });
    assert.deepEqual(await bare(archive), [['a', 'x']]);
    await invalid(await withTemporaryDirectory(t), archive, /central directory ends/u);
  });

  it('has a low-level stream whose promise form calls the wrong function', async () => {
    const archive = makeZip({ a: { data: 'content', stored: true } });
    const file = await fromBufferPromise(archive);
    for await (const entry of file.eachEntry()) {
      const { fileDataStart } = await file.readLocalFileHeaderPromise(entry, { minimal: true });
      await assert.rejects(file.openReadStreamLowLevelPromise(fileDataStart, 7, 0, 7, false, 7), TypeError);
    }
  });

  it('throws a TypeError where nobody waits, when an error comes between two entries', async (t) => {
    const file = await fromBufferPromise(makeZip({ a: 'A', b: 'B' }));
    const entries = file.eachEntry();
    await entries.next();
    assert.throws(() => file.emit('error', new Error('the disk failed')), TypeError);
    // Ours reads with listeners of its own, and an error there is an error of the archive.
    await invalid(await withTemporaryDirectory(t), zipArchive([{ name: 'a', data: 'x' }], { entryCount: 2 }), /signature|unexpected end/u);
  });
});
