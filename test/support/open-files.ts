/** What this process has open, for tests that nothing stays so. Linux only. */
import { readdirSync, readlinkSync } from 'node:fs';

/** Paths of this process's descriptors below a directory. Asked without waiting, so that nothing ends meanwhile. */
export function openFilesBelow(directory: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(`${directory}/`) ? [path] : [];
    } catch {
      return [];
    }
  });
}
