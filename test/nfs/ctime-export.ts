/**
 * A part of the server's export whose change attribute is only the ctime, which moves once a tick: an XFS of version 4, in a file in the guest's
 * memory. (XFS of version 5, ext4 and tmpfs count their changes.) Runs inside the guest.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { command } from './shell.ts';

const IMAGE = '/run/lab/xfs-4';
/** mkfs.xfs makes nothing smaller. Hardly any of it is ever written. */
const BYTES = 320 << 20;

/** Why there can be none; `false` where there can. */
export function withoutXfs(): string | false {
  return spawnSync('mkfs.xfs', ['-V'], { env: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` } }).status === 0 ? false : 'there is no mkfs.xfs (apt-get install xfsprogs)';
}

/** Makes the file system and exports it at `directory`, a path on the server below its export; the clients get there by themselves. Once in each machine. */
export function exportWithCtimeOnly(directory: string): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(IMAGE, '');
  truncateSync(IMAGE, BYTES);
  const script = [
    `mkfs.xfs -q -m crc=0 ${IMAGE}`,
    'modprobe -d /run/lab/kernel loop',
    `mount -t xfs $(losetup -f --show ${IMAGE}) ${directory}`,
    `exportfs -o rw,fsid=9,no_subtree_check,no_root_squash,insecure '*:${directory}'`,
  ];
  command('sh', '-ec', script.join('\n'));
}
