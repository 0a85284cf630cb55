/** Small file systems of their own: ones that can be filled up, and other kinds. Needs root on Linux; elsewhere the test is skipped and says so. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rmdir, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** Mounts a tmpfs of `bytes` (and room for so many files and directories), or skips the test and returns `undefined`. Unmounted after the test. */
export async function withTmpfs(t: TestContext, bytes: number, inodes?: number): Promise<string | undefined> {
  return withMount(t, ['-t', 'tmpfs', '-o', `size=${bytes}${inodes === undefined ? '' : `,nr_inodes=${inodes}`}`, 'rwx-cache-test']);
}

/** Mounts `source` a second time, or skips the test and returns `undefined`. Unmounted after the test. */
export async function withBindMount(t: TestContext, source: string): Promise<string | undefined> {
  return withMount(t, ['--bind', source]);
}

/** Mounts an overlay over `lower`, with the upper layer on a tmpfs, or skips the test and returns `undefined`. Unmounted after the test. */
export async function withOverlay(t: TestContext, lower: string): Promise<string | undefined> {
  const disk = await withTmpfs(t, 64 << 20);
  if (disk === undefined) return undefined;
  const [upper, work] = [join(disk, 'upper'), join(disk, 'work')];
  for (const directory of [upper, work]) await mkdir(directory);
  return withMount(t, ['-t', 'overlay', '-o', `lowerdir=${lower},upperdir=${upper},workdir=${work}`, 'rwx-cache-test']);
}

/** Makes a file system of this type in a sparse file in `directory` and mounts it, or skips the test and returns `undefined`. Unmounted after the test. */
export async function withDisk(t: TestContext, type: 'ext4' | 'xfs', directory: string): Promise<string | undefined> {
  const image = join(directory, 'image');
  await writeFile(image, '');
  // XFS takes no less.
  await truncate(image, 320 << 20);
  const made = spawnSync(`mkfs.${type}`, ['-q', image], { encoding: 'utf8', env: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` } });
  if (made.status !== 0) {
    t.skip(`needs mkfs.${type}: ${made.error?.message ?? made.stderr}`);
    return undefined;
  }
  return withMount(t, ['-t', type, '-o', 'loop', image]);
}

async function withMount(t: TestContext, args: readonly string[]): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    t.skip('needs root on Linux to mount');
    return undefined;
  }
  const point = await mkdtemp(join(tmpdir(), 'rwx-cache-test-mount-'));
  try {
    execFileSync('mount', [...args, point], { stdio: 'pipe' });
  } catch (error) {
    await rmdir(point);
    t.skip(`cannot mount here: ${String(error)}`);
    return undefined;
  }
  // One hook for both, since hooks run in the order of their registration.
  t.after(async () => {
    execFileSync('umount', ['-l', point], { stdio: 'pipe' });
    await rmdir(point);
  });
  return point;
}
