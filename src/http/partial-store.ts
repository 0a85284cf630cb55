/** Where downloads leave what they have, for a later process. The interface; a cache implements it on its volume. */
import type { FileHandle } from 'node:fs/promises';
import type { OpenFile } from '../atomic/index.ts';
import type { Representation } from './range.ts';

/** A representation of known size. */
export type SizedRepresentation = Representation & { readonly totalBytes: number };

/** The beginning of a download, as another process left it, or is still writing it. */
export interface FoundPartial {
  /** Open for reading only. Whoever gets it closes it. */
  readonly handle: FileHandle;
  /** How many bytes of it there are, at most the size of the whole. None is proved to be right. */
  readonly bytes: number;
  /** Takes it away, so that nobody begins with it any more. Never rejects. */
  readonly remove: () => Promise<void>;
}

/** A download that is kept. */
export interface KeptPartial {
  /** Keeps it no longer. Never rejects. */
  readonly remove: () => Promise<void>;
}

/** Partial downloads by the SHA-256 (lower-case hex) of the whole. No method ever rejects: a download needs none of it. */
export interface PartialStore {
  /** The longest beginning of just this representation that the owner of `own` (the new download's file) has left; `undefined` when there is none. */
  readonly find: (sha256: string, of: SizedRepresentation, own: OpenFile) => Promise<FoundPartial | undefined>;
  /** Keeps a file that is being written: what is in it by the time that this process ends, however it ends, will be found. */
  readonly keep: (sha256: string, of: SizedRepresentation, file: OpenFile) => Promise<KeptPartial | undefined>;
}
