/** The options of the cache's calls. Types only; `options.ts` checks them. */
import type { ProgressListener } from './progress.ts';

/** Options of `ensure`. */
export interface EnsureOptions {
  /**
   * Hashes with their schemes (`h1:…`, `zh:…`), of which the package must have one, whatever the outcome: those of a
   * dependency lock file. They prove an entry that somebody else put there, and stand in for a signature.
   */
  readonly expectedHashes?: readonly string[] | undefined;
  /**
   * Keeps the package from being pruned until the package's `pin` is released or the process ends. Default false. See
   * `pin` for what a pin is and what it is not.
   */
  readonly pin?: boolean | undefined;
  /** Ends this call's wait within 100 ms, with the signal's reason. The work goes on for other callers, and stops with the last one. */
  readonly signal?: AbortSignal | undefined;
  /** Hears what is being done. */
  readonly onProgress?: ProgressListener | undefined;
}

/** Options of `lookup`. */
export type LookupOptions = Pick<EnsureOptions, 'expectedHashes' | 'signal'>;

/** Options of `list`. */
export type ListOptions = Pick<EnsureOptions, 'signal'>;

/** Options of `pin`. */
export type PinOptions = Pick<EnsureOptions, 'signal'>;
