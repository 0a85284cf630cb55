/** Renames as the platforms have them: at once on POSIX; on Windows again while a virus scanner or reader has the file open. */
import { delay } from '../abort.ts';
import { hasSystemError } from '../system-errors.ts';
import type { AmbiguousCalls } from './calls.ts';

/** Scanners let go within a second; what still refuses after two is a real refusal. */
const BUDGET_MS = 2000;
const LONGEST_PAUSE_MS = 100;

/** Renames; on Windows EPERM, EACCES and EBUSY are tried again for two seconds, and then thrown as they came. */
export async function renamePatiently(
  calls: Pick<AmbiguousCalls, 'rename'>,
  from: string,
  to: string,
  signal: AbortSignal | undefined,
  platform: NodeJS.Platform = process.platform,
): Promise<void> {
  if (platform !== 'win32') {
    await calls.rename(from, to);
    return;
  }
  const begun = performance.now();
  for (let pause = 5; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      await calls.rename(from, to);
      return;
    } catch (error) {
      if (!hasSystemError(error, 'EPERM', 'EACCES', 'EBUSY') || performance.now() - begun > BUDGET_MS) throw error;
      await delay(pause, signal);
    }
  }
}
