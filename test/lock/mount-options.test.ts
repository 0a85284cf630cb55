import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isOfThisHost, lockReach, mountAt, mountOf, parseMounts, type LockReach, type Mount } from '../../src/lock/mount-options.ts';

const TABLE = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 27 0:50 / /mnt/cache rw,relatime shared:7 master:2 - nfs4 server:/export rw,vers=4.1,rsize=1048576,hard,proto=tcp,timeo=600,local_lock=none,addr=10.0.0.1
41 40 0:51 / /mnt/cache/with\\040space ro - tmpfs tmpfs rw
42 27 0:52 / /mnt/cache2 rw - cifs //server/share rw,vers=3.1.1,nobrl
43 42 0:53 / /mnt/cache2 rw - nfs server:/b rw,vers=3,nolock,local_lock=all
`;

function mountedAs(type: string, options: string): Mount {
  const mount = parseMounts(`40 27 0:50 / /mnt rw - ${type} source ${options}`)[0];
  assert.ok(mount);
  return mount;
}

/** What a mount of this type with these options is found to be. */
function reach(type: string, options: string): LockReach {
  return lockReach(mountedAs(type, options));
}

describe('the mounts of a host', () => {
  const mounts = parseMounts(TABLE);

  it('are read from mountinfo', () => {
    assert.equal(mounts.length, 6);
    assert.equal(mounts[2]?.type, 'nfs4');
    assert.equal(mounts[2].options.get('vers'), '4.1');
    assert.equal(mounts[2].options.get('hard'), '');
    assert.equal(mounts[3]?.mountPoint, '/mnt/cache/with space');
    assert.deepEqual(parseMounts('\nnonsense\n1 2 3\n'), []);
  });

  it('are found by the longest path, and the topmost of several at one', () => {
    assert.equal(mountAt(mounts, '/mnt/cache/providers')?.type, 'nfs4');
    assert.equal(mountAt(mounts, '/mnt/cache')?.type, 'nfs4');
    assert.equal(mountAt(mounts, '/mnt/cache/with space/x')?.type, 'tmpfs');
    assert.equal(mountAt(mounts, '/mnt/cache2/x')?.type, 'nfs');
    assert.equal(mountAt(mounts, '/mnt/cache3')?.type, 'ext4');
  });

  it('are those of this host', async (t) => {
    const mount = await mountOf('/proc/self');
    if (mount === undefined) t.skip('needs /proc');
    else assert.equal(mount.type, 'proc');
    assert.equal(await mountOf('/no/such/path'), undefined);
  });
});

describe('the reach of a mount’s locks', () => {
  it('is the cluster on NFSv4.1 and 4.2 as they are mounted by default', () => {
    for (const version of ['4.1', '4.2']) assert.deepEqual(reach('nfs4', `rw,vers=${version},hard,local_lock=none`), { kernel: 'cluster', reason: undefined, warnings: [] });
    assert.equal(reach('nfs4', 'rw,vers=4.1,local_lock=flock').kernel, 'cluster');
  });

  it('is this host where the options keep locks here, and the reason names the option', () => {
    for (const [type, options, reason] of [
      ['nfs', 'rw,vers=3,nolock,local_lock=all', /nolock/u],
      ['nfs4', 'rw,vers=4.1,local_lock=all', /local_lock=all/u],
      ['nfs4', 'rw,vers=4.1,local_lock=posix', /local_lock=posix/u],
      ['cifs', 'rw,nobrl', /nobrl/u],
      ['smb3', 'rw,nobrl', /nobrl/u],
      ['lustre', 'rw', /flock/u],
      ['lustre', 'rw,localflock', /flock/u],
      ['gfs2', 'rw,localflocks', /localflocks/u],
      ['fuse.sshfs', 'rw', /fuse\.sshfs is not known/u],
      ['9p', 'rw', /9p is not known/u],
    ] as const) {
      const found = reach(type, options);
      assert.equal(found.kernel, 'host', `${type} ${options}`);
      assert.match(found.reason ?? '', reason);
    }
  });

  it('is the cluster with a reason where an option weakens what rests on the locks', () => {
    for (const [options, reason] of [
      ['rw,vers=3,hard,local_lock=none', /vers=3: .*not refused/u],
      ['rw,vers=4.0,hard', /vers=4\.0: .*twice/u],
      ['rw,vers=4.1,nocto', /nocto/u],
      ['rw,vers=4.1,soft', /soft/u],
      ['rw,vers=4.1,softerr', /softerr/u],
    ] as const) {
      const found = reach('nfs4', options);
      assert.equal(found.kernel, 'cluster', options);
      assert.match(found.reason ?? '', reason);
    }
    assert.match(reach('nfs4', 'vers=4.1,soft,nocto').reason ?? '', /nocto.*soft/u);
    assert.equal(reach('lustre', 'rw,flock').kernel, 'cluster');
    assert.equal(reach('ceph', 'rw').kernel, 'cluster');
  });

  it('has a warning for each option that weakens it, and none for what is merely not known', () => {
    for (const [type, options, warned] of [
      ['nfs4', 'rw,vers=4.2,hard,nconnect=4,actimeo=60,lookupcache=pos,noac,local_lock=none', []],
      ['nfs4', 'rw,vers=4.1,soft,nocto', ['nocto', 'soft']],
      ['nfs', 'rw,vers=3,nolock,softerr,local_lock=all', ['nolock', 'vers=3', 'softerr']],
      ['nfs', 'rw,vers=3,local_lock=flock', ['vers=3']],
      ['nfs4', 'rw,vers=4.0,hard', ['vers=4.0']],
      ['cifs', 'rw,vers=3.1.1,hard,cache=strict,serverino', []],
      ['cifs', 'rw,vers=3.1.1,soft,cache=loose,nobrl,noserverino', ['nobrl', 'soft', 'cache=loose', 'noserverino']],
      ['gfs2', 'rw,localflocks', ['localflocks']],
      ['lustre', 'rw', ['no flock']],
      ['fuse.sshfs', 'rw', []],
      ['ext4', 'rw', []],
    ] as const) {
      const { warnings } = reach(type, options);
      assert.deepEqual(warnings.map(({ option }) => option), warned, `${type} ${options}`);
      for (const { message } of warnings) assert.match(message, /; mount with/u);
    }
  });

  it('is nobody else’s where a FUSE file system is one of this host', () => {
    assert.equal(isOfThisHost(mountedAs('fuse.fuse-overlayfs', 'rw')), true);
    assert.equal(isOfThisHost(mountedAs('fuseblk', 'rw')), true);
    assert.equal(isOfThisHost(mountedAs('fuse.sshfs', 'rw')), false);
    assert.equal(isOfThisHost(mountedAs('nfs4', 'rw')), false);
  });
});
