import assert from 'node:assert/strict';
import { link, lstat, mkdir, readFile, readdir, rename, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FileSystemError, InvalidOptionError } from '../../src/errors.ts';
import { systemCalls } from '../../src/atomic/calls.ts';
import { writeFileAtomic, writeFileAtomicWith } from '../../src/atomic/write-file-atomic.ts';
import type { FileData } from '../../src/atomic/write-file-atomic.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { withTmpfs } from '../support/tmpfs.ts';

async function* chunksOf(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text));
}

/** A stream that gives one chunk and then nothing, for ever. */
async function* stalled(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('beginning');
  await new Promise(() => undefined);
}

function isFileSystemError(systemCode: string, path: string): (error: unknown) => boolean {
  return (error) => error instanceof FileSystemError && error.systemCode === systemCode && error.path === path;
}

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: answered to a second copy of the request`), { code });
}

describe('writeFileAtomic', () => {
  it('writes text, bytes, views by their byteLength and streams, and leaves nothing else', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, 'file');
    const large = Buffer.alloc(3 * 1024 * 1024 + 1, 'x');
    const cases: [FileData, Buffer][] = [
      ['grüße', Buffer.from('grüße')],
      ['', Buffer.alloc(0)],
      [large, large],
      [new Uint16Array([1, 2, 3, 4]), Buffer.from([1, 0, 2, 0, 3, 0, 4, 0])],
      [new DataView(new ArrayBuffer(8), 2, 3), Buffer.alloc(3)],
      [chunksOf('one ', '', 'two'), Buffer.from('one two')],
      [chunksOf(), Buffer.alloc(0)],
    ];
    for (const durable of [true, false]) {
      for (const [data, expected] of cases.slice(0, durable ? 7 : 5)) {
        assert.deepEqual(await writeFileAtomic(path, data, { durable }), { published: true });
        assert.deepEqual(await readFile(path), expected);
        assert.deepEqual(await readdir(directory), ['file']);
      }
    }
  });

  it('keeps what is there when told to, also a dangling link or a directory', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, 'file');
    assert.deepEqual(await writeFileAtomic(path, 'first', { ifExists: 'keep' }), { published: true });
    assert.deepEqual(await writeFileAtomic(path, 'second', { ifExists: 'keep' }), { published: false });
    assert.equal(await readFile(path, 'utf8'), 'first');
    assert.equal((await stat(path)).nlink, 1);
    await symlink('nowhere', join(directory, 'link'));
    assert.deepEqual(await writeFileAtomic(join(directory, 'link'), 'x', { ifExists: 'keep' }), { published: false });
    await mkdir(join(directory, 'directory'));
    assert.deepEqual(await writeFileAtomic(join(directory, 'directory'), 'x', { ifExists: 'keep' }), { published: false });
    assert.deepEqual((await readdir(directory)).sort(), ['directory', 'file', 'link']);
  });

  it('replaces a symbolic link itself and never writes through it', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await writeFile(join(directory, 'victim'), 'untouched');
    await symlink('victim', join(directory, 'link'));
    await writeFileAtomic(join(directory, 'link'), 'new');
    assert.equal(await readFile(join(directory, 'victim'), 'utf8'), 'untouched');
    assert.ok((await lstat(join(directory, 'link'))).isFile());
  });

  it('gives the mode asked for less the umask, whatever was there, from the first moment', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, 'file');
    const before = process.umask(0o027);
    t.after(() => process.umask(before));
    const seen: number[] = [];
    const calls = {
      ...systemCalls,
      rename: async (from: string, to: string) => {
        seen.push((await stat(from)).mode & 0o7777);
        await rename(from, to);
      },
    };
    for (const [mode, expected] of [[undefined, 0o640], [0o600, 0o600], [0o444, 0o440], [0o777, 0o750]] as const) {
      await writeFileAtomicWith(calls, path, 'x', { mode });
      assert.equal((await stat(path)).mode & 0o7777, expected);
      assert.equal(seen.pop(), expected);
    }
  });

  it('looks like another file where that is asked for: mode whatever the umask, and owner as far as that is allowed', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, 'file');
    const before = process.umask(0o077);
    t.after(() => process.umask(before));
    const { uid, gid } = await stat(directory);
    const owners = process.getuid?.() === 0 ? [{ uid, gid }, { uid: 12345, gid: 54321 }] : [{ uid, gid }];
    const seen: unknown[] = [];
    const calls = {
      ...systemCalls,
      rename: async (from: string, to: string) => {
        const there = await stat(from);
        seen.push([there.mode & 0o7777, there.uid, there.gid]);
        await rename(from, to);
      },
    };
    for (const owner of owners) {
      for (const mode of [0o100666, 0o100640, 0o100444]) {
        await writeFileAtomicWith(calls, path, 'x', { mode: 0o600, like: { mode, ...owner } });
        assert.deepEqual(seen.pop(), [mode & 0o777, owner.uid, owner.gid]);
        assert.equal(await readFile(path, 'utf8'), 'x');
      }
    }
  });

  it('takes names as long as the file system does', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (const name of ['n'.repeat(255), 'ü'.repeat(127), '𝄞'.repeat(63)]) {
      await writeFileAtomic(join(directory, name), 'x');
    }
    assert.equal((await readdir(directory)).length, 3);
    const tooLong = join(directory, 'n'.repeat(256));
    await assert.rejects(writeFileAtomic(tooLong, 'x'), isFileSystemError('ENAMETOOLONG', tooLong));
    assert.equal((await readdir(directory)).length, 3);
  });

  it('rejects with a typed error and makes no parent directories', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (const durable of [true, false]) {
      const missing = join(directory, 'missing', 'file');
      await assert.rejects(writeFileAtomic(missing, 'x', { durable }), isFileSystemError('ENOENT', missing));
      const taken = join(directory, 'taken');
      await mkdir(taken, { recursive: true });
      await assert.rejects(writeFileAtomic(taken, 'x', { durable }), isFileSystemError('EISDIR', taken));
    }
    assert.deepEqual(await readdir(directory), ['taken']);
  });

  it('refuses data and options of no known form before it touches the disk', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, 'file');
    await assert.rejects(writeFileAtomic(path, undefined as unknown as string), InvalidOptionError);
    await assert.rejects(writeFileAtomic(path, { length: 3 } as unknown as string), InvalidOptionError);
    await assert.rejects(writeFileAtomic(path, 'x', { mode: 0o1777 }), InvalidOptionError);
    await assert.rejects(writeFileAtomic(path, 'x', { ifExists: 'append' as 'keep' }), InvalidOptionError);
    assert.deepEqual(await readdir(directory), []);
  });

  it('takes nothing from and leaves nothing in the options', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const before = process.umask(0o022);
    t.after(() => process.umask(before));
    await writeFile(join(directory, 'private'), 'x', { mode: 0o600 });
    const options = Object.freeze({ durable: false });
    await writeFileAtomic(join(directory, 'private'), 'x', options);
    await writeFileAtomic(join(directory, 'public'), 'x', options);
    assert.equal((await stat(join(directory, 'public'))).mode & 0o777, 0o644);
  });

  it("passes a stream's own error through, closes the stream, and leaves the target", async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, 'file');
    await writeFile(path, 'old');
    const broken = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    async function* breaks(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(Buffer.from('half'));
      throw broken;
    }
    await assert.rejects(writeFileAtomic(path, breaks()), (error) => error === broken);
    let closed = false;
    async function* wrong(): AsyncGenerator<Uint8Array> {
      try {
        yield await Promise.resolve(7 as unknown as Uint8Array);
      } finally {
        closed = true;
      }
    }
    await assert.rejects(writeFileAtomic(path, wrong()), InvalidOptionError);
    assert.equal(closed, true);
    assert.equal(await readFile(path, 'utf8'), 'old');
    assert.deepEqual(await readdir(directory), ['file']);
  });

  it('rejects with the reason of its signal, also while a stream stalls, and leaves nothing', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, 'file');
    const reason = new Error('enough');
    await assert.rejects(writeFileAtomic(path, 'x', { signal: AbortSignal.abort(reason) }), (error) => error === reason);
    const controller = new AbortController();
    const work = writeFileAtomic(path, stalled(), { signal: controller.signal });
    while ((await readdir(directory)).length === 0) await new Promise((resolve) => setImmediate(resolve));
    const begun = performance.now();
    controller.abort(reason);
    await assert.rejects(work, (error) => error === reason);
    assert.ok(performance.now() - begun < 1000, 'the promise is 100 ms; a loaded machine gets more');
    assert.deepEqual(await readdir(directory), []);
  });

  it('rejects on abort though the file system hangs', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const controller = new AbortController();
    const reason = new Error('enough');
    let comeBack: () => void = () => undefined;
    const back = new Promise<void>((resolve) => {
      comeBack = resolve;
    });
    const hanging = {
      ...systemCalls,
      rename: async () => {
        controller.abort(reason);
        await back;
        throw failure('EIO');
      },
    };
    await assert.rejects(writeFileAtomicWith(hanging, join(directory, 'file'), 'x', { signal: controller.signal }), (error) => error === reason);
    // The mount comes back, and what was left behind is cleaned up in the background.
    comeBack();
    while ((await readdir(directory)).length > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('reports a full disk as ENOSPC, with the target as it was and no temporary file', async (t) => {
    const directory = await withTmpfs(t, 8 * 1024 * 1024);
    if (directory === undefined) return;
    const path = join(directory, 'file');
    await writeFileAtomic(path, 'old');
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield await Promise.resolve(Buffer.alloc(300_000));
    }
    for (const data of [() => Buffer.alloc(10 * 1024 * 1024), () => 'x'.repeat(10 * 1024 * 1024), endless]) {
      for (const ifExists of ['replace', 'keep'] as const) {
        await assert.rejects(writeFileAtomic(path, data(), { ifExists }), isFileSystemError('ENOSPC', path));
        assert.deepEqual(await readdir(directory), ['file']);
      }
    }
    assert.equal(await readFile(path, 'utf8'), 'old');
    await writeFileAtomic(path, Buffer.alloc(7 * 1024 * 1024));
  });

  describe('after an ambiguous answer', () => {
    const lateRename = {
      ...systemCalls,
      rename: async (from: string, to: string) => {
        await rename(from, to);
        throw failure('ENOENT');
      },
    };

    it('has published when the rename was executed before it said ENOENT', async (t) => {
      const path = join(await withTemporaryDirectory(t), 'file');
      for (const data of ['text', Buffer.from('bytes'), new Uint16Array(4), chunksOf('a', 'stream')]) {
        assert.deepEqual(await writeFileAtomicWith(lateRename, path, data, {}), { published: true });
      }
    });

    it('has not when the temporary file was taken away, or when another is in the place', async (t) => {
      const directory = await withTemporaryDirectory(t);
      const path = join(directory, 'file');
      const swept = { ...systemCalls, rename: async (from: string, to: string) => unlink(from).then(() => rename(from, to)) };
      for (const data of ['text', chunksOf('a', 'stream')]) {
        await assert.rejects(writeFileAtomicWith(swept, path, data, {}), isFileSystemError('ENOENT', path));
        await writeFile(path, "another's");
        await assert.rejects(writeFileAtomicWith(swept, path, data === 'text' ? data : chunksOf('b'), {}), isFileSystemError('ENOENT', path));
        await unlink(path);
      }
    });

    it("has published when the link was executed before it said EEXIST, and has not when it is another's", async (t) => {
      const directory = await withTemporaryDirectory(t);
      const path = join(directory, 'file');
      const lateLink = {
        ...systemCalls,
        link: async (from: string, to: string) => {
          await link(from, to);
          throw failure('EEXIST');
        },
      };
      assert.deepEqual(await writeFileAtomicWith(lateLink, path, 'same', { ifExists: 'keep' }), { published: true });
      assert.deepEqual(await writeFileAtomicWith(lateLink, path, 'same', { ifExists: 'keep' }), { published: false });
      const stale = {
        ...systemCalls,
        link: async (from: string, to: string) => {
          await link(from, to);
          throw failure('Unknown system error -116');
        },
      };
      await unlink(path);
      assert.deepEqual(await writeFileAtomicWith(stale, path, 'same', { ifExists: 'keep' }), { published: true });
      assert.deepEqual(await readdir(directory), ['file']);
    });

    it('links again when what was there went away meanwhile, and not for ever', async (t) => {
      const directory = await withTemporaryDirectory(t);
      const path = join(directory, 'file');
      let refusals = 2;
      let links = 0;
      const fleeting = {
        ...systemCalls,
        link: async (from: string, to: string) => {
          links += 1;
          refusals -= 1;
          if (refusals >= 0) throw failure('EEXIST');
          await link(from, to);
        },
      };
      assert.deepEqual(await writeFileAtomicWith(fleeting, path, 'x', { ifExists: 'keep' }), { published: true });
      refusals = Infinity;
      links = 0;
      await assert.rejects(writeFileAtomicWith(fleeting, join(directory, 'never'), 'x', { ifExists: 'keep' }), isFileSystemError('EEXIST', join(directory, 'never')));
      assert.ok(links < 10);
      assert.deepEqual(await readdir(directory), ['file']);
    });

    it("refuses 'keep' where there are no hard links, and changes nothing", async (t) => {
      const directory = await withTemporaryDirectory(t);
      const path = join(directory, 'file');
      for (const code of ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS']) {
        const calls = { ...systemCalls, link: () => Promise.reject(failure(code)) };
        await assert.rejects(writeFileAtomicWith(calls, path, 'x', { ifExists: 'keep' }), isFileSystemError('ENOTSUP', path));
      }
      assert.deepEqual(await readdir(directory), []);
    });
  });
});
