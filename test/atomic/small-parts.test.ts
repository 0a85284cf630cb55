import assert from 'node:assert/strict';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FileSystemError } from '../../src/errors.ts';
import { fileSystemKind, kindOfType } from '../../src/atomic/file-system-kind.ts';
import { renamePatiently } from '../../src/atomic/rename.ts';
import { syncTree } from '../../src/atomic/sync.ts';
import { temporaryName, uniqueName } from '../../src/atomic/unique-name.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { withTmpfs } from '../support/tmpfs.ts';

describe('uniqueName', () => {
  it('is 128 random bits in hexadecimal', () => {
    const names = new Set(Array.from({ length: 10_000 }, uniqueName));
    assert.equal(names.size, 10_000);
    for (const name of names) assert.match(name, /^[0-9a-f]{32}$/u);
  });

  it('fits the longest name into a temporary one, without cutting a character', () => {
    assert.match(temporaryName('file'), /^\.file\.[0-9a-f]{32}\.tmp$/u);
    for (const name of ['n'.repeat(255), 'ü'.repeat(127), '𝄞'.repeat(63)]) {
      const temporary = temporaryName(name);
      assert.ok(Buffer.byteLength(temporary) <= 255 && Buffer.byteLength(temporary) > 250);
      assert.equal(Buffer.from(temporary).toString(), temporary);
    }
  });
});

describe('fileSystemKind', () => {
  it('knows what this host has mounted', async (t) => {
    const directory = await withTmpfs(t, 65_536);
    if (directory === undefined) return;
    assert.deepEqual(await fileSystemKind(directory), { network: false, name: 'tmpfs' });
    await assert.rejects(fileSystemKind(join(directory, 'missing')), (error) => error instanceof FileSystemError && error.systemCode === 'ENOENT');
  });

  it('counts what hosts can share as network, and what it does not know', () => {
    for (const [type, name] of [
      [0x6969, 'nfs'],
      [0xff534d42, 'cifs'],
      [-0xacb2be, 'cifs'],
      [0xfe534d42, 'smb2'],
      [0x65735546, 'fuse'],
      [0xc36400, 'ceph'],
      [0xbd00bd0, 'lustre'],
      [0x1021997, '9p'],
      [0x12345678, '0x12345678'],
    ] as const) {
      assert.deepEqual(kindOfType(type), { network: true, name });
    }
    assert.deepEqual(kindOfType(0xef53), { network: false, name: 'ext4' });
  });
});

describe('renamePatiently', () => {
  const refuse = (times: number, code: string): { rename: () => Promise<void>; readonly calls: () => number } => {
    let calls = 0;
    return {
      calls: () => calls,
      rename: () => {
        calls += 1;
        return calls <= times ? Promise.reject(Object.assign(new Error(code), { code })) : Promise.resolve();
      },
    };
  };

  it('tries again on Windows while a file is held open, within its budget', async () => {
    for (const code of ['EPERM', 'EACCES', 'EBUSY']) {
      const held = refuse(3, code);
      await renamePatiently(held, 'a', 'b', undefined, 'win32');
      assert.equal(held.calls(), 4);
    }
    await assert.rejects(renamePatiently(refuse(Infinity, 'EPERM'), 'a', 'b', undefined, 'win32'), { code: 'EPERM' });
    const missing = refuse(1, 'ENOENT');
    await assert.rejects(renamePatiently(missing, 'a', 'b', undefined, 'win32'), { code: 'ENOENT' });
    assert.equal(missing.calls(), 1);
  });

  it('takes the first answer elsewhere', async () => {
    const refused = refuse(1, 'EACCES');
    await assert.rejects(renamePatiently(refused, 'a', 'b', undefined, 'linux'), { code: 'EACCES' });
    assert.equal(refused.calls(), 1);
  });
});

describe('syncTree', () => {
  it('goes through files, directories and links, and follows none', async (t) => {
    const directory = await withTemporaryDirectory(t);
    await mkdir(join(directory, 'a', 'b'), { recursive: true });
    for (let index = 0; index < 20; index += 1) await writeFile(join(directory, 'a', `${index}`), 'x', { mode: 0o444 });
    await symlink('nowhere', join(directory, 'dangling'));
    await syncTree(directory);
    assert.equal(await readFile(join(directory, 'a', '0'), 'utf8'), 'x');
    await rm(join(directory, 'a'), { recursive: true });
    await assert.rejects(syncTree(join(directory, 'a')), (error) => error instanceof FileSystemError && error.systemCode === 'ENOENT');
    const reason = new Error('enough');
    await assert.rejects(syncTree(directory, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
  });
});
