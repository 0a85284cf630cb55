/**
 * A second server in the lab, which speaks NFSv3 only, and the mounts of it: for what its mount options do. It has a network of its own, and exports
 * what the first one does. Locks of NFSv3 need statd on both sides, so the mounts are made without. Runs inside the guest.
 */
import { mkdirSync } from 'node:fs';
import { EXPORT } from './server.ts';
import { command } from './shell.ts';

const SPACE = 'old-server';
const MOUNTD_PORT = 20_048;

/** Starts it; it ends with the machine. */
export function startOldServer(): void {
  // The client's module is not found by the kernel itself: the modules of the guest do not lie where it looks.
  const script = [
    'modprobe -d /run/lab/kernel nfsv3',
    `ip netns add ${SPACE}`,
    `ip -n ${SPACE} link set lo up`,
    `ip netns exec ${SPACE} sh -ec '
      mount -t tmpfs tmpfs /var/lib/nfs
      mkdir -p /var/lib/nfs/v4recovery /run/rpcbind
      touch /var/lib/nfs/etab /var/lib/nfs/rmtab /var/lib/nfs/state
      mount -t nfsd nfsd /proc/fs/nfsd
      exportfs -o rw,fsid=3,no_subtree_check,no_root_squash,insecure "*:${EXPORT}"
      rpcbind
      rpc.mountd --manage-gids -p ${MOUNTD_PORT} -N 2 -N 4
      rpc.nfsd -V 3 -N 4 -U 2'`,
  ];
  // Its daemons would keep the output open.
  command('sh', '-c', `(${script.join('\n')}) >/run/lab/old-server.log 2>&1 </dev/null || { cat /run/lab/old-server.log; exit 1; }`);
}

/** Mounts its export with `nolock`. Two such mounts share no cache and no lock, as if they were two hosts. */
export function mountWithoutLocks(directory: string): void {
  mkdirSync(directory, { recursive: true });
  const options = `vers=3,nolock,nosharecache,proto=tcp,port=2049,mountport=${MOUNTD_PORT},mountproto=tcp`;
  command('nsenter', `--net=/run/netns/${SPACE}`, 'mount', '-t', 'nfs', '-o', options, `127.0.0.1:${EXPORT}`, directory);
}
