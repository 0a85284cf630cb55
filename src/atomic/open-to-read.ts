/** Opening what somebody else may have put there. */
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

const POSIX = process.platform !== 'win32';

/**
 * Opens a file to be read. Non-blocking: opening a FIFO would wait for its writer for ever; what is no regular file is then
 * told by `stat`. With `followLinks: false` a symbolic link is refused (ELOOP). (Windows has no such flags, nor such files.)
 */
export async function openToRead(path: string | Buffer, { followLinks = true }: { readonly followLinks?: boolean } = {}): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | (POSIX ? constants.O_NONBLOCK | (followLinks ? 0 : constants.O_NOFOLLOW) : 0));
}
