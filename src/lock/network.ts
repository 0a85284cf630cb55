/** Whether a path lies on a network file system, remembered for each directory so that an uncontended lock asks no statfs. */
import { dirname } from 'node:path';
import { fileSystemKind } from '../atomic/file-system-kind.ts';

/** Answers whether a lock file lies on a network file system. Tests give their own. */
export type NetworkTest = (path: string) => Promise<boolean>;

/** Something else may be mounted there later. */
const REMEMBER_MS = 60_000;
const MOST_DIRECTORIES = 1000;

const known = new Map<string, { readonly network: boolean; readonly until: number }>();

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
