/** What `ensure` tells while it works. Types only. */
import type { LockHolder } from '../errors.ts';

/** One step of the work on a package, in the order in which they come; a retried download starts its bytes again. */
export type ProgressEvent =
  /** Another process or host is at the same package. Repeated while the wait lasts. */
  | { readonly phase: 'waiting'; readonly package: string; readonly holder: LockHolder | undefined; readonly waitedMs: number }
  /** The registry is asked for the package. */
  | { readonly phase: 'resolving'; readonly package: string }
  /** Bytes of the zip have come in. `totalBytes` is unknown until the server announces it. */
  | { readonly phase: 'downloading'; readonly package: string; readonly receivedBytes: number; readonly totalBytes: number | undefined }
  /** Checksums and signature are checked, or an entry that is already there is hashed. */
  | { readonly phase: 'verifying'; readonly package: string }
  /** Bytes have been unpacked into staging. */
  | { readonly phase: 'unpacking'; readonly package: string; readonly writtenBytes: number; readonly totalBytes: number }
  /** An entry that is not the package is there; it is watched until it has stayed unchanged for `settleMs`. */
  | { readonly phase: 'settling'; readonly package: string; readonly unchangedMs: number; readonly settleMs: number }
  /** The verified package is moved into its place. */
  | { readonly phase: 'publishing'; readonly package: string };

/** Receives progress. What it throws is dropped: a report cannot fail the work. */
export type ProgressListener = (event: ProgressEvent) => void;
