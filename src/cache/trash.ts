/** The way out of the tree: one rename. What is in the trash is whole for an hour, for programs that run from it, and then housekeeping removes it. */
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectories, statFresh, uniqueName } from '../atomic/index.ts';
import { publishEvent } from '../diagnostics.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';

/** Moves an entry to the trash; `false` where it had gone already. */
export async function moveToTrash(entry: { readonly package: string; readonly path: string }, trash: string, owner: string): Promise<boolean> {
  // Without it the rename below says ENOENT, as it does when the entry has gone.
  await makeDirectories(trash);
  const target = join(trash, `${owner}.${uniqueName()}`);
  try {
    await rename(entry.path, target);
  } catch (error) {
    if (!hasSystemError(error, 'ENOENT')) throw fileSystemError(error, 'move to the trash', entry.path);
    // The answer to a request that was sent twice is ENOENT as well; the new name, which is nobody else's, tells.
    if ((await statFresh(target, { followLinks: false })) === undefined) return false;
  }
  publishEvent('cache:moved-to-trash', { package: entry.package });
  return true;
}
