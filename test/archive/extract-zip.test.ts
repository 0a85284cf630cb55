import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { renameSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';
import { crc32 } from 'node:zlib';
import { extractZip, type ExtractProgress } from '../../src/archive/index.ts';
import { FileSystemError, InvalidArchiveError, InvalidOptionError } from '../../src/errors.ts';
import { openFilesBelow } from '../support/open-files.ts';
import { hasStrace, traceProgram } from '../support/strace.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { withTmpfs } from '../support/tmpfs.ts';
import { makeZip, zeros, zipArchive } from '../support/zip.ts';
import { tree, unpack } from './support.ts';

const PROGRAM = new URL('./fixtures/extract.js', import.meta.url);
const LINUX = process.platform === 'linux';

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o7777).toString(8);
}

async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!condition()) {
    assert.ok(performance.now() < end, 'it did not come true within 10 s');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('extractZip', () => {
  it('writes every file and says what it wrote, in the order of the archive', async (t) => {
    const large = randomBytes(3_000_000);
    const archive = makeZip({ z: 'Z', 'sub/deep/x': large, 'sub/': '', none: '', 'void/dir/': '', '.hidden': 'H' });
    const { files, out } = await unpack(await withTemporaryDirectory(t), archive, { durable: true });
    assert.deepEqual(files, [
      { name: 'z', bytes: 1, sha256: sha256('Z'), executable: false },
      { name: 'sub/deep/x', bytes: large.length, sha256: sha256(large), executable: false },
      { name: 'none', bytes: 0, sha256: sha256(''), executable: false },
      { name: '.hidden', bytes: 1, sha256: sha256('H'), executable: false },
    ]);
    assert.deepEqual(Object.keys(await tree(out)).sort(), ['.hidden', 'none', 'sub/', 'sub/deep/', 'sub/deep/x', 'void/', 'void/dir/', 'z']);
    assert.ok(large.equals(await readFile(join(out, 'sub/deep/x'))));
  });

  it('takes stored entries, data descriptors, zip64, comments, gaps, and a central directory in another order', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const data = randomBytes(300_000).toString('base64');
    const entries = [
      { name: 'stored', data, stored: true },
      { name: 'late', data, dataDescriptor: true },
      { name: 'zip64', data, zip64: true },
      { name: 'both', data, zip64: true, dataDescriptor: true },
    ];
    for (const options of [{}, { zip64: true }, { comment: 'made by PK tools' }, { gap: Buffer.from('padding') }, { zip64: true, comment: 'x'.repeat(65_535) }]) {
      const { out } = await unpack(directory, zipArchive(entries, options));
      assert.deepEqual(await tree(out), Object.fromEntries(entries.map(({ name }) => [name, data])));
    }
    const [first, second] = [Buffer.from('one'), Buffer.from('two')];
    const swapped = zipArchive([
      { name: 'b', data: second, stored: true, local: { name: 'a', crc32: crc32(first) }, raw: first, central: { offset: 34 } },
      { name: 'a', data: first, stored: true, local: { name: 'b', crc32: crc32(second) }, raw: second, central: { offset: 0 } },
    ]);
    assert.deepEqual(await tree((await unpack(directory, swapped)).out), { a: 'one', b: 'two' });
  });

  it('gives modes that depend on the executable bits alone', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const archive = makeZip({
      plain: { data: 'x', mode: 0o100600 },
      writable: { data: 'x', mode: 0o100666 },
      script: { data: 'x', mode: 0o100755 },
      setuid: { data: 'x', mode: 0o104711 },
      provider: { data: 'x', madeBy: 0 },
      'typeless on Unix': { data: 'x', mode: 0o755 },
      'typeless on DOS': { data: 'x', mode: 0o755, madeBy: 0 },
      'd/': { mode: 0o40700 },
    });
    const before = process.umask(0o077);
    t.after(() => process.umask(before));
    const { files, out } = await unpack(directory, archive, { isExecutable: (name) => name.startsWith('prov') });
    const modes = Object.fromEntries(await Promise.all((await readdir(out)).map(async (name): Promise<[string, string]> => [name, await modeOf(join(out, name))])));
    assert.deepEqual(modes, { plain: '444', writable: '444', script: '555', setuid: '555', provider: '555', 'typeless on Unix': '555', 'typeless on DOS': '444', d: '755' });
    assert.deepEqual(
      files.filter(({ executable }) => executable).map(({ name }) => name),
      ['script', 'setuid', 'provider', 'typeless on Unix'],
    );
  });

  it('keeps the set-group-ID bit that new directories have from their parent', { skip: LINUX ? false : 'directories inherit it on Linux' }, async (t) => {
    const directory = await withTemporaryDirectory(t);
    const [zip, out] = [join(directory, 'a.zip'), join(directory, 'out')];
    await writeFile(zip, makeZip({ 'd/x': 'X' }));
    await mkdir(out);
    await chmod(out, 0o2700);
    const before = process.umask(0o077);
    t.after(() => process.umask(before));
    await extractZip(zip, out, { durable: false });
    assert.equal(await modeOf(join(out, 'd')), '2755');
  });

  it('tells its progress', async (t) => {
    const seen: ExtractProgress[] = [];
    await unpack(await withTemporaryDirectory(t), makeZip({ a: randomBytes(2_500_000), b: 'B' }), { onProgress: (progress) => seen.push(progress) });
    assert.ok(seen.length >= 4);
    assert.deepEqual([...new Set(seen.map(({ entry }) => entry))].sort(), ['a', 'b']);
    assert.ok(seen.every(({ totalBytes }) => totalBytes === 2_500_001));
    assert.deepEqual(
      seen.map(({ writtenBytes }) => writtenBytes),
      seen.map(({ writtenBytes }) => writtenBytes).sort((a, b) => a - b),
    );
    assert.equal(seen.at(-1)?.writtenBytes, 2_500_001);
  });

  it('ends with what a callback throws', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const failure = new Error('no more');
    const fail = (): never => {
      throw failure;
    };
    await assert.rejects(unpack(directory, makeZip({ a: 'A' }), { onProgress: fail }), failure);
    await assert.rejects(unpack(directory, makeZip({ a: 'A' }), { isExecutable: fail }), failure);
  });

  it('unpacks what `zip` makes, with its executable bits', async (t) => {
    if (spawnSync('zip', ['-v']).status !== 0) {
      t.skip('zip is not installed');
      return;
    }
    const directory = await withTemporaryDirectory(t);
    await mkdir(join(directory, 'in/d'), { recursive: true });
    await writeFile(join(directory, 'in/provider'), randomBytes(100_000), { mode: 0o755 });
    await writeFile(join(directory, 'in/d/ünï'), 'text');
    execFileSync('zip', ['-qr', '../in.zip', '.'], { cwd: join(directory, 'in') });
    const { out, files } = await unpack(directory, await readFile(join(directory, 'in.zip')));
    assert.deepEqual(await tree(out), await tree(join(directory, 'in')));
    assert.deepEqual(Object.fromEntries(files.map(({ name, executable }) => [name, executable])), { provider: true, 'd/ünï': false });
  });
});

