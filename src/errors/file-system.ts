/** What a file system answers. */
import { because, RwxCacheError, type CausedBy } from './base.ts';

/** What to do about a system error, by its name. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'check the owner and mode of the directory',
  EDQUOT: 'the quota is used up: free space or raise it, then call again',
  EIO: 'the storage failed, or the server took the lock away; check it, then call again',
  EMFILE: 'raise the limit of open files (ulimit -n)',
  ENOLCK: 'the mount offers no locks; see probeLocking',
  ENOSPC: 'the file system is full: free space, then call again',
  ENOTDIR: 'something that is not a directory stands in the way; move it aside',
  EPERM: 'check the owner and mode of the directory',
  EROFS: 'the file system is mounted read-only',
  ESTALE: 'another host removed it meanwhile; call again',
  EXDEV: 'source and target lie on different mounts; choose a directory on the same one',
};

/** A system call failed. `systemCode` has its name also where Node has none (ESTALE, EDQUOT, ENOLCK, EDEADLK). */
export class FileSystemError extends RwxCacheError {
  readonly code = 'ERR_FILE_SYSTEM';
  /** The error's symbolic name, for example `'ENOSPC'`. */
  readonly systemCode: string;
  /** What was being done, in words. */
  readonly operation: string;
  /** The path it was done to. */
  readonly path: string;

  constructor(data: { readonly systemCode: string; readonly operation: string; readonly path: string } & CausedBy) {
    const advice = ADVICE[data.systemCode];
    super(`Could not ${data.operation} ${data.path}: ${data.systemCode}${advice === undefined ? '' : `; ${advice}`}`, because(data));
    this.systemCode = data.systemCode;
    this.operation = data.operation;
    this.path = data.path;
  }
}

/** A private staging directory vanished under its owner (swept by another host that took this process for dead). The caches start again by themselves. */
export class StagingLostError extends RwxCacheError {
  readonly code = 'ERR_STAGING_LOST';
  /** The staging directory that is gone. */
  readonly path: string;

  constructor(path: string, cause?: unknown) {
    super(`The staging directory ${path} was removed while it was in use; call again`, because({ cause }));
    this.path = path;
  }
}

/** A directory cannot be hashed: it holds a dangling symlink, a link to a directory, or a name with a line break. */
export class UnreadableDirectoryError extends RwxCacheError {
  readonly code = 'ERR_UNREADABLE_DIRECTORY';
  /** The file that stands in the way. */
  readonly path: string;

  constructor(path: string, problem: string, cause?: unknown) {
    super(`Cannot hash ${path}: ${problem}`, because({ cause }));
    this.path = path;
  }
}
