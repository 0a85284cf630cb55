/** A small file system of its own that can be filled up. Needs root on Linux; elsewhere the test is skipped and says so. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rmdir } from 'node:fs/promises';
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
