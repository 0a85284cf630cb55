/** Which kind of file system a path lies on. Only asks; one `statfs`. */
import { statfs } from 'node:fs/promises';
import { attempt } from './attempt.ts';

/** What {@link fileSystemKind} found. */
export interface FileSystemKind {
  /** Whether other hosts may have it mounted too. `true` where that is not known: what is right on a network is right everywhere. */
  readonly network: boolean;
  /** A short name (`'nfs'`, `'ext4'`), or `'0x…'` for a type that is not known here, or `'unknown'`. */
  readonly name: string;
}

/** `f_type` of statfs(2); the list is that of Linux's magic.h and of coreutils' `stat`. FUSE may be anything, so it counts as network. */
const NETWORK: ReadonlyMap<number, string> = new Map([
  [0x6969, 'nfs'],
  [0xff534d42, 'cifs'],
  [0xfe534d42, 'smb2'],
  [0x517b, 'smb'],
  [0x65735546, 'fuse'],
  [0x00c36400, 'ceph'],
  [0x0bd00bd0, 'lustre'],
  [0x01021997, '9p'],
  [0x5346414f, 'afs'],
  [0x6b414653, 'kafs'],
  [0x73757245, 'coda'],
  [0x01161970, 'gfs2'],
  [0x7461636f, 'ocfs2'],
  [0x47504653, 'gpfs'],
  [0xa501fcf5, 'vxfs'],
  [0xaad7aaea, 'panfs'],
  [0x19830326, 'beegfs'],
  [0x61636673, 'acfs'],
  [0x013111a8, 'ibrix'],
  [0xbeefdead, 'snfs'],
  [0x564c, 'ncp'],
  [0xbacbacbc, 'vmhgfs'],
  [0x786f4256, 'vboxsf'],
  [0x7c7c6673, 'prlfs'],
]);

const LOCAL: ReadonlyMap<number, string> = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
  [0x794c7630, 'overlay'],
  [0x2fc12fc1, 'zfs'],
  [0xf2f52010, 'f2fs'],
  [0xca451a4e, 'bcachefs'],
  [0x3153464a, 'jfs'],
  [0x52654973, 'reiserfs'],
  [0x4d44, 'vfat'],
  [0x2011bab0, 'exfat'],
  [0x7366746e, 'ntfs3'],
  [0x24051905, 'ubifs'],
  [0x72b6, 'jffs2'],
  [0x3434, 'nilfs2'],
  [0x15013346, 'udf'],
  [0x482b, 'hfsplus'],
  [0x73717368, 'squashfs'],
  [0xe0f5e1e2, 'erofs'],
  [0x00c0ffee, 'hostfs'],
]);

/**
 * Tells by `statfs` whether `path` (which must exist) lies on a network file system. Linux only: on other platforms, whose
 * numbers say nothing, the answer is `{ network: true, name: 'unknown' }`.
 *
 * @throws FileSystemError when the path cannot be asked.
 */
export async function fileSystemKind(path: string): Promise<FileSystemKind> {
  const { type } = await attempt('find the file system of', path, statfs(path));
  return process.platform === 'linux' ? kindOfType(type) : { network: true, name: 'unknown' };
}

/** @internal */
export function kindOfType(type: number): FileSystemKind {
  // A 32-bit kernel extends the sign.
  const magic = Number(BigInt.asUintN(32, BigInt(type)));
  const local = LOCAL.get(magic);
  return local === undefined ? { network: true, name: NETWORK.get(magic) ?? `0x${magic.toString(16)}` } : { network: false, name: local };
}
