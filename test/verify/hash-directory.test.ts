import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { FileSystemError, UnreadableDirectoryError } from '../../src/errors.ts';
import { hashDirectory, packageHashFromFiles } from '../../src/verify/index.ts';
import { openFilesBelow } from '../support/open-files.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { H1_VECTORS } from './vectors.ts';

const POSIX = process.platform !== 'win32';

async function write(root: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    if (!name.endsWith('/')) await writeFile(join(root, name), content);
  }
}

async function unreadable(t: TestContext, make: (root: string) => Promise<unknown>, problem: RegExp): Promise<void> {
  const root = await withTemporaryDirectory(t);
  await writeFile(join(root, 'good'), '');
  await make(root);
  await assert.rejects(hashDirectory(root), (error: unknown) => {
    assert.ok(error instanceof UnreadableDirectoryError, String(error));
    assert.match(error.message, problem);
    return true;
  });
}

describe('hashDirectory', () => {
  for (const { name, files, h1 } of H1_VECTORS.filter(({ name: vector }) => !vector.includes('zip'))) {
    it(`is the reference's of "${name}"`, async (t) => {
      const root = await withTemporaryDirectory(t);
      await write(root, files);
      assert.equal(await hashDirectory(root), h1);
    });
  }

  it('does not count empty directories', async (t) => {
    const root = await withTemporaryDirectory(t);
    await write(root, { a: 'A' });
    const before = await hashDirectory(root);
    await mkdir(join(root, 'empty/deep'), { recursive: true });
    assert.equal(await hashDirectory(root), before);
  });

  it('resolves a link at the root, and hashes links to files by what they lead to', async (t) => {
    const root = await withTemporaryDirectory(t);
    await write(root, { 'real/real': 'R' });
    await symlink('real', join(root, 'real/link'));
    await symlink('real', join(root, 'entry'));
    const expected = H1_VECTORS.find(({ name }) => name.startsWith('symlink to file'))?.h1;
    assert.equal(await hashDirectory(join(root, 'real')), expected);
    assert.equal(await hashDirectory(join(root, 'entry')), expected);
    assert.equal(await hashDirectory(`${join(root, 'entry')}/`), expected);
  });

  it("hashes files longer than a piece, and of a piece's length exactly", async (t) => {
    const root = await withTemporaryDirectory(t);
    const contents = [2 ** 20 - 1, 2 ** 20, 2 ** 20 + 1, 3 * 2 ** 20].map((length) => randomBytes(length));
    const files = contents.map((content, index) => ({ name: `${index}`, sha256: createHash('sha256').update(content).digest('hex') }));
    await write(root, Object.fromEntries(contents.map((content, index) => [`${index}`, content])));
    assert.equal(await hashDirectory(root), packageHashFromFiles(files));
  });

  it('takes names that are not UTF-8 as the bytes that they are', { skip: process.platform === 'linux' ? false : 'file systems elsewhere want Unicode' }, async (t) => {
    const root = await withTemporaryDirectory(t);
    const name = Buffer.from([0x61, 0xff, 0xfe]);
    await writeFile(Buffer.concat([Buffer.from(`${root}/`), name]), 'A');
    const sha256 = '559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd';
    assert.equal(await hashDirectory(root), packageHashFromFiles([{ name, sha256 }]));
    assert.notEqual(await hashDirectory(root), packageHashFromFiles([{ name: name.toString(), sha256 }]));
  });

  it('counts what an NFS client keeps of removed files, since the reference does', async (t) => {
    const root = await withTemporaryDirectory(t);
    await write(root, { a: 'A' });
    const before = await hashDirectory(root);
    await write(root, { '.nfs000000000001e24000000001': 'A' });
    assert.notEqual(await hashDirectory(root), before);
  });
});

describe('hashDirectory refuses', { skip: POSIX ? false : 'needs POSIX files' }, () => {
  it('a dangling link', async (t) => {
    await unreadable(t, (root) => symlink('nowhere', join(root, 'link')), /leads nowhere/u);
  });

  it('a link in a circle', async (t) => {
    await unreadable(t, (root) => symlink('link', join(root, 'link')), /leads nowhere/u);
  });

  it('a link to a directory', async (t) => {
    await unreadable(t, (root) => symlink('.', join(root, 'link')), /link to a directory/u);
  });

  it('a line break in the name of a file or directory', async (t) => {
    await unreadable(t, (root) => writeFile(join(root, 'a\nb'), ''), /line break/u);
    await unreadable(t, (root) => write(root, { 'a\nb/c': '' }), /line break/u);
  });

  it('a FIFO, without waiting for its writer', async (t) => {
    await unreadable(t, (root) => Promise.resolve(execFileSync('mkfifo', [join(root, 'fifo')])), /neither a file nor a directory/u);
  });

  it('a socket', async (t) => {
    const server = createServer();
    t.after(() => server.close());
    await unreadable(t, (root) => new Promise<void>((resolve) => server.listen(join(root, 'socket'), resolve)), /neither a file nor a directory/u);
  });

  it('what is no directory, or not there', async (t) => {
    const root = await withTemporaryDirectory(t);
    await write(root, { file: 'F' });
    await assert.rejects(hashDirectory(join(root, 'file')), UnreadableDirectoryError);
    for (const name of ['none', 'dangling']) {
      if (name === 'dangling') await symlink('none', join(root, name));
      await assert.rejects(hashDirectory(join(root, name)), (error: unknown) => error instanceof FileSystemError && error.systemCode === 'ENOENT');
    }
  });
});

describe('hashDirectory that is aborted', () => {
  it('rejects with the reason, and closes what it opened', async (t) => {
    const root = await withTemporaryDirectory(t);
    await write(root, { a: randomBytes(8_000_000), b: randomBytes(8_000_000) });
    const controller = new AbortController();
    const work = hashDirectory(root, { signal: controller.signal });
    setImmediate(() => {
      controller.abort(new Error('enough'));
    });
    await assert.rejects(work, /enough/u);
    await assert.rejects(hashDirectory(root, { signal: controller.signal }), /enough/u);
    if (process.platform !== 'linux') return;
    const end = performance.now() + 10_000;
    while (openFilesBelow(root).length > 0) {
      assert.ok(performance.now() < end, 'a descriptor stays open');
      await new Promise(setImmediate);
    }
  });
});
