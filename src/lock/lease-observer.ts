/**
 * When a lease is stale: when this process has seen it unchanged for longer than its term, on its own monotonic clock. No time stamp is
 * ever compared with a clock, so neither a wrong clock nor one that jumps has any say.
 */
import { termOf, type LeaseSight } from './lease-directory.ts';

/** Remembers what was seen of one lease. */
export interface LeaseObserver {
  /** Whether the lease, as just seen, is stale. */
  isStale(sight: LeaseSight): boolean;
}

/** Nobody who can write a name into the directory may stop the others for longer than this. */
const LONGEST_TERM_MS = 3_600_000;

/** The holder's term counts, which its token carries; `ownTermMs` where that is no token of ours. */
export function observeLease(ownTermMs: number): LeaseObserver {
  let fingerprint: string | undefined;
  let seenAt = 0;
  return {
    isStale: (sight) => {
      if (sight.fingerprint !== fingerprint) {
        fingerprint = sight.fingerprint;
        // From the end of the first look to the beginning of the last: less than the truth, never more.
        seenAt = sight.endedAt;
        return false;
      }
      const termMs = Math.min(Math.max(...sight.tokens.map((token) => termOf(token) ?? ownTermMs)), LONGEST_TERM_MS);
      return sight.begunAt - seenAt > termMs;
    },
  };
}
