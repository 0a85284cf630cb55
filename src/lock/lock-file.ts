/**
 * Opening a lock file. It is made once and never removed or truncated: its inode is the lock. No symbolic link is followed. One call opens or makes it
 * (on NFS one round trip, where a look, a miss and an exclusive creation are four); where `fs.protected_regular` refuses O_CREAT for another user's
 * file in a sticky directory (EACCES, measured), it is opened without.
 */
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { delay } from '../abort.ts';
import { inDirectory } from '../atomic/in-directory.ts';
import { refreshDirectory } from '../atomic/stat-fresh.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';

/** A lock file, open. */
export interface OpenLockFile {
  readonly handle: FileHandle;
  /** Whether it could be opened for writing. Without that there is only a shared lock (EBADF otherwise). */
  readonly writable: boolean;
}

/** How a lock file is opened. */
export interface LockFileRequest {
  /** The mode of the file where it has to be made, before the umask; `undefined`: a missing file stays missing. */
  readonly createMode: number | undefined;
  /** Whether a descriptor for reading will do where the file may not be written. */
  readonly readOnlyToo: boolean;
}

const isWindows = process.platform === 'win32';
const WRITING = constants.O_RDWR | (isWindows ? 0 : constants.O_NOFOLLOW);
// O_NONBLOCK, lest a FIFO in the place of the file holds the call up for ever.
const READING = constants.O_RDONLY | (isWindows ? 0 : constants.O_NOFOLLOW | constants.O_NONBLOCK);
/** Somebody may make and remove the file under us, or an NFS client may answer from its cache; more often than this it is neither. */
const ATTEMPTS = 20;

/**
 * Opens the lock file, and makes it where it is missing.
 *
 * @throws FileSystemError
 */
export async function openLockFile(path: string, request: LockFileRequest): Promise<OpenLockFile | undefined> {
  for (let attempts = 1; ; attempts += 1) {
    let refusal: unknown;
    if (request.createMode !== undefined) {
      try {
        return { handle: await inDirectory(dirname(path), () => open(path, WRITING | constants.O_CREAT, request.createMode)), writable: true };
      } catch (error) {
        if (!hasSystemError(error, 'EACCES', 'EPERM', 'EROFS', 'EEXIST', 'ESTALE')) throw fileSystemError(error, 'open the lock file', path);
        refusal = error;
      }
    }
    try {
      return await openExisting(path, request.readOnlyToo);
    } catch (error) {
      if (!hasSystemError(error, 'ENOENT', 'ESTALE') || attempts === ATTEMPTS) throw fileSystemError(error, 'open the lock file', path);
      if (request.createMode === undefined) return undefined;
      if (!hasSystemError(refusal, 'EEXIST', 'ESTALE')) throw fileSystemError(refusal, 'create the lock file', path);
    }
    // There after all: made meanwhile, or missed by a cache that opening the directory corrects.
    await refreshDirectory(dirname(path));
    await delay(attempts);
  }
}

async function openExisting(path: string, readOnlyToo: boolean): Promise<OpenLockFile> {
  try {
    return { handle: await open(path, WRITING), writable: true };
  } catch (error) {
    if (!readOnlyToo || !hasSystemError(error, 'EACCES', 'EPERM', 'EROFS')) throw error;
    return { handle: await open(path, READING), writable: false };
  }
}
