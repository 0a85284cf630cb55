/**
 * The addon that gives open-file-description locks, loaded when the first lock is asked for, and the meaning of the
 * errors that its calls give. Knows nothing of files, waiting or holders.
 */
import { LockUnsupportedError } from '../errors.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';

/** The addon's calls; all of them lock the whole file behind a descriptor. */
export interface NativeLocks {
  tryLock(fd: number, options: { readonly shared: boolean }): boolean;
  waitForLock(fd: number, options: { readonly shared: boolean }): Promise<void>;
  unlock(fd: number): void;
}

let loading: Promise<NativeLocks> | undefined;

/**
 * The addon. It is an optional dependency, built for glibc, macOS and Windows.
 *
 * @throws LockUnsupportedError where it is not installed or does not load.
 */
export async function nativeLocks(path: string): Promise<NativeLocks> {
  try {
    return await (loading ??= import('fs-native-extensions'));
  } catch (error) {
    throw new LockUnsupportedError(
      path,
      'the addon fs-native-extensions is not installed or has no build for this platform (it has none for musl); install it, or choose strategy "lease"',
      error,
    );
  }
}

/** Somebody else holds it. */
export function isContention(error: unknown): boolean {
  return hasSystemError(error, 'EAGAIN', 'EACCES', 'EWOULDBLOCK', 'EBUSY');
}

/** The call means nothing by itself and is made again: a signal came, or the kernel saw a deadlock where there is none (it does so for NFS). */
export function isPassing(error: unknown): boolean {
  return hasSystemError(error, 'EDEADLK', 'EINTR');
}

/** What a lock call's failure is to the caller: no locks here, or a failed system call. */
export function lockFailure(error: unknown, path: string): Error {
  if (hasSystemError(error, 'ENOSYS', 'ENOTSUP', 'EINVAL', 'ENOLCK')) {
    return new LockUnsupportedError(path, 'the file system offers no kernel locks; see probeLocking, or choose strategy "lease"', error);
  }
  return fileSystemError(error, 'lock', path);
}
