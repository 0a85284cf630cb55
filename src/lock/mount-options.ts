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

/** One option of a mount (the protocol's version is one as well) that takes away what the library, or its caller, rests on. */
export interface MountWarning {
  /** As the mount has it: `'nocto'`, `'vers=4.0'`. */
  readonly option: string;
  /** What it takes away, and what to do about it. */
  readonly message: string;
}

/** What a mount's locks reach, and what its options weaken. */
export interface LockReach {
  readonly kernel: 'cluster' | 'host';
  /** What limits or weakens the locks, in one line. */
  readonly reason: string | undefined;
  /** The same, option by option. Empty where nothing was chosen that weakens anything. */
  readonly warnings: readonly MountWarning[];
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
  if (judge === undefined) return { kernel: 'host', reason: `${type} is not known to carry locks to other hosts`, warnings: [] };
  const { hostOnly, weak } = judge(options);
  const warnings = [...hostOnly, ...weak];
  const reason = warnings.length === 0 ? undefined : warnings.map(({ option, message }) => `${option}: ${message}`).join('; ');
  return { kernel: hostOnly.length === 0 ? 'cluster' : 'host', reason, warnings };
}

/** Whether the type is one of this host alone, although its number is that of any FUSE file system. */
export function isOfThisHost({ type }: Mount): boolean {
  return ['fuseblk', 'fuse.fuse-overlayfs'].includes(type);
}

/** What keeps locks on this host, and what weakens them. */
interface Findings {
  readonly hostOnly: readonly MountWarning[];
  readonly weak: readonly MountWarning[];
}

type Judge = (options: Mount['options']) => Findings;

const HOST_ONLY = 'locks are kept on this host, so other hosts are not excluded';
const SOFT = 'calls fail while the server is away, and one that failed may still be carried out; mount with hard';

const sound: Judge = () => ({ hostOnly: [], weak: [] });

const JUDGES: Readonly<Record<string, Judge | undefined>> = {
  nfs: judgeNfs,
  nfs4: judgeNfs,
  cifs: judgeCifs,
  smb3: judgeCifs,
  lustre: (options) => (options.has('flock') ? sound(options) : { hostOnly: [{ option: 'no flock', message: `${HOST_ONLY}; mount with flock` }], weak: [] }),
  ceph: sound,
  gfs2: judgeLocalFlocks,
  ocfs2: judgeLocalFlocks,
  gpfs: sound,
  'fuse.glusterfs': sound,
};

function judgeNfs(options: Mount['options']): Findings {
  const hostOnly: MountWarning[] = [];
  const weak: MountWarning[] = [];
  const local = options.get('local_lock');
  // The kernel shows `local_lock=all` as well then. With local_lock=flock only flock(2) stays on the host; the locks of this library are of the fcntl kind.
  if (options.has('nolock')) hostOnly.push({ option: 'nolock', message: `${HOST_ONLY}; mount with vers=4.1 or 4.2` });
  else if (local !== undefined && local !== 'none' && local !== 'flock') hostOnly.push({ option: `local_lock=${local}`, message: `${HOST_ONLY}; mount with vers=4.1 or 4.2` });
  const version = options.get('vers') ?? options.get('nfsvers') ?? '';
  const asGiven = `vers=${version}`;
  if (/^[23]/u.test(version)) {
    weak.push({ option: asGiven, message: 'locks have no lease, so those of a host that is gone may stay for ever, and a lost one is not refused; mount with vers=4.1 or 4.2' });
  }
  if (version === '4' || version.startsWith('4.0')) weak.push({ option: asGiven, message: 'there are no sessions, so a call that is sent twice may be carried out twice; mount with vers=4.1 or 4.2' });
  if (options.has('nocto')) {
    weak.push({ option: 'nocto', message: 'this host asks too seldom what others have published, replaced or removed, also after it has taken a lock; mount without it' });
  }
  for (const option of ['soft', 'softerr']) if (options.has(option)) weak.push({ option, message: SOFT });
  return { hostOnly, weak };
}

function judgeCifs(options: Mount['options']): Findings {
  const hostOnly: MountWarning[] = options.has('nobrl') ? [{ option: 'nobrl', message: `${HOST_ONLY}; mount without it` }] : [];
  const weak: MountWarning[] = [];
  if (options.has('soft')) weak.push({ option: 'soft', message: `the default of cifs: ${SOFT}` });
  if (options.get('cache') === 'loose') weak.push({ option: 'cache=loose', message: 'this host believes its cache without asking the server; mount with cache=strict' });
  if (options.has('noserverino')) weak.push({ option: 'noserverino', message: 'inode numbers are made up by this host and change, so files are taken for others; mount with serverino' });
  return { hostOnly, weak };
}

function judgeLocalFlocks(options: Mount['options']): Findings {
  return { hostOnly: options.has('localflocks') ? [{ option: 'localflocks', message: `${HOST_ONLY}; mount without it` }] : [], weak: [] };
}

function optionPair(option: string): [string, string] {
  const at = option.indexOf('=');
  return at === -1 ? [option, ''] : [option.slice(0, at), option.slice(at + 1)];
}

/** Space, tab, line feed and backslash are written as three octal digits. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/gu, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
