/** What the options of a mount mean for locks: reads and judges lines of /proc/self/mountinfo (proc_pid_mountinfo(5), nfs(5), mount.cifs(8)). */
import { readFile, realpath } from 'node:fs/promises';

/** One mount. */
export interface Mount {
  readonly mountPoint: string;
  /** The type, for example `'nfs4'`. */
  readonly type: string;
  /** The options of the file system, in the order given: `['vers', '4.1']`, `['nolock', '']`. */
  readonly options: ReadonlyMap<string, string>;
}

/** What a mount's locks reach. */
export interface LockReach {
  readonly kernel: 'cluster' | 'host';
  /** What limits or weakens them. */
  readonly reason: string | undefined;
}

/** The mount on which a path lies, or `undefined` where that is not known (not Linux, no /proc). */
export async function mountOf(path: string): Promise<Mount | undefined> {
  try {
    const [table, real] = await Promise.all([readFile('/proc/self/mountinfo', 'utf8'), realpath(path)]);
    return mountAt(parseMounts(table), real);
  } catch {
    return undefined;
  }
}

/** The mount whose point is the longest prefix; of several at one point the last, which lies on top. */
export function mountAt(mounts: readonly Mount[], path: string): Mount | undefined {
  let best: Mount | undefined;
  for (const mount of mounts) {
    const prefix = mount.mountPoint === '/' ? '/' : `${mount.mountPoint}/`;
    if (!`${path}/`.startsWith(prefix)) continue;
    if (best === undefined || mount.mountPoint.length >= best.mountPoint.length) best = mount;
  }
  return best;
}

/** The lines of mountinfo: `id parent dev root point options optional… - type source superOptions`. */
export function parseMounts(table: string): Mount[] {
  return table.split('\n').flatMap((line) => {
    const [mount = '', fileSystem = ''] = line.split(' - ', 2);
    const mountPoint = mount.split(' ')[4];
    const [type, , options = ''] = fileSystem.split(' ');
    if (mountPoint === undefined || type === undefined || type === '') return [];
    return [{ mountPoint: unescape(mountPoint), type, options: new Map(options.split(',').map(optionPair)) }];
  });
}

/** Judges the mount; only file systems that are known to carry locks to other hosts are `'cluster'`. */
export function lockReach({ type, options }: Mount): LockReach {
  const judge = JUDGES[type];
  if (judge === undefined) return { kernel: 'host', reason: `${type} is not known to carry locks to other hosts` };
  return judge(options);
}

type Judge = (options: Mount['options']) => LockReach;

const cluster: Judge = () => ({ kernel: 'cluster', reason: undefined });

const JUDGES: Readonly<Record<string, Judge | undefined>> = {
  nfs: judgeNfs,
  nfs4: judgeNfs,
  cifs: judgeCifs,
  smb3: judgeCifs,
  lustre: (options) => (options.has('flock') ? { kernel: 'cluster', reason: undefined } : { kernel: 'host', reason: 'lustre without the option flock keeps locks on this host' }),
  ceph: cluster,
  gfs2: (options) => (options.has('localflocks') ? { kernel: 'host', reason: 'localflocks keeps locks on this host' } : cluster(options)),
  ocfs2: (options) => (options.has('localflocks') ? { kernel: 'host', reason: 'localflocks keeps locks on this host' } : cluster(options)),
  gpfs: cluster,
  'fuse.glusterfs': cluster,
};

function judgeNfs(options: Mount['options']): LockReach {
  if (options.has('nolock')) return { kernel: 'host', reason: 'nolock keeps locks on this host' };
  const local = options.get('local_lock');
  // Only flock(2) stays on the host then; the locks of this library are of the fcntl kind.
  if (local !== undefined && local !== 'none' && local !== 'flock') return { kernel: 'host', reason: `local_lock=${local} keeps locks on this host` };
  const version = options.get('vers') ?? options.get('nfsvers') ?? '';
  const weak: string[] = [];
  if (/^[23]/u.test(version)) weak.push(`vers=${version}: the server has no lease, so the locks of a host that is gone may stay, and a lost lock is not fenced`);
  if (version === '4' || version.startsWith('4.0')) weak.push(`vers=${version}: no sessions, so a call that is sent twice may be carried out twice; prefer 4.1 or 4.2`);
  if (options.has('nocto')) weak.push('nocto: what other hosts write and publish is seen late, also after a lock was taken');
  if (options.has('soft') || options.has('softerr')) weak.push(`${options.has('soft') ? 'soft' : 'softerr'}: calls fail while the server is away, and writes may be lost`);
  return { kernel: 'cluster', reason: weak.length === 0 ? undefined : weak.join('; ') };
}

function judgeCifs(options: Mount['options']): LockReach {
  if (options.has('nobrl')) return { kernel: 'host', reason: 'nobrl keeps locks on this host' };
  return { kernel: 'cluster', reason: options.has('soft') ? 'soft: calls fail while the server is away, and writes may be lost' : undefined };
}

function optionPair(option: string): [string, string] {
  const at = option.indexOf('=');
  return at === -1 ? [option, ''] : [option.slice(0, at), option.slice(at + 1)];
}

/** Space, tab, line feed and backslash are written as three octal digits. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/gu, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
