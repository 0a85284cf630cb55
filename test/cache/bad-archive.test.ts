import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { ArchiveRule, RwxCacheError } from '../../src/errors.ts';
import { buildRelease, lazySigner } from '../support/registry/releases.ts';
import { makeZip, unicodePathField, zeros, zipArchive, type ZipEntry, type ZipOptions } from '../support/zip.ts';
import { failsCleanly, recovers, serveInstead, withScene, type ExpectedFailure } from './failure.ts';

/** What would be a good package, were it alone. */
const BINARY: ZipEntry = { name: 'terraform-provider-thing_v1.2.3_x5', data: '#!/bin/sh\n', mode: 0o100755 };
const PACKAGE = `registry.example.com/acme/thing/1.2.3/linux_amd64`;
const signer = lazySigner();

/** A zip that is signed, has the right checksum, and is refused all the same. */
type BadZip = readonly [name: string, entries: readonly ZipEntry[], options?: ZipOptions];

const UNSAFE: Readonly<Record<ArchiveRule, readonly BadZip[]>> = {
  name: [
    ...[
      ['climbing out', '../escaped'],
      ['climbing out from below', 'a/../../escaped'],
      ['climbing out at its end', 'a/..'],
      ['the package itself', './a'],
      ['absolute', '/etc/escaped'],
      ['a drive', 'C:/escaped'],
      ['a drive without a slash', 'c:escaped'],
      ['UNC', '//host/share/escaped'],
      ['UNC with backslashes', '\\\\host\\share\\escaped'],
      ['a backslash', 'a\\b'],
      ['climbing out with a backslash', '..\\escaped'],
      ['NUL', 'a\0b'],
      ['a line break', 'a\nb'],
      ['an escape sequence', 'a\u001b[2Jb'],
      ['an empty segment', 'a//b'],
      ['empty', ''],
      ['a stream', 'a:b'],
      ['a device of Windows', 'dir/NUL.txt'],
      ['a final dot', 'a./b'],
      ['text that runs backwards', 'a\u202egpj.sh'],
      ['a segment too long for any file system', 'n'.repeat(256)],
    ].map(([what, name = '']): BadZip => [`a name: ${String(what)}`, [BINARY, { name, data: 'x' }]]),
    ['a name that is not UTF-8', [BINARY, { name: Buffer.from([0x61, 0xff, 0xfe]), data: 'x' }]],
    ['a directory that climbs out', [BINARY, { name: '../escaped/' }]],
  ],
  type: [
    ['a symbolic link', [BINARY, { name: 'link', data: '/etc/passwd', mode: 0o120777, stored: true }]],
    ['a symbolic link in the place of the binary', [{ ...BINARY, data: '/bin/sh', mode: 0o120777, stored: true }]],
    ['a device', [BINARY, { name: 'null', mode: 0o020666 }]],
    ['a pipe', [BINARY, { name: 'pipe', mode: 0o010644 }]],
    ['a socket', [BINARY, { name: 'socket', mode: 0o140644 }]],
  ],
  duplicate: [
    ['a name twice', [BINARY, BINARY]],
    ['a name in two cases', [BINARY, { name: 'Read.me', data: '1' }, { name: 'READ.ME', data: '2' }]],
    ['a name in two normal forms', [BINARY, { name: '\u00e9', data: '1' }, { name: 'e\u0301', data: '2' }]],
    ['a file and a directory of one name', [BINARY, { name: 'a', data: '1' }, { name: 'a/b', data: '2' }]],
    ['directories in two cases', [BINARY, { name: 'dir/a', data: '1' }, { name: 'DIR/b', data: '2' }]],
  ],
  overlap: [
    ['two entries with the same bytes', [BINARY, { name: 'other', data: '#!/bin/sh\n', sharesDataOf: 0 }]],
    ['an entry that reaches into the directory', [{ ...BINARY, local: { compressedSize: 60 }, central: { compressedSize: 60 } }]],
  ],
  header: [
    ['another name in the local header', [{ ...BINARY, local: { name: '../../escaped-escaped-escaped-esca' } }]],
    ['another size in the local header', [{ ...BINARY, local: { size: 5 } }]],
    ['another CRC in the local header', [{ ...BINARY, local: { crc32: 5 } }]],
    ['another name in a Unicode path field', [BINARY, { name: 'a', data: 'x', central: { extra: unicodePathField('a', '../escaped') } }]],
  ],
  encrypted: [
    ['an encrypted entry', [BINARY, { name: 'secret', data: 'x', local: { flags: 0x801 }, central: { flags: 0x801 } }]],
    ['strong encryption', [BINARY, { name: 'secret', data: 'x', local: { flags: 0x841 }, central: { flags: 0x841 } }]],
  ],
  entries: [['more entries than the limit', [BINARY, ...Array.from({ length: 50 }, (_, index) => ({ name: `f${index}`, data: '' }))]]],
  bytes: [['more bytes than the limit', [BINARY, { name: 'big', data: Buffer.alloc(300_000, 'abcdefghij') }]]],
  ratio: [['a bomb', [BINARY, { name: 'bomb', data: Buffer.alloc(2 * 1024 * 1024) }]]],
};

