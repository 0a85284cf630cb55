import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { makeZip, unicodePathField, zeros, zipArchive, type ZipEntry } from '../support/zip.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { refuses, tree, unpack } from './support.ts';

const MIB = 2 ** 20;

describe('extractZip refuses names', () => {
  const names = ['../evil', '/etc/passwd', 'C:/evil', '\\\\host\\share', '..\\evil', 'a\0b', 'a\nb', './a', 'a//b', '.', '..', 'a/../b', 'CON', 'a.', 'a:b', 'a\u202eb', '/', '//'];
  for (const name of names) {
    it(JSON.stringify(name), async (t) => {
      const archive = zipArchive([{ name: 'good', data: 'x' }, { name, data: name.endsWith('/') ? '' : 'evil' }]);
      await refuses(await withTemporaryDirectory(t), archive, 'name', name);
    });
  }

  it('an empty one', async (t) => {
    await refuses(await withTemporaryDirectory(t), zipArchive([{ name: '', data: 'x' }]), 'name', '');
  });

  it('one that is not UTF-8', async (t) => {
    await refuses(await withTemporaryDirectory(t), zipArchive([{ name: Buffer.from([0x61, 0xff]), data: 'x' }]), 'name', 'a\ufffd');
  });
});

describe('extractZip refuses what is neither file nor directory', () => {
  const modes: readonly [string, number][] = [
    ['a symbolic link', 0o120777],
    ['a character device', 0o020666],
    ['a block device', 0o060666],
    ['a FIFO', 0o010666],
    ['a socket', 0o140666],
  ];
  for (const [what, mode] of modes) {
    for (const madeBy of [3, 0]) {
      it(`${what}, made on ${madeBy === 3 ? 'Unix' : 'DOS'}`, async (t) => {
        await refuses(await withTemporaryDirectory(t), zipArchive([{ name: 'link', data: '/etc/passwd', mode, madeBy }]), 'type', 'link');
      });
    }
  }

  it('a directory whose name does not say so', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await refuses(directory, zipArchive([{ name: 'd', mode: 0o40755 }]), 'type', 'd');
    await refuses(directory, zipArchive([{ name: 'd', madeBy: 0, externalAttributes: 0x10 }]), 'type', 'd');
  });
});

describe('extractZip refuses duplicates', () => {
  const pairs: readonly [string, string][] = [
    ['a', 'a'],
    ['README', 'readme'],
    ['é', 'e\u0301'],
    ['a', 'a/'],
    ['a', 'a/b'],
    ['A/x', 'a/y'],
    ['d/', 'd/'],
  ];
  for (const [first, second] of pairs) {
    it(`${first} and ${second}`, async (t) => {
      const archive = zipArchive([first, second].map((name) => ({ name, data: name.endsWith('/') ? '' : 'x' })));
      await refuses(await withTemporaryDirectory(t), archive, 'duplicate', second);
    });
  }
});

describe('extractZip refuses entries that share bytes', () => {
  it('two entries of one piece of data', async (t) => {
    const archive = zipArchive([
      { name: 'a', data: 'x'.repeat(1000) },
      { name: 'b', data: 'x'.repeat(1000), sharesDataOf: 0 },
    ]);
    await refuses(await withTemporaryDirectory(t), archive, 'overlap', 'b');
  });

  it('an entry whose data holds another entry', async (t) => {
    const inner = zipArchive([{ name: 'inner', data: 'payload', stored: true }]);
    const local = inner.subarray(0, 30 + 5 + 7);
    const archive = zipArchive([
      { name: 'outer', data: local, stored: true },
      { name: 'inner', data: 'payload', stored: true, sharesDataOf: 0, central: { offset: 30 + 5 } },
    ]);
    await refuses(await withTemporaryDirectory(t), archive, 'overlap', 'inner');
  });

  it('an entry that reaches into the central directory', async (t) => {
    const sizes = { compressedSize: 60, size: 60 };
    const archive = zipArchive([{ name: 'a', data: 'x'.repeat(20), stored: true, local: sizes, central: sizes }]);
    await refuses(await withTemporaryDirectory(t), archive, 'overlap', 'a');
  });
});

