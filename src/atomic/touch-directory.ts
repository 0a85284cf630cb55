/** The look that no cache can answer, for one kind of server. Changes nothing but time stamps. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { delay } from '../abort.ts';
import { quietly } from './attempt.ts';

/** One tick of a server's clock, at the least frequency that Linux has (100 Hz), and what may go wrong with waiting for just that. */
const TICK_MS = 12;
const TRIES = 3;

/**
 * Touches a directory, so that every NFS client, this one first, asks the server anew about the names in it. A server whose change attribute is only the
 * ctime (XFS of version 4, say) shows no difference between two changes within one tick of its clock. A client that has missed a name in
 * between believes the miss until something changes there, for ever if need be; opening the directory anew does not help (196 of 200 rounds, measured). The
 * touch has to fall into a later tick, and does. Three round trips; the modification time stays as it is, to the microsecond.
 *
 * @returns whether it could be: only the directory's owner may.
 */
export async function touchDirectory(directory: string): Promise<boolean> {
  if (process.platform === 'win32') return false;
  let handle;
  try {
    handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    const before = await handle.stat({ bigint: true });
    for (let tries = 1; tries <= TRIES; tries += 1) {
      await handle.utimes(Number(before.atimeNs) / 1e9, Number(before.mtimeNs) / 1e9);
      if ((await handle.stat({ bigint: true })).ctimeNs !== before.ctimeNs) return true;
      await delay(TICK_MS);
    }
    return false;
  } catch {
    // Not there, or not ours to touch: then the fresh look is all there is.
    return false;
  } finally {
    if (handle !== undefined) await quietly(handle.close());
  }
}