const LIMITS: Readonly<Partial<Record<ArchiveRule, object>>> = { entries: { entries: 50 }, bytes: { bytes: 200_000 }, ratio: { ratio: 100 } };

describe('a signed zip that would do harm', { concurrency: 8 }, () => {
  for (const [rule, zips] of Object.entries(UNSAFE) as [ArchiveRule, readonly BadZip[]][]) {
    for (const [name, entries, options] of zips) {
      it(`${rule}: ${name}`, async (t) => {
        await isRefused(t, zipArchive(entries, options), { code: 'ERR_ARCHIVE_UNSAFE', fields: { rule }, says: new RegExp(`${PACKAGE}.*is refused, entry`, 'su') }, LIMITS[rule]);
      });
    }
  }
});

describe('a signed zip that is damaged, or none', { concurrency: 8 }, () => {
  const good = zipArchive([BINARY]);
  const cases: readonly (readonly [string, Uint8Array, RegExp])[] = [
    ['HTML', Buffer.from('<html>Please log in</html>'), /looks like HTML/u],
    ['gzip', gzipSync('a tarball'), /gzip/u],
    ['empty', Buffer.alloc(0), /it is empty/u],
    ['one byte', Buffer.from('P'), /it is no zip/u],
    ['cut at its end', good.subarray(0, -4), /cut short/u],
    ['no entries', zipArchive([]), /no entries/u],
    ['bytes before its first entry', zipArchive([BINARY], { prepend: Buffer.alloc(10, 1) }), /10 bytes stand before/u],
    ['an entry that reaches beyond the end', zipArchive([{ ...BINARY, local: { compressedSize: 4000 }, central: { compressedSize: 4000 } }]), /overflows/u],
    ['a wrong CRC', zipArchive([{ ...BINARY, local: { crc32: 7 }, central: { crc32: 7 } }]), /CRC-32/u],
    ['more bytes than announced', zipArchive([{ ...BINARY, local: { size: 3 }, central: { size: 3 } }]), /more bytes than its header says|more than the 3 bytes/u],
    ['fewer bytes than announced', zipArchive([{ ...BINARY, local: { size: 4000 }, central: { size: 4000 } }]), /it holds 10 bytes, and its header says 4000/u],
    ['a bomb that announces a few bytes', zipArchive([{ ...BINARY, raw: zeros(4 * 1024 * 1024), local: { size: 10 }, central: { size: 10 } }]), /more bytes than its header says|more than the 10 bytes/u],
    ['no deflate stream', zipArchive([{ ...BINARY, raw: Buffer.from('this is no deflate stream') }]), /no deflate stream/u],
    ['a compression that nobody reads', zipArchive([{ ...BINARY, local: { method: 12 }, central: { method: 12 } }]), /method 12/u],
    ['a lie about the number of entries', zipArchive([BINARY, { name: 'a', data: 'x' }], { entryCount: 1 }), /central directory ends/u],
    ['a directory that is elsewhere', zipArchive([BINARY], { directoryOffset: 3 }), /./u],
  ];
  for (const [name, zip, problem] of cases) {
    it(name, async (t) => {
      const error = await isRefused(t, zip, { code: 'ERR_ARCHIVE_INVALID', says: new RegExp(`${PACKAGE}.*is not a good archive`, 'su') });
      assert.match(error.message, problem);
    });
  }

  it('a zip without the plugin', async (t) => {
    const zip = makeZip({ 'README.md': 'nothing here', 'bin/terraform-provider-thing': 'not at the top', 'terraform-provider-thingy': 'another one' });
    await isRefused(t, zip, { code: 'ERR_EXECUTABLE_MISSING', fields: { subject: PACKAGE }, says: /linux_amd64 holds no executable that starts with terraform-provider-thing/u });
  });
});

/** Puts the zip into a release that is good otherwise, and sees it refused. */
async function isRefused(t: TestContext, zip: Uint8Array, expected: ExpectedFailure, archiveLimits?: object): Promise<RwxCacheError> {
  const scene = await withScene(t, { cache: { archiveLimits } });
  serveInstead(scene.registry, await buildRelease({ address: 'acme/thing', version: '1.2.3', zip }, signer));
  const error = await failsCleanly(scene, expected);
  assert.deepEqual(await readdir(join(scene.directory, '..')).then((names) => names.filter((name) => name.startsWith('escaped'))), []);
  await recovers(scene);
  return error;
}