describe('extractZip refuses headers that disagree', () => {
  const entry: ZipEntry = { name: 'a', data: 'content' };
  const lies: readonly [string, ZipEntry][] = [
    ['name', { ...entry, local: { name: 'b' } }],
    ['name that climbs out', { ...entry, local: { name: '../../evil' } }],
    ['method', { ...entry, local: { method: 0 } }],
    ['CRC', { ...entry, local: { crc32: 1 } }],
    ['size', { ...entry, local: { size: 8 } }],
    ['compressed size', { ...entry, local: { compressedSize: 8 } }],
    ['size in a zip64 field', { ...entry, zip64: true, local: { size: 8 } }],
    ['malformed zip64 field', { ...entry, local: { size: 0xffffffff, extra: Buffer.from([1, 0, 99, 0]) } }],
    ['CRC before a data descriptor', { ...entry, dataDescriptor: true, local: { crc32: 1 } }],
  ];
  for (const [what, lie] of lies) {
    it(what, async (t) => {
      await refuses(await withTemporaryDirectory(t), zipArchive([lie]), 'header', 'a');
    });
  }

  it('a second name in a Unicode path field', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await refuses(directory, zipArchive([{ ...entry, central: { extra: unicodePathField('a', '../evil') } }]), 'header', 'a');
    const { out } = await unpack(directory, zipArchive([{ ...entry, central: { extra: unicodePathField('a', 'a') } }]));
    assert.deepEqual(await tree(out), { a: 'content' });
  });
});

describe('extractZip refuses encryption', () => {
  it('by the entry, in either header', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (const flags of [0x801, 0x2801]) {
      await refuses(directory, zipArchive([{ name: 'secret', data: 'x', local: { flags }, central: { flags } }]), 'encrypted', 'secret');
    }
    await refuses(directory, zipArchive([{ name: 'secret', data: 'x', local: { flags: 0x801 } }]), 'header', 'secret');
  });

  it('of the strong kind', async (t) => {
    const archive = zipArchive([{ name: 'plain', data: 'x' }, { name: 'secret', data: 'x', central: { flags: 0x841 } }]);
    await refuses(await withTemporaryDirectory(t), archive, 'encrypted', '#1');
  });
});

describe('extractZip holds to limits', () => {
  it('of entries, implied directories included', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const files = (count: number, prefix = ''): Record<string, string> => Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, '']));
    const limits = { entries: 5 };
    await unpack(directory, makeZip(files(5)), { limits });
    await refuses(directory, makeZip(files(6)), 'entries', '', { limits });
    await unpack(directory, makeZip(files(4, 'd/')), { limits });
    await refuses(directory, makeZip(files(5, 'd/')), 'entries', 'd/4', { limits });
    await refuses(directory, makeZip({ 'a/b/c/d/e/f': '' }), 'entries', 'a/b/c/d/e/f', { limits });
  });

  it('of bytes, before anything is written', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const archive = makeZip({ a: 'x'.repeat(600), b: 'y'.repeat(600) });
    await unpack(directory, archive, { limits: { bytes: 1200 } });
    await refuses(directory, archive, 'bytes', 'b', { limits: { bytes: 1199 } });
  });

  it('of the ratio, from 1 MiB on', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await unpack(directory, makeZip({ a: { data: Buffer.alloc(MIB) } }), { limits: { ratio: 10 } });
    await refuses(directory, makeZip({ a: { data: Buffer.alloc(MIB + 1) } }), 'ratio', 'a', { limits: { ratio: 10 } });
    // A bomb as it is usually made: 1028 to 1, which is the most that deflate can do.
    await refuses(directory, makeZip({ bomb: { data: Buffer.alloc(64 * MIB), raw: zeros(64 * MIB) } }), 'ratio', 'bomb');
  });

  it('on what really comes: a header that says less than there is stops it at its own figure', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (const [size, content] of [
      [10, 64 * MIB],
      [MIB, 64 * MIB],
      [10, 11],
    ] as const) {
      const archive = makeZip({ liar: { raw: deflateRawSync(Buffer.alloc(content)), local: { size }, central: { size } } });
      await assert.rejects(unpack(directory, archive), /holds more/u);
    }
  });
});
