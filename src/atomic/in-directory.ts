/** Work in a directory that another host may just have made. Only looks; makes nothing. */
import { hasSystemError } from '../system-errors.ts';
import { statFresh } from './stat-fresh.ts';

/**
 * Does `work` in `directory`. An NFS client that has once missed a directory says ENOENT of everything in it for up to 30 s (measured): where a
 * fresh look finds the directory, the work is done once more.
 */
export async function inDirectory<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!hasSystemError(error, 'ENOENT') || (await statFresh(directory).catch(() => undefined)) === undefined) throw error;
    return work();
  }
}
