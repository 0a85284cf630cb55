/** Commands of the guest. All of them are short; one that fails says what it said. */
import { spawnSync } from 'node:child_process';

/** Runs a program and answers what it printed. A program that starts a daemon must not be waited for by its output. */
export function command(program: string, ...args: readonly string[]): string {
  const { status, error, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 60_000 });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? `exit code ${status ?? 'none'}`}\n${stdout}${stderr}`);
  return stdout;
}

/** Starts a program that goes into the background by itself. */
export function daemon(program: string, ...args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { stdio: 'ignore', timeout: 60_000 });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? `exit code ${status ?? 'none'}`}`);
}