describe('extractZip and its destination', () => {
  it('makes it, or wants it empty', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const zip = join(directory, 'a.zip');
    await writeFile(zip, makeZip({ a: 'A' }));
    await mkdir(join(directory, 'full/x'), { recursive: true });
    await assert.rejects(extractZip(zip, join(directory, 'full')), InvalidOptionError);
    await assert.rejects(extractZip(zip, join(directory, 'none/none')), { systemCode: 'ENOENT', operation: 'create' });
    assert.equal((await extractZip(zip, join(directory, 'none'))).length, 1);
    await assert.rejects(extractZip(join(directory, 'none.zip'), join(directory, 'full')), { systemCode: 'ENOENT', operation: 'open' });
  });

  it('never writes through a link that somebody puts there meanwhile', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const [zip, out, victim] = ['a.zip', 'out', 'victim'].map((name) => join(directory, name)) as [string, string, string];
    await writeFile(zip, makeZip({ a: 'evil' }));
    await mkdir(out);
    await writeFile(victim, 'untouched');
    await symlink(victim, join(directory, 'planted'));
    // Planted after the look at the empty directory, at the very place.
    const plant = (): boolean => {
      renameSync(join(directory, 'planted'), join(out, 'a'));
      return false;
    };
    await assert.rejects(extractZip(zip, out, { isExecutable: plant }), { systemCode: 'EEXIST' });
    assert.equal(await readFile(victim, 'utf8'), 'untouched');
  });

  it('syncs every file, then every directory from the deepest up, when durable, and nothing otherwise', async (t) => {
    if (!hasStrace(t)) return;
    const directory = await withTemporaryDirectory(t);
    const zip = join(directory, 'a.zip');
    await writeFile(zip, makeZip({ 'a/b/c': 'C', 'a/d': randomBytes(200_000), top: { data: 'T', mode: 0o100755 } }));
    const run = async (durable: string): Promise<string[]> => {
      const out = join(directory, durable);
      await mkdir(out);
      return traceProgram(PROGRAM, [zip, out, durable], 'openat,fsync,fdatasync').filter((line) => line.includes(out));
    };
    const lines = await run('durable');
    const synced = lines.filter((line) => line.includes('fsync(')).map((line) => /<(?<path>[^>]*)>/u.exec(line)?.groups?.['path']?.slice(join(directory, 'durable').length));
    assert.deepEqual(synced.slice(0, 3).sort(), ['/a/b/c', '/a/d', '/top']);
    assert.deepEqual(synced.slice(3), ['/a/b', '/a', '']);
    const created = lines.filter((line) => line.includes('O_CREAT'));
    assert.equal(created.length, 3);
    for (const line of created) assert.match(line, /O_WRONLY\|O_CREAT\|O_EXCL\|O_NOFOLLOW\|O_CLOEXEC, 0(444|555)/u);
    assert.equal((await run('quick')).filter((line) => line.includes('sync(')).length, 0);
  });

  it('says so when the disk is full, keeps no descriptor, and succeeds when there is room', async (t) => {
    const disk = await withTmpfs(t, 8 * 2 ** 20);
    if (disk === undefined) return;
    const directory = await withTemporaryDirectory(t);
    const zip = join(directory, 'a.zip');
    await writeFile(zip, makeZip({ 'd/small': 'S', large: randomBytes(6 * 2 ** 20), larger: randomBytes(6 * 2 ** 20) }));
    const out = join(disk, 'out');
    await mkdir(out);
    await assert.rejects(extractZip(zip, out), (error: unknown) => {
      assert.ok(error instanceof FileSystemError, String(error));
      assert.deepEqual([error.systemCode, error.operation], ['ENOSPC', 'write']);
      assert.match(error.path, /large/u);
      return true;
    });
    assert.deepEqual(openFilesBelow(out), []);
    await rm(out, { recursive: true });
    await mkdir(out);
    await writeFile(zip, makeZip({ large: randomBytes(6 * 2 ** 20) }));
    assert.equal((await extractZip(zip, out)).length, 1);
  });
});

