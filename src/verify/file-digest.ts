/** SHA-256 of files, read in pieces: the next piece is read while the one before is hashed. Only reads. */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

const PIECE_BYTES = 1024 * 1024;

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
