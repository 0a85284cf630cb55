import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { hashZipEntries } from '../../src/archive/index.ts';
import { InvalidArchiveError, RwxCacheError } from '../../src/errors.ts';
import { makeZip, zipArchive } from '../support/zip.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { invalid, unpack } from './support.ts';

/** About 1 MiB, of one large file (a stream) and some small ones (one call each). */
function sample(): Buffer {
  return makeZip({ large: randomBytes(900_000), 'small/a': 'text '.repeat(2000), 'small/b': { data: 'stored', stored: true }, last: randomBytes(60_000) });
}

describe('extractZip calls invalid', () => {
  it('what is no zip', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await invalid(directory, Buffer.from(''), /empty/u);
    await invalid(directory, Buffer.from('\n<!DOCTYPE html><title>Sign in</title>'), /HTML/u);
    await invalid(directory, Buffer.from([0x1f, 0x8b, 8, 0]), /gzip/u);
    await invalid(directory, randomBytes(100_000), /no zip/u);
    await invalid(directory, Buffer.from('x'), /no zip/u);
  });

  it('a zip without entries', async (t) => {
    await invalid(await withTemporaryDirectory(t), zipArchive([]), /no entries/u);
  });

  it('a zip cut at every 64 KiB, and just before its end', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const archive = sample();
    for (let length = 65_536; length < archive.length; length += 65_536) await invalid(directory, archive.subarray(0, length), /cut short/u);
    await invalid(directory, archive.subarray(0, -1), /cut short/u);
  });

  it('bytes behind the end or before the beginning', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const entries = [{ name: 'a', data: 'x' }];
    await invalid(directory, zipArchive(entries, { append: Buffer.from('more') }), /behind its end/u);
    await invalid(directory, zipArchive(entries, { prepend: Buffer.from('#!/bin/sh\n') }), /10 bytes stand before/u);
  });

  it('an end record that does not fit the central directory', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const entries = ['a', 'b', 'c'].map((name) => ({ name, data: 'x' }));
    await invalid(directory, zipArchive(entries, { entryCount: 2 }), /central directory ends/u);
    await invalid(directory, zipArchive(entries, { entryCount: 4 }), /signature|unexpected end/u);
    await invalid(directory, zipArchive(entries, { zip64: true, entryCount: 2 }), /central directory ends/u);
    await invalid(directory, zipArchive(entries, { directoryOffset: 0 }), /signature/u);
    await invalid(directory, zipArchive(entries, { directoryOffset: 4_000_000 }), /unexpected end/u);
    await invalid(directory, zipArchive(entries, { zip64: true, directoryOffset: Number.MAX_SAFE_INTEGER - 1 }), /unexpected end/u);
  });

  it('a local header that is elsewhere', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (const offset of [2, 0xfffffff0]) {
      await assert.rejects(unpack(directory, zipArchive([{ name: 'a', data: 'x' }, { name: 'b', data: 'x', central: { offset } }])), RwxCacheError);
    }
    await invalid(directory, zipArchive([{ name: 'a', data: 'x' }, { name: 'b', data: 'x', central: { offset: 40 } }]), /signature/u, 'b');
  });

  it('a wrong CRC-32, stored or deflated, in one call or as a stream', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (const stored of [false, true]) {
      for (const data of ['content', randomBytes(200_000)]) {
        const lie = { crc32: 0x12345678 };
        await invalid(directory, makeZip({ a: { data, stored, local: lie, central: lie } }), /CRC/u, 'a');
      }
    }
  });

  it('lengths that are not those of the content', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (const data of [Buffer.from('content'), randomBytes(200_000)]) {
      const more = { size: data.length + 1 };
      const less = { size: data.length - 1 };
      await invalid(directory, makeZip({ a: { data, local: more, central: more } }), /its header says/u, 'a');
      await invalid(directory, makeZip({ a: { data, local: less, central: less } }), /holds more/u, 'a');
      await invalid(directory, makeZip({ a: { data, raw: Buffer.concat([deflateRawSync(data), Buffer.from('junk')]) } }), /ends 4 bytes early/u, 'a');
      await invalid(directory, makeZip({ a: { data, raw: deflateRawSync(data).subarray(0, -5) } }), /no deflate stream/u, 'a');
      await invalid(directory, makeZip({ a: { data, raw: Buffer.alloc(data.length, 0xff) } }), /no deflate stream/u, 'a');
    }
    const stored = { size: 9 };
    await invalid(directory, makeZip({ a: { data: 'content', stored: true, local: stored, central: stored } }), /size mismatch/u);
    await invalid(directory, makeZip({ 'd/': { data: 'content', mode: 0o40755 } }), /directory with content/u, 'd/');
  });

  it('other compression methods', async (t) => {
    const method = { method: 12 };
    await invalid(await withTemporaryDirectory(t), makeZip({ a: { data: 'x', local: method, central: method } }), /method 12/u, 'a');
  });
});

describe('a zip with one bit flipped', () => {
  it('never yields other files than the good one', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const good = makeZip({ a: 'text '.repeat(50), 'd/b': { data: 'stored', stored: true }, 'd/': '', c: randomBytes(70_000) });
    const expected = contentOf((await unpack(directory, good)).files);
    // All of the headers, and the data at intervals that meet every bit of a byte.
    const positions = Array.from({ length: good.length }, (_, at) => at).filter((at) => at < 400 || at > good.length - 700 || at % 997 === 0);
    let same = 0;
    for (const at of positions) {
      const damaged = Buffer.from(good);
      damaged.writeUInt8(damaged.readUInt8(at) ^ (1 << at % 8), at);
      await unpack(directory, damaged).then(
        ({ files }) => {
          assert.equal(contentOf(files), expected, `byte ${at}`);
          same += 1;
        },
        (error: unknown) => {
          assert.ok(error instanceof RwxCacheError, `byte ${at}: ${String(error)}`);
        },
      );
    }
    // Times, versions and permission bits may change without harm; there is not much else in the headers.
    assert.ok(same < positions.length / 4, `${same} of ${positions.length}`);
  });

  function contentOf(files: readonly { readonly name: string; readonly sha256: string }[]): string {
    const hash = createHash('sha256');
    for (const { name, sha256 } of files) hash.update(`${name} ${sha256}\n`);
    return hash.digest('hex');
  }
});

describe('hashZipEntries calls invalid', () => {
  it('damaged content as well', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const lie = { crc32: 1 };
    const { zip } = await unpack(directory, makeZip({ good: 'x' }));
    assert.equal((await hashZipEntries(zip)).length, 1);
    await writeFile(zip, makeZip({ a: { data: 'x', local: lie, central: lie } }));
    await assert.rejects(hashZipEntries(zip), InvalidArchiveError);
    await writeFile(zip, sample().subarray(0, 70_000));
    await assert.rejects(hashZipEntries(zip), InvalidArchiveError);
  });
});
