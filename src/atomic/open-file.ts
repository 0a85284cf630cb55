/** A file together with the name that messages call it by. */
import type { FileHandle } from 'node:fs/promises';

/** An open file. Whoever opened it closes it. */
export interface OpenFile {
  /** Its path, as errors name it. */
  readonly path: string;
  /** Open for reading at least. */
  readonly handle: FileHandle;
}
