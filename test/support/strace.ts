/** The system calls of a child program, as strace saw them. Skips the test, and says so, where there is no strace. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'node:test';

/** Whether strace can be used here; otherwise the test is skipped. */
export function hasStrace(t: TestContext): boolean {
  const tried = spawnSync('strace', ['-o', '/dev/null', 'true']);
  if (tried.status === 0) return true;
  t.skip(`strace does not work here: ${tried.error?.message ?? tried.stderr.toString().trim()}`);
  return false;
}

/** Runs a compiled program to its end and returns its calls of the kinds asked for (`'openat,rename'`), one a line, in order, file descriptors with their paths. */
export function traceProgram(program: URL, args: readonly string[], kinds: string): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'rwx-cache-test-'));
  try {
    const log = join(directory, 'log');
    // One pool thread, so that no call is split into an unfinished and a resumed line.
    const ran = spawnSync('strace', ['-f', '-y', '-s', '300', '-o', log, '-e', `trace=${kinds}`, process.execPath, fileURLToPath(program), ...args], {
      env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
      encoding: 'utf8',
    });
    if (ran.status !== 0) throw new Error(`${program.pathname} failed: ${ran.stderr}`);
    return readFileSync(log, 'utf8').split('\n');
  } finally {
    rmSync(directory, { recursive: true });
  }
}
