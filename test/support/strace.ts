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
    // One pool thread, so that the library's calls come one after the other.
    const ran = spawnSync('strace', ['-f', '-y', '-s', '300', '-o', log, '-e', `trace=${kinds}`, process.execPath, fileURLToPath(program), ...args], {
      env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
      encoding: 'utf8',
    });
    if (ran.status !== 0) throw new Error(`${program.pathname} failed: ${ran.stderr}`);
    return joined(readFileSync(log, 'utf8').split('\n'));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** A call that another thread's came between stands on two lines; it is one, in the place where it began. */
function joined(lines: readonly string[]): string[] {
  const whole: string[] = [];
  const open = new Map<string, number>();
  for (const line of lines) {
    const [, pid = '', rest] = /^(\d+) +<\.\.\. \w+ resumed>(.*)$/u.exec(line) ?? [];
    const at = open.get(pid);
    if (rest !== undefined && at !== undefined) {
      whole[at] = `${whole[at] ?? ''}${rest}`;
      open.delete(pid);
      continue;
    }
    const begun = /^(\d+) .*?(?= *<unfinished \.\.\.>$)/u.exec(line);
    if (begun !== null) open.set(begun[1] ?? '', whole.length);
    whole.push(begun?.[0] ?? line);
  }
  return whole;
}
