/** The machine's disk: a sparse file with an ext4 file system on it, which an ordinary user can make as well. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { PATH } from '../support/machine/packages.ts';

const BYTES = 2 ** 31;
const MEMORY = '/dev/shm';

/**
 * Where images are made: in the host's memory where there is room, since the guest's every flush is an fsync of the host. What the cut takes
 * away is what the guest has not written yet; the host loses nothing, so its own disk plays no part.
 */
export function imagesDirectory(): string {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** Makes the image. Default features, default journal: the promises are to hold on what people have. */
export function makeImage(path: string): void {
  writeFileSync(path, '');
  truncateSync(path, BYTES);
  const { status, stderr } = spawnSync('mkfs.ext4', ['-q', '-F', path], { env: { PATH }, encoding: 'utf8' });
  if (status !== 0) throw new Error(`mkfs.ext4 ${path}: ${stderr}`);
}
