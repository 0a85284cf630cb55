/**
 * A second server in the lab, which speaks NFSv3 only, and the mounts of it: for what its mount options do. It has a network of its own, and exports
 * what the first one does. Locks of NFSv3 need statd on both sides, and there is none. Runs inside the guest.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { EXPORT } from './server.ts';
import { command } from './shell.ts';

const SPACE = 'old-server';
const MOUNTD_PORT = 20_048;

/** Starts it, if it is not there; it ends with the machine. */
export function startOldServer(): void {
  if (existsSync(`/run/netns/${SPACE}`)) return;
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
  mountOld(directory, { space: SPACE, server: '127.0.0.1', options: ['nolock'], flags: [] });
}

const LONELY = 'without-statd';

/** Mounts its export with locks, as a host that has no statd: each request for a lock is answered ENOLCK. */
export function mountWithoutStatd(directory: string): void {
  const script = [
    `ip netns add ${LONELY}`,
    `ip link add lonely netns ${SPACE} type veth peer name plug netns ${LONELY}`,
    `ip -n ${SPACE} addr add 10.78.0.1/24 dev lonely`,
    `ip -n ${SPACE} link set lonely up`,
    `ip -n ${LONELY} addr add 10.78.0.2/24 dev plug`,
    `ip -n ${LONELY} link set plug up`,
    `ip -n ${LONELY} link set lo up`,
  ];
  command('sh', '-ec', script.join('\n'));
  // `mount.nfs` would refuse to; the kernel by itself does not.
  mountOld(directory, { space: LONELY, server: '10.78.0.1', options: ['addr=10.78.0.1', 'mountaddr=10.78.0.1'], flags: ['-i'] });
}

interface OldMount {
  readonly space: string;
  readonly server: string;
  readonly options: readonly string[];
  readonly flags: readonly string[];
}

function mountOld(directory: string, { space, server, options, flags }: OldMount): void {
  mkdirSync(directory, { recursive: true });
  const all = ['vers=3', 'nosharecache', 'proto=tcp', 'port=2049', `mountport=${MOUNTD_PORT}`, 'mountproto=tcp', ...options].join(',');
  command('nsenter', `--net=/run/netns/${space}`, 'mount', ...flags, '-t', 'nfs', '-o', all, `${server}:${EXPORT}`, directory);
}
