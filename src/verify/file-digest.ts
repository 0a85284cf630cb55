/** SHA-256 of files, read in pieces: the next piece is read while the one before is hashed. Only reads. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

const PIECE_BYTES = 1024 * 1024;

/**
 * Opens a file to be hashed. Non-blocking: opening a FIFO that somebody put into a package would wait for its writer for
 * ever; what is no regular file is then told by `stat`. (Windows has no such flag, nor such files.)
 */
export async function openForDigest(path: string | Buffer): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | (process.platform === 'win32' ? 0 : constants.O_NONBLOCK));
}

/** SHA-256 of all that the handle reads, in lower-case hex; `bytes` is about how much that is. Two pieces of memory at any length. */
export async function digestOf(handle: FileHandle, bytes: number, signal: AbortSignal | undefined): Promise<string> {
  const hash = createHash('sha256');
  const length = Math.min(PIECE_BYTES, Math.max(bytes, 1));
  let buffer = Buffer.allocUnsafe(length);
  let other = Buffer.allocUnsafe(length);
  let position = 0;
  let reading = handle.read(buffer, 0, length, position);
  for (;;) {
    const { bytesRead } = await reading;
    signal?.throwIfAborted();
    if (bytesRead === 0) return hash.digest('hex');
    position += bytesRead;
    reading = handle.read(other, 0, length, position);
    // It may fail while this piece is hashed; the next turn hears of it all the same.
    reading.catch(() => undefined);
    hash.update(buffer.subarray(0, bytesRead));
    [buffer, other] = [other, buffer];
  }
}
