/**
 * Whether a directory lies on NFS, where syncing it does nothing: the server has made a name durable before it answers, and the client's
 * fsync of a directory is empty (`nfs_fsync_dir` in Linux), but opening it for that is a round trip.
 */
import { stat } from 'node:fs/promises';
import { fileSystemKind } from './file-system-kind.ts';

/** A device number is given to another mount when its own has gone. */
const REMEMBER_MS = 60_000;

const devices = new Map<bigint, { readonly nfs: boolean; readonly until: number }>();

/** Asks once for each device: `statfs` is a round trip of its own. */
export async function isOnNfs(directory: string, device?: bigint): Promise<boolean> {
  const dev = device ?? (await stat(directory, { bigint: true })).dev;
  const before = devices.get(dev);
  if (before !== undefined && before.until > performance.now()) return before.nfs;
  const nfs = (await fileSystemKind(directory)).name === 'nfs';
  devices.set(dev, { nfs, until: performance.now() + REMEMBER_MS });
  return nfs;
}
