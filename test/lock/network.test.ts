/** Where a lock that others have to see may be taken; the mounts are lines of a mount table. On a real mount: test/nfs/mount-options.nfs.ts. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { LockUnsupportedError } from '../../src/errors.ts';
import { acquireKernelLock } from '../../src/lock/kernel-lock.ts';
import { parseMounts } from '../../src/lock/mount-options.ts';
import { onClusterOrLocal, onNetworkFileSystem } from '../../src/lock/network.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

const KERNEL = { mode: 'exclusive', leaseMs: 30_000, timeoutMs: 5000 } as const;

/** Answers as if a path lay on a network mount of this type and options. */
function mountedAs(type: string, options: string): (path: string) => Promise<boolean> {
  const [mount] = parseMounts(`40 27 0:50 / /mnt/cache rw - ${type} source ${options}`);
  return (path) => onClusterOrLocal(path, () => Promise.resolve(true), () => Promise.resolve(mount));
}

describe('a lock that all hosts have to see', () => {
  it('is taken on a local file system, whatever its mount options are', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'lock');
    assert.equal(await onClusterOrLocal(path), false);
    assert.equal(await onNetworkFileSystem(path), false);
  });

  it('is taken on a network file system that carries it to the others, and where nothing is known of the mount', async () => {
    for (const options of ['vers=4.1,local_lock=none', 'vers=4.1,nocto,soft', 'vers=3,local_lock=none']) assert.equal(await mountedAs('nfs4', options)('/mnt/cache/lock'), true);
    assert.equal(await mountedAs('fuse.fuse-overlayfs', 'rw')('/mnt/cache/lock'), true);
    assert.equal(await onClusterOrLocal('/mnt/cache/lock', () => Promise.resolve(true), () => Promise.resolve(undefined)), true);
  });

  it('is refused where it would reach only this host, and the message says why and what to choose', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'lock');
    for (const [type, options] of [['nfs', 'vers=3,nolock,local_lock=all'], ['nfs', 'vers=3,local_lock=posix'], ['cifs', 'nobrl'], ['fuse.sshfs', 'rw'], ['virtiofs', 'rw']] as const) {
      await assert.rejects(acquireKernelLock(path, KERNEL, mountedAs(type, options)), (error) => {
        assert.ok(error instanceof LockUnsupportedError);
        assert.match(error.message, /\/mnt\/cache.*choose strategy "kernel" .*"lease"/u);
        return true;
      });
    }
    // Nothing was left locked.
    await (await acquireKernelLock(path, { ...KERNEL, timeoutMs: 0 })).release();
  });
});
