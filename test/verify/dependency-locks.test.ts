import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, statfsSync, writeSync } from 'node:fs';
import { chmod, chown, lstat, mkdir, readdir, readFile, readlink, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { delay } from '../../src/abort.ts';
import { DependencyLocksError, FileSystemError, HclSyntaxError, InvalidOptionError, LockTimeoutError } from '../../src/errors.ts';
import { withLock } from '../../src/lock/index.ts';
import { readDependencyLocks, updateDependencyLocks, type DependencyLocks, type LockedProviderChange } from '../../src/verify/index.ts';
import { startChild } from '../support/child.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { withTmpfs } from '../support/tmpfs.ts';
import { providerBlock } from './lock-files.ts';

/** 500 for a full run: `RWX_CACHE_ROUNDS=500`. */
const ROUNDS = Number(process.env['RWX_CACHE_ROUNDS'] ?? 25);

const NAME = '.terraform.lock.hcl';

/** Makes the addon of kernel locks unloadable. */
const WITHOUT_ADDON = new URL('../lock/fixtures/without-addon.js', import.meta.url).href;

const change = (address = 'x.example/a/b', hashes = ['h1:a']): LockedProviderChange => ({ address, version: '1.0.0', hashes });

/** A lock file with one provider and a comment. */
async function withLockFile(t: TestContext, text = `# mine\n${providerBlock('  version = "1.0.0"')}`): Promise<{ directory: string; path: string; text: string }> {
  const directory = await withTemporaryDirectory(t);
  const path = join(directory, NAME);
  await writeFile(path, text);
  return { directory, path, text };
}

function plain({ providers }: DependencyLocks): unknown {
  return Array.from(providers, ([key, { version, constraints, hashes }]) => [key, String(version), constraints === undefined ? undefined : String(constraints), hashes]);
}

const isSystemError = (code: string) => (error: unknown) => error instanceof FileSystemError && error.systemCode === code;

describe('readDependencyLocks', () => {
  it('says what the file says', async (t) => {
    const { path } = await withLockFile(t, providerBlock('  version = "1.0.0"\n  constraints = "~> 1.0"\n  hashes = ["zh:b", "h1:a"]'));
    const locks = await readDependencyLocks(path);
    assert.equal(locks.path, path);
    assert.deepEqual(plain(locks), [['registry.opentofu.org/hashicorp/aws', '1.0.0', '~> 1.0', ['h1:a', 'zh:b']]]);
    assert.equal(String(locks.providers.get('registry.opentofu.org/hashicorp/aws')?.address), 'registry.opentofu.org/hashicorp/aws');
  });

  it('takes an empty file, and refuses a missing one and a directory', async (t) => {
    const { path, directory } = await withLockFile(t, '');
    assert.deepEqual(plain(await readDependencyLocks(path)), []);
    await assert.rejects(readDependencyLocks(join(directory, 'missing')), isSystemError('ENOENT'));
    await assert.rejects(readDependencyLocks(directory), isSystemError('EISDIR'));
  });

  it('names file, line and column of what is wrong', async (t) => {
    const { path } = await withLockFile(t, '# x\nprovider "a" {\n');
    await assert.rejects(readDependencyLocks(path), (error) => error instanceof HclSyntaxError && error.path === path && error.line === 3 && error.message.startsWith(`${path}:3:1: `));
    await writeFile(path, '# é\nprovider "a" {}\n');
    await assert.rejects(readDependencyLocks(path), (error) => error instanceof DependencyLocksError && error.path === path && error.line === 2 && error.column === 10);
    await writeFile(path, Buffer.concat([Buffer.from('# é\n# éx'), Buffer.from([0xc3]), Buffer.from('\n')]));
    await assert.rejects(readDependencyLocks(path), (error) => error instanceof DependencyLocksError && error.message === `${path}:2:5: it is not UTF-8 here`);
  });

  it('does not hang at a FIFO, and reads nothing that is too large', { skip: process.platform === 'win32' ? 'there are no FIFOs' : false }, async (t) => {
    const { directory, path } = await withLockFile(t);
    const fifo = join(directory, 'fifo');
    execFileSync('mkfifo', [fifo]);
    for (const call of [readDependencyLocks(fifo), updateDependencyLocks(fifo, () => [change()])]) {
      await assert.rejects(call, (error) => error instanceof DependencyLocksError && error.line === undefined && error.message === `${fifo}: it is no regular file`);
    }
    await truncate(path, 16 * 2 ** 20 + 1);
    await assert.rejects(readDependencyLocks(path), /it has 16777217 bytes, and a lock file has at most 16777216/u);
    await truncate(path, 0);
    assert.deepEqual(plain(await readDependencyLocks(path)), []);
  });

  it('rejects with the reason of its signal', async (t) => {
    const { path } = await withLockFile(t);
    const reason = new Error('enough');
    await assert.rejects(readDependencyLocks(path, { signal: AbortSignal.abort(reason) }), reason);
  });
});

describe('updateDependencyLocks', () => {
  it('tells what is there, and writes what it is told', async (t) => {
    const { path, text } = await withLockFile(t);
    const seen: unknown[] = [];
    const answer = await updateDependencyLocks(path, async (locks) => {
      seen.push(plain(locks));
      await Promise.resolve();
      return [change('registry.opentofu.org/hashicorp/zzz', ['zh:b', 'h1:a'])];
    });
    assert.deepEqual(answer, { changed: true });
    assert.deepEqual(seen, [[['registry.opentofu.org/hashicorp/aws', '1.0.0', undefined, []]]]);
    assert.equal(await readFile(path, 'utf8'), `${text}\n${providerBlock('  version = "1.0.0"\n  hashes = [\n    "h1:a",\n    "zh:b",\n  ]', 'registry.opentofu.org/hashicorp/zzz')}`);
  });

  it('makes a missing file, with the header of the program that its providers suggest, and not without a provider', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, NAME);
    assert.deepEqual(await updateDependencyLocks(path, () => []), { changed: false });
    await assert.rejects(stat(path), { code: 'ENOENT' });
    for (const [address, tool, expected] of [
      ['registry.terraform.io/a/b', undefined, 'terraform'],
      ['registry.opentofu.org/a/b', undefined, 'tofu'],
      ['x.example/a/b', undefined, 'tofu'],
      ['x.example/a/b', 'terraform', 'terraform'],
    ] as const) {
      await rm(path, { force: true });
      assert.deepEqual(await updateDependencyLocks(path, () => [change(address)], { tool }), { changed: true });
      assert.equal((await readFile(path, 'utf8')).split('\n')[0], `# This file is maintained automatically by "${expected} init".`);
    }
    const plainFile = join(directory, 'plain');
    await writeFile(plainFile, '', { mode: 0o644 });
    assert.equal((await stat(path)).mode, (await stat(plainFile)).mode);
    await rm(plainFile);
    await assert.rejects(updateDependencyLocks(join(directory, 'missing', NAME), () => [change()]), isSystemError('ENOENT'));
    assert.deepEqual((await readdir(directory)).sort(), ['.terraform', NAME], 'nothing else is left, and nothing was made for the directory that is missing');
  });

  it('touches nothing when nothing changes: same inode, same times', async (t) => {
    const { path } = await withLockFile(t);
    await updateDependencyLocks(path, () => [{ ...change(), constraints: '1.0.0' }]);
    await utimes(path, 1_000_000, 1_000_000);
    const before = await stat(path, { bigint: true });
    for (const changes of [[], [change()], [change('x.example/a/b', [])], [{ ...change(), constraints: '= 1' }]]) assert.deepEqual(await updateDependencyLocks(path, () => changes), { changed: false });
    assert.deepEqual(await updateDependencyLocks(path, ({ providers }) => [...providers.values()]), { changed: false });
    const after = await stat(path, { bigint: true });
    assert.deepEqual([after.ino, after.mtimeNs, after.ctimeNs], [before.ino, before.mtimeNs, before.ctimeNs]);
  });

  it('keeps mode and owner, whatever the umask', { skip: process.platform === 'win32' ? 'there are no modes' : false }, async (t) => {
    const { path } = await withLockFile(t);
    const isRoot = process.getuid?.() === 0;
    for (const mode of [0o666, 0o600, 0o444]) {
      if (isRoot) await chown(path, 12345, 54321);
      await chmod(path, mode);
      const before = await stat(path);
      assert.deepEqual(await updateDependencyLocks(path, () => [change('x.example/a/b', [`h1:${mode}`])]), { changed: true });
      const after = await stat(path);
      assert.notEqual(after.ino, before.ino);
      assert.deepEqual([after.mode & 0o777, after.uid, after.gid], [mode, before.uid, before.gid]);
    }
  });

  it('writes through symbolic links, also to a target that is not there yet, and locks beside the target', { skip: process.platform === 'win32' ? 'links need rights there' : false }, async (t) => {
    const { directory, path, text } = await withLockFile(t);
    await mkdir(join(directory, 'work'));
    await symlink('work', join(directory, 'link'));
    const [linked, dangling] = [join(directory, 'work', NAME), join(directory, 'dangling')];
    await symlink(`../${NAME}`, linked);
    await symlink('work/later.hcl', dangling);
    assert.deepEqual(await updateDependencyLocks(join(directory, 'link', NAME), () => [change()]), { changed: true });
    assert.equal(await readlink(linked), `../${NAME}`);
    assert.ok((await lstat(path)).isFile());
    assert.ok((await readFile(path, 'utf8')).startsWith(text));
    assert.deepEqual(await updateDependencyLocks(dangling, () => [change()]), { changed: true });
    assert.equal(await readlink(dangling), 'work/later.hcl');
    assert.ok((await lstat(join(directory, 'work/later.hcl'))).isFile());
    assert.ok((await lstat(join(directory, '.terraform', `${NAME}.lock`))).isFile());
    await symlink('loop', join(directory, 'loop'));
    await assert.rejects(updateDependencyLocks(join(directory, 'loop'), () => [change()]), isSystemError('ELOOP'));
  });

  it('takes no answer that a lock file cannot hold, and leaves the file', async (t) => {
    const { path, text } = await withLockFile(t);
    for (const [wrong, says] of [
      [change('hashicorp/aws'), /must be written in full/u],
      [change('x.example/a/b c'), /a provider address is not valid/u],
      [change('terraform.io/builtin/terraform'), /built into the client/u],
      [change('registry.opentofu.org/-/aws'), /legacy namespace/u],
      [{ ...change(), version: '~> 1.0' }, /the version of x\.example\/a\/b is not valid/u],
      [{ ...change(), constraints: 'x' }, /the constraints of x\.example\/a\/b is not valid/u],
      [change('x.example/a/b', ['a']), /a hash of x\.example\/a\/b is not valid/u],
    ] as const) {
      await assert.rejects(
        updateDependencyLocks(path, () => [wrong]),
        (error) => error instanceof InvalidOptionError && says.test(error.message),
      );
    }
    await assert.rejects(updateDependencyLocks(path, () => [change(), { ...change(), version: '1.0.1' }]), /two versions of x\.example\/a\/b: 1\.0\.0 and 1\.0\.1/u);
    const reason = new Error('no');
    await assert.rejects(
      updateDependencyLocks(path, () => {
        throw reason;
      }),
      reason,
    );
    await assert.rejects(updateDependencyLocks(path, () => [change()], { tool: 'other' as 'tofu' }), InvalidOptionError);
    assert.equal(await readFile(path, 'utf8'), text);
    // The lock was given back each time.
    assert.deepEqual(await updateDependencyLocks(path, () => [change()], { timeoutMs: 0 }), { changed: true });
  });

  it('writes nothing into a file that is malformed', async (t) => {
    const { path, text } = await withLockFile(t, providerBlock('  version = "1.0"'));
    await assert.rejects(updateDependencyLocks(path, () => [change()]), DependencyLocksError);
    await writeFile(path, `${text}<<<<<<< HEAD\n`);
    await assert.rejects(updateDependencyLocks(path, () => [change()]), HclSyntaxError);
    assert.equal(await readFile(path, 'utf8'), `${text}<<<<<<< HEAD\n`);
  });

  it('asks again when another program has written meanwhile, and loses nothing of it', async (t) => {
    const { path } = await withLockFile(t);
    const seen: number[] = [];
    const answer = await updateDependencyLocks(path, async ({ providers }) => {
      seen.push(providers.size);
      if (seen.length === 1) await writeFile(path, `${await readFile(path, 'utf8')}\n${providerBlock('  version = "1.0.0"', 'other.example/a/b')}`);
      if (seen.length === 2) await rm(path);
      return [change()];
    });
    assert.deepEqual([answer, seen], [{ changed: true }, [1, 2, 0]]);
    let times = 0;
    const restless = updateDependencyLocks(path, async () => {
      times += 1;
      await writeFile(path, `# ${times}\n`);
      return [];
    });
    await assert.rejects(restless, /another program keeps writing it/u);
    assert.equal(await readFile(path, 'utf8'), `# ${times}\n`);
  });

  it('waits for another update, within its limits', async (t) => {
    const { directory, path, text } = await withLockFile(t);
    await mkdir(join(directory, '.terraform'));
    await withLock(join(directory, '.terraform', `${NAME}.lock`), async () => {
      await assert.rejects(updateDependencyLocks(path, () => [change()], { timeoutMs: 50 }), LockTimeoutError);
      const leaving = new AbortController();
      const waiting = updateDependencyLocks(path, () => [change()], { signal: leaving.signal });
      leaving.abort(new Error('enough'));
      await assert.rejects(waiting, /enough/u);
    });
    assert.equal(await readFile(path, 'utf8'), text);
  });

  it('ends with its signal while the change is being made, and writes nothing', async (t) => {
    const { path, text } = await withLockFile(t);
    const leaving = new AbortController();
    const call = updateDependencyLocks(
      path,
      () => {
        leaving.abort(new Error('enough'));
        return new Promise(() => undefined);
      },
      { signal: leaving.signal },
    );
    await assert.rejects(call, /enough/u);
    assert.equal(await readFile(path, 'utf8'), text);
    assert.deepEqual(await updateDependencyLocks(path, () => [change()]), { changed: true });
  });

  it('leaves the old file whole on a full disk, and no other', async (t) => {
    const disk = await withTmpfs(t, 2 ** 20);
    if (disk === undefined) return;
    const path = join(disk, NAME);
    const many = Array.from({ length: 200 }, (_, index) => change(`x.example/a/p${index}`, Array.from({ length: 12 }, (_unused, at) => `zh:${String(at).repeat(64)}`)));
    await updateDependencyLocks(path, () => many);
    const text = await readFile(path, 'utf8');
    const filler = openSync(join(disk, 'filler'), 'a');
    const { bavail, bsize } = statfsSync(disk);
    for (let page = 0; page < bavail - 2; page += 1) writeSync(filler, Buffer.alloc(bsize, 1));
    closeSync(filler);
    const before = await stat(path, { bigint: true });
    await assert.rejects(updateDependencyLocks(path, () => [change()]), isSystemError('ENOSPC'));
    const after = await stat(path, { bigint: true });
    assert.deepEqual([after.ino, after.mtimeNs], [before.ino, before.mtimeNs]);
    assert.equal(await readFile(path, 'utf8'), text);
    assert.deepEqual((await readdir(disk)).sort(), ['.terraform', NAME, 'filler']);
    await rm(join(disk, 'filler'));
    assert.deepEqual(await updateDependencyLocks(path, () => [change()]), { changed: true });
    assert.equal((await readDependencyLocks(path)).providers.size, 201);
  });

  it('two processes at one file at once: no entry and no hash is lost, and a reader sees whole files only', { timeout: 600_000 }, async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, NAME);
    const names = ['one', 'two'];
    const writers = names.map((name) => startChild(t, new URL('./fixtures/update-locks.js', import.meta.url), [path, name, String(ROUNDS)]));
    for (const writer of writers) assert.equal(await writer.message(), 'ready');
    for (const writer of writers) writer.process.send('go');
    const state = { ended: false };
    const all = Promise.all(writers.map((writer) => writer.message())).then((messages) => {
      state.ended = true;
      return messages;
    });
    let reads = 0;
    const reading = (async () => {
      while (!state.ended) {
        const size = await readDependencyLocks(path).then(({ providers }) => providers.size, (error: unknown) => (isSystemError('ENOENT')(error) ? 0 : Promise.reject(error as Error)));
        reads += Number(size > 0);
        await delay(2);
      }
    })();
    assert.deepEqual(await all, [{ fallbacks: 0 }, { fallbacks: 0 }]);
    await reading;
    for (const writer of writers) assert.deepEqual(await writer.ended, { code: 0, signal: null });
    assert.ok(reads > 0);
    const { providers } = await readDependencyLocks(path);
    const rounds = Array.from({ length: ROUNDS }, (_, round) => round);
    assert.equal(providers.size, 2 * ROUNDS + 1);
    for (const name of names) {
      for (const round of rounds) assert.deepEqual(providers.get(`${name}.example/own/p${round}`)?.hashes, [`h1:${name}`]);
    }
    assert.deepEqual(providers.get('shared.example/all/p')?.hashes, names.flatMap((name) => rounds.map((round) => `h1:${name}${round}`)).sort());
    // As if one had written it at once.
    const copy = join(directory, 'copy.hcl');
    await updateDependencyLocks(copy, () => [...providers.values()]);
    assert.equal(await readFile(path, 'utf8'), await readFile(copy, 'utf8'));
    assert.deepEqual((await readdir(directory)).sort(), ['.terraform', NAME, 'copy.hcl']);
  });

  it('takes turns by leases where there are no kernel locks, and says so', async (t) => {
    const path = join(await withTemporaryDirectory(t), NAME);
    const env = { ...process.env, NODE_OPTIONS: `--import ${WITHOUT_ADDON}` };
    const writers = ['one', 'two'].map((name) => startChild(t, new URL('./fixtures/update-locks.js', import.meta.url), [path, name, '3'], { env }));
    for (const writer of writers) assert.equal(await writer.message(), 'ready');
    for (const writer of writers) writer.process.send('go');
    for (const writer of writers) assert.deepEqual(await writer.message(), { fallbacks: 3 });
    const { providers } = await readDependencyLocks(path);
    assert.equal(providers.size, 7);
    assert.equal(providers.get('shared.example/all/p')?.hashes.length, 6);
  });

  it('calls of one process take turns, too', async (t) => {
    const { path } = await withLockFile(t);
    await Promise.all(Array.from({ length: 20 }, (_, index) => updateDependencyLocks(path, () => [change(`x.example/a/p${index}`)])));
    assert.equal((await readDependencyLocks(path)).providers.size, 21);
  });
});
