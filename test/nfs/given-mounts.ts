/** Two mounts that somebody else has made, in place of a machine: `RWX_CACHE_NFS_MOUNTS=/path/a:/path/b`. */
import { mkdir, rmdir, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { fileSystemKind, statFresh, uniqueName } from '../../src/atomic/index.ts';
import type { Lab } from './lab.ts';

/** The variable that names them. */
export const MOUNTS = 'RWX_CACHE_NFS_MOUNTS';

/** The lab that they are; throws, and says why, when the suite would prove nothing on them. */
export async function givenMounts(value: string): Promise<Lab> {
  const refuse = (why: string): never => {
    throw new Error(`${MOUNTS}=${value}: ${why}`);
  };
  const paths = value.split(':');
  const [a, b] = paths;
  if (a === undefined || b === undefined || paths.length !== 2 || !paths.every(isAbsolute)) return refuse('is not of the form /path/a:/path/b');
  const devices: bigint[] = [];
  for (const path of [a, b]) {
    const stats = await stat(path, { bigint: true }).catch((error: unknown) => refuse(String(error)));
    if (!stats.isDirectory()) refuse(`${path} is no directory`);
    const { name } = await fileSystemKind(path);
    if (name !== 'nfs') refuse(`${path} lies on ${name}, not on NFS`);
    devices.push(stats.dev);
  }
  if (devices[0] === devices[1]) refuse('both lie on one mount; it takes two clients');
  const probe = uniqueName();
  await mkdir(join(a, probe)).catch((error: unknown) => refuse(String(error)));
  try {
    if ((await statFresh(join(b, probe))) === undefined) refuse('they are not the same directory of one export');
  } finally {
    await rmdir(join(a, probe));
  }
  return { a, b, slowB: undefined, faults: false };
}