describe('extractZip that fails', () => {
  it('has ended all that it began when it rejects', { skip: LINUX ? false : 'needs /proc' }, async (t) => {
    const directory = await withTemporaryDirectory(t);
    const lie = { crc32: 1 };
    const archive = makeZip({ a: randomBytes(8_000_000), bad: { data: randomBytes(2_000_000), local: lie, central: lie }, c: randomBytes(8_000_000) });
    const [zip, out] = [join(directory, 'a.zip'), join(directory, 'out')];
    await writeFile(zip, archive);
    await mkdir(out);
    await assert.rejects(extractZip(zip, out), InvalidArchiveError);
    // Without a descriptor nothing can write any more, and the archive is closed as well.
    assert.deepEqual(openFilesBelow(directory), []);
    const { size } = await stat(join(out, 'c'));
    assert.ok(size < 8_000_000, 'the others went on to their end');
  });

  it('by an abort rejects with its reason, and keeps no descriptor', { skip: LINUX ? false : 'needs /proc' }, async (t) => {
    const directory = await withTemporaryDirectory(t);
    const archive = makeZip({ a: randomBytes(8_000_000), b: randomBytes(8_000_000) });
    for (const durable of [true, false]) {
      const controller = new AbortController();
      const reason = new Error('enough');
      let aborted = 0;
      const onProgress = ({ writtenBytes }: ExtractProgress): void => {
        if (writtenBytes < 4_000_000 || controller.signal.aborted) return;
        aborted = performance.now();
        controller.abort(reason);
      };
      await assert.rejects(unpack(directory, archive, { signal: controller.signal, onProgress, durable }), reason);
      // 100 ms are promised; the rest is for a machine that does other things as well.
      assert.ok(performance.now() - aborted < 1000);
      await until(() => openFilesBelow(directory).length === 0);
    }
    await assert.rejects(unpack(directory, archive, { signal: AbortSignal.abort(new Error('before')) }), /before/u);
  });

  it('by an abort while it reads headers, too', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const [zip, out] = [join(directory, 'a.zip'), join(directory, 'out')];
    await writeFile(zip, makeZip(Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`${index}`, '']))));
    await mkdir(out);
    const controller = new AbortController();
    const work = extractZip(zip, out, { signal: controller.signal });
    setImmediate(() => {
      controller.abort();
    });
    await assert.rejects(work, { name: 'AbortError' });
    assert.deepEqual(await readdir(out), []);
  });
});

describe('extractZip in memory', () => {
  it('stays small at any size of an entry', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const peak = async (name: string, bytes: number): Promise<number> => {
      const [zip, out] = [join(directory, `${name}.zip`), join(directory, name)];
      await writeFile(zip, makeZip({ [name]: { data: Buffer.alloc(bytes), raw: zeros(bytes) } }));
      await mkdir(out);
      return Number(execFileSync(process.execPath, [fileURLToPath(PROGRAM), zip, out], { encoding: 'utf8' }));
    };
    const [small, large] = [await peak('small', 2 ** 20), await peak('large', 128 * 2 ** 20)];
    assert.ok(large - small < 60_000, `${large - small} KiB more for 128 MiB than for 1 MiB`);
  });
});
