/** Locks that are not to be had, or lost. */
import { because, RwxCacheError } from './base.ts';

/** Who holds a lock, as the holder wrote it down. Its clock is the holder's: show `since`, never compute with it. */
export interface LockHolder {
  /** The holder's host name. */
  readonly host: string;
  /** The holder's process id, in its own PID namespace. */
  readonly pid: number;
  /** When it took the lock, ISO 8601, by its own clock. */
  readonly since: string;
}

function holderText(holder: LockHolder | undefined): string {
  return holder === undefined ? 'a holder that left no name' : `process ${holder.pid} on ${holder.host} (since ${holder.since})`;
}

/** The lock was not to be had within `timeoutMs`. */
export class LockTimeoutError extends RwxCacheError {
  readonly code = 'ERR_LOCK_TIMEOUT';
  /** The lock file. */
  readonly path: string;
  /** How long this call waited, in milliseconds. */
  readonly timeoutMs: number;
  /** Who holds it, where that is known. */
  readonly holder: LockHolder | undefined;

  constructor(path: string, timeoutMs: number, holder: LockHolder | undefined) {
    super(`Lock ${path} was not free within ${timeoutMs} ms: held by ${holderText(holder)}; wait longer (timeoutMs) or look into that process`);
    this.path = path;
    this.timeoutMs = timeoutMs;
    this.holder = holder;
  }
}

/** A lock that was held is not any more: its file was replaced, the server fenced it, or no heartbeat got through. */
export class LockLostError extends RwxCacheError {
  readonly code = 'ERR_LOCK_LOST';
  /** The lock file. */
  readonly path: string;
  /** How the loss was noticed. */
  readonly reason: string;

  constructor(path: string, reason: string, cause?: unknown) {
    super(`Lock ${path} was lost: ${reason}; do not publish what it guarded, acquire it again`, because({ cause }));
    this.path = path;
    this.reason = reason;
  }
}

/** The mount, the platform, or a missing addon gives no lock of the kind asked for. */
export class LockUnsupportedError extends RwxCacheError {
  readonly code = 'ERR_LOCK_UNSUPPORTED';
  /** The lock file or directory. */
  readonly path: string;
  /** Why there is none. */
  readonly reason: string;

  constructor(path: string, reason: string, cause?: unknown) {
    super(`No such lock is to be had at ${path}: ${reason}`, because({ cause }));
    this.path = path;
    this.reason = reason;
  }
}
