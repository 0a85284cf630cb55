/** Whether a path lies on a network file system, and one that carries locks to other hosts; remembered for each directory, so that an uncontended lock asks neither again. */
import { dirname } from 'node:path';
import { fileSystemKind } from '../atomic/file-system-kind.ts';
import { LockUnsupportedError } from '../errors.ts';
import { isOfThisHost, lockReach, mountOf, type Mount } from './mount-options.ts';

/** Answers whether a lock file lies on a network file system. Tests give their own. */
export type NetworkTest = (path: string) => Promise<boolean>;

/** Something else may be mounted there later. */
const REMEMBER_MS = 60_000;
const MOST_DIRECTORIES = 1000;

const known = new Map<string, { readonly network: boolean; readonly until: number }>();
const mounts = new Map<string, { readonly mount: Mount | undefined; readonly until: number }>();

/** @throws FileSystemError when the directory of the lock file is missing or does not answer. */
export async function onNetworkFileSystem(path: string): Promise<boolean> {
  const directory = dirname(path);
  const before = known.get(directory);
  if (before !== undefined && before.until > performance.now()) return before.network;
  const { network } = await fileSystemKind(directory);
  if (known.size >= MOST_DIRECTORIES) known.clear();
  known.set(directory, { network, until: performance.now() + REMEMBER_MS });
  return network;
}

/**
 * As {@link onNetworkFileSystem}, and refuses a network file system whose locks reach only this host. Where it is not known what is mounted
 * there (not Linux, no /proc) nothing is refused. Tests give their own answers.
 *
 * @throws LockUnsupportedError which says what to choose instead.
 * @throws FileSystemError
 */
export async function onClusterOrLocal(path: string, isNetwork: NetworkTest = onNetworkFileSystem, findMount: (path: string) => Promise<Mount | undefined> = rememberedMount): Promise<boolean> {
  if (!(await isNetwork(path))) return false;
  const mount = await findMount(path);
  if (mount === undefined || isOfThisHost(mount)) return true;
  const { kernel, reason } = lockReach(mount);
  if (kernel === 'host') {
    throw new LockUnsupportedError(path, `${reason ?? ''} (${mount.mountPoint}); choose strategy "kernel" where no other host uses it, "lease" otherwise`);
  }
  return true;
}

async function rememberedMount(path: string): Promise<Mount | undefined> {
  const directory = dirname(path);
  const before = mounts.get(directory);
  if (before !== undefined && before.until > performance.now()) return before.mount;
  const mount = await mountOf(directory);
  if (mounts.size >= MOST_DIRECTORIES) mounts.clear();
  mounts.set(directory, { mount, until: performance.now() + REMEMBER_MS });
  return mount;
}
