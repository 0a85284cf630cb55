/**
 * Watches, while this process waits for an entry's lock on a network, whether the entry has come meanwhile. Without it each of those who wait for one
 * download takes the lock in turn, looks, and lets go, a poll of up to 200 ms each: the last of thirty waits seconds for what is there. Reads only;
 * what it cannot tell is left to whoever gets the lock.
 */
import { delay } from '../abort.ts';
import { logger } from '../diagnostics.ts';
import { judgeEntry, type BoundRecord, type Criteria } from './acceptance.ts';
import { bindingOf, type EntryPlace } from './entry.ts';

const log = logger('cache');

/** One round trip each. */
const LOOK_EVERY_MS = 75;
/** Where a look itself takes long, everybody asks too much: the pauses grow with it, up to this. */
const LONGEST_PAUSE_MS = 250;

/** One watch. */
export interface Arrival {
  /** Aborts when the entry has come. */
  readonly signal: AbortSignal;
  /** The entry, as soon as it has come. */
  found(): BoundRecord | undefined;
  /** Begins to look, where that is of use; once is enough. */
  begin(): void;
  /** No look begins after it. */
  end(): void;
}

/** Prepares a watch; nothing is looked at before it is begun. */
export function watchForEntry(place: EntryPlace, criteria: Criteria): Arrival {
  const come = new AbortController();
  const ended = new AbortController();
  let bound: BoundRecord | undefined;
  let begun = false;

  const watch = async (): Promise<void> => {
    let seen: string | undefined;
    let tookMs = 0;
    while (bound === undefined) {
      await delay(Math.min(Math.max(LOOK_EVERY_MS, 3 * tookMs), LONGEST_PAUSE_MS), ended.signal);
      const begun = performance.now();
      const binding = await bindingOf(place.path);
      tookMs = performance.now() - begun;
      if (binding === undefined) continue;
      // What somebody else writes there is judged, and so hashed, once; the lock is what is waited for then.
      const look = `${binding.inode} ${binding.mtimeNs}`;
      if (look === seen) continue;
      seen = look;
      const judgement = await judgeEntry(place, criteria);
      if (judgement.verdict === 'accepted' && !judgement.adopted && !ended.signal.aborted) bound = judgement.bound;
    }
    come.abort();
  };

  return {
    signal: come.signal,
    found: () => bound,
    begin: () => {
      if (begun || !place.network) return;
      begun = true;
      watch().catch((error: unknown) => {
        if (!ended.signal.aborted) log('%s is not watched any more: %o', place.package, error);
      });
    },
    end: () => {
      ended.abort();
    },
  };
}
