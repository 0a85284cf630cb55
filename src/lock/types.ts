/** The shape of a lock and of the options that ask for one. Types only. */
import type { LockHolder } from '../errors.ts';

/** How a lock is made: by the kernel, or as a lease (a directory that its holder keeps renewing). */
export type LockStrategy = 'kernel' | 'lease';

/** `'exclusive'`: one holder. `'shared'`: many holders, but none beside an exclusive one. */
export type LockMode = 'exclusive' | 'shared';

/** What a waiter hears while the lock is held by someone else. */
export interface WaitInfo {
  /** The lock file. */
  readonly path: string;
  /** Who holds it, as the holder wrote it down; `undefined` where it left no name (OpenTofu does not). For messages only. */
  readonly holder: LockHolder | undefined;
  /** How long this call has been waiting, in milliseconds. */
  readonly waitedMs: number;
}

/** How long a call waits for a lock, and what it tells meanwhile. */
export interface WaitOptions {
  /**
   * Gives up after so many milliseconds, with a `LockTimeoutError`. 0 tries once. Default: waits without limit. A lock that is free is
   * got in any case: for the first try the file system has two seconds, even where this is less.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Ends the wait at once; the call rejects with the signal's reason. A lock that is already held is not affected.
   *
   * On a local disk the kernel's queue cannot be left: its thread waits on, takes the lock when its turn comes, and gives it back at
   * once. Until then the process does not end by itself; `process.exit()` ends it.
   */
  readonly signal?: AbortSignal | undefined;
  /** Called as soon as the lock is found held by someone else, and once a second from then on. What it throws ends the wait and is thrown by the call. */
  readonly onWait?: ((info: WaitInfo) => void) | undefined;
}

/** Options of {@link acquireLock} and {@link withLock}. */
export interface LockOptions extends WaitOptions {
  /**
   * `'auto'` (the default) and `'kernel'` are kernel locks or a `LockUnsupportedError`: nothing falls back by itself. `'auto'` also refuses a network
   * mount whose locks reach only this host; `'kernel'` takes them as they are. `'lease'` is for mounts whose kernel locks do not work. A lease
   * and a kernel lock of one path do not exclude each other.
   */
  readonly strategy?: 'auto' | LockStrategy | undefined;
  /** Default `'exclusive'`. Leases are exclusive only. */
  readonly mode?: LockMode | undefined;
  /**
   * The term, in milliseconds: when no heartbeat has got through for so long, the lock counts as lost. Default 30 000, at least 3000.
   * Kernel locks have a heartbeat on network file systems only. The event loop must not be blocked for as long as this.
   */
  readonly leaseMs?: number | undefined;
}

/** A lock that is held until {@link Lock.release} or the end of its process. */
export interface Lock extends AsyncDisposable {
  /** The lock file, as an absolute path. */
  readonly path: string;
  /** How it is held. */
  readonly strategy: LockStrategy;
  /** Whether it is held alone. */
  readonly mode: LockMode;
  /** Aborts, with a `LockLostError`, when the lock is found to be lost. It never aborts through `release()`. */
  readonly signal: AbortSignal;
  /**
   * `false`: nobody has held it before, as far as its file tells.
   *
   * @internal
   */
  readonly usedBefore?: boolean | undefined;
  /**
   * Asks the file system whether the lock is still held. Call it right before publishing what the lock guards. It is no fence:
   * a holder that is cut off after the answer may still publish, so what is published must be harmless twice.
   *
   * @throws LockLostError when it is not held (any more), or when no answer came within the term.
   */
  assertHeld(): Promise<void>;
  /** Releases the lock. May be called again, never rejects, and never touches a lock that somebody else holds by now. */
  release(): Promise<void>;
}
