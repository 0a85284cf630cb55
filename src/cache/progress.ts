/** What the cache tells while it works: the events, and how a listener is told. */
import type { LockHolder } from '../errors.ts';

/** What all events have. */
interface AboutPackage {
  /** The package's path below the providers directory. */
  readonly package: string;
}

/** Another process or host is at the same package. Repeated while the wait lasts. */
export interface WaitingEvent extends AboutPackage {
  /** Tells the events apart. */
  readonly phase: 'waiting';
  /** Who holds the lock, where that is known. */
  readonly holder: LockHolder | undefined;
  /** How long this call has been waiting, in milliseconds. */
  readonly waitedMs: number;
}

/** The registry is asked for the package; checksums and signature are checked; the verified package is moved into its place. */
export interface StepEvent extends AboutPackage {
  /** Tells the events apart. */
  readonly phase: 'resolving' | 'verifying' | 'publishing';
}

/** Bytes of the zip have come in. */
export interface DownloadingEvent extends AboutPackage {
  /** Tells the events apart. */
  readonly phase: 'downloading';
  /** Bytes so far; a download that cannot be continued starts again. */
  readonly receivedBytes: number;
  /** Bytes in all; unknown until the server announces it. */
  readonly totalBytes: number | undefined;
}

/** Bytes have been unpacked into staging. */
export interface UnpackingEvent extends AboutPackage {
  /** Tells the events apart. */
  readonly phase: 'unpacking';
  /** Bytes so far. */
  readonly writtenBytes: number;
  /** Bytes in all. */
  readonly totalBytes: number;
}

/** An entry that is not the package is there; it is watched until it has stayed unchanged for a while. */
export interface SettlingEvent extends AboutPackage {
  /** Tells the events apart. */
  readonly phase: 'settling';
  /** How long it has been unchanged, in milliseconds. */
  readonly unchangedMs: number;
  /** How long it must be, in milliseconds. */
  readonly settleMs: number;
}

/** One step of the work on a package. */
export type ProgressEvent = WaitingEvent | StepEvent | DownloadingEvent | UnpackingEvent | SettlingEvent;

/** Receives progress. What it throws is dropped: a report cannot fail the work. */
export type ProgressListener = (event: ProgressEvent) => void;

/** What several packages have come to together. */
export interface OverallEvent {
  /** Tells the events apart. */
  readonly phase: 'overall';
  /** How many packages there are; equal requests count once. */
  readonly packages: number;
  /** How many of them have been had. */
  readonly packagesDone: number;
  /** How many have failed. */
  readonly packagesFailed: number;
  /** Bytes of all downloads so far; a download that starts again takes its own back. */
  readonly receivedBytes: number;
  /** Bytes of the downloads that have begun, in all; grows as more begin, and is unknown while a server has not said how large its zip is. */
  readonly totalBytes: number | undefined;
}

/** Receives the progress of several packages: each one's, and the whole's. What it throws is dropped. */
export type OverallListener = (event: ProgressEvent | OverallEvent) => void;

/** A listener's fault is the listener's own: the work and the other callers go on. */
export function tell<T>(listener: (event: T) => void, event: T): void {
  try {
    listener(event);
  } catch {
    // Dropped, as its type says.
  }
}
