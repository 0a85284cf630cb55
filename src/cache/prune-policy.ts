/** What a caller of `prune` says may go, and what it is told. Types and checks; pure. */
import { InvalidOptionError } from '../errors.ts';
import { checkSignal } from './options.ts';
import type { PackageIdentity } from './provider-package.ts';

/**
 * What may be taken away. All conditions that are given must hold for an entry that goes; `olderThanMs`, `maxBytes` or `filter` must be
 * given. (What is to go for one reason **or** another takes two calls.)
 */
export interface PrunePolicy {
  /**
   * Only entries that were installed longer ago than this, in milliseconds, go. Both times are the file system's own: the one of the entry's
   * directory, and now. When an entry was last used is not known: a hit writes nothing. Left out, age is no condition: entries that are from the
   * future by that clock go as well.
   */
  readonly olderThanMs?: number | undefined;
  /** Entries go, the oldest first, until all that are left take at most so many bytes; those that may not go count as well, and what lies in the trash does not. 0: everything. */
  readonly maxBytes?: number | undefined;
  /** Only entries for which it answers `true` go. What it throws ends the call, and so does an answer that is neither true nor false. */
  readonly filter?: ((entry: PruneCandidate) => boolean) | undefined;
  /** Nothing is taken away; the result says what would be; a `readOnly` cache refuses that as well. Default false. */
  readonly dryRun?: boolean | undefined;
  /** Ends the call within 100 ms, with the signal's reason. What has gone until then stays gone; nothing is left half. */
  readonly signal?: AbortSignal | undefined;
}

/** An entry, as a policy sees it. */
export interface PruneCandidate extends PackageIdentity {
  /** The entry's path below the providers directory. */
  readonly package: string;
  /** Its absolute path. */
  readonly path: string;
  /** The size of its files in bytes. */
  readonly bytes: number;
  /** How long ago it was installed, in milliseconds, by the clock of the file system; negative when that was set back since. */
  readonly ageMs: number;
  /** Whether this cache installed or proved it; `false`: somebody else put it there, or it was changed since. */
  readonly recorded: boolean;
}

/** An entry that was to go and could not be taken away. */
export interface PruneFailure {
  /** The entry. It is as it was. */
  readonly entry: PruneCandidate;
  /** Why: no right to move it, for example. */
  readonly error: Error;
}

/** What came of a prune. */
export interface PruneResult {
  /** Entries that are gone (with `dryRun`: that would be), the oldest first. */
  readonly removed: readonly PruneCandidate[];
  /** Entries that would have gone, and stay because somebody has pinned them. */
  readonly pinned: readonly PruneCandidate[];
  /** Entries that would have gone, and stay because somebody is at them: installs, repairs, prunes, or still writes them. */
  readonly busy: readonly PruneCandidate[];
  /** Entries that would have gone, and stay because of an error. The call itself does not fail for them. */
  readonly failed: readonly PruneFailure[];
  /** How many bytes the removed entries have. */
  readonly removedBytes: number;
  /** How many entries there are still. */
  readonly kept: number;
  /** How many bytes those have. */
  readonly keptBytes: number;
}

/** A policy whose conditions are known to be fit. */
export type CheckedPolicy = Readonly<Required<Omit<PrunePolicy, 'signal' | 'olderThanMs' | 'maxBytes'>>> & {
  readonly olderThanMs: number | undefined;
  readonly filter: (entry: PruneCandidate) => boolean;
  readonly maxBytes: number | undefined;
};

/** All that a policy may say. */
const WORDS: Readonly<Record<keyof PrunePolicy, true>> = { olderThanMs: true, maxBytes: true, filter: true, dryRun: true, signal: true };

/**
 * Checks a policy. One without a condition is refused: it would say nothing about what may go, and must not mean everything. So is one with a word that
 * means nothing here: a condition that is spelt wrong would hold for every entry.
 *
 * @throws InvalidOptionError
 */
export function checkPolicy(policy: PrunePolicy): CheckedPolicy {
  const given: unknown = policy;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new InvalidOptionError('policy', 'it is an object with olderThanMs, maxBytes or filter');
  }
  const unknown = Object.keys(given).find((word) => !Object.hasOwn(WORDS, word));
  if (unknown !== undefined) throw new InvalidOptionError(unknown, `a policy has ${Object.keys(WORDS).join(', ')}`);
  const { olderThanMs, maxBytes, filter, dryRun = false, signal } = policy;
  checkSignal(signal);
  if (olderThanMs === undefined && maxBytes === undefined && filter === undefined) {
    throw new InvalidOptionError('policy', 'nothing in it says what may go; give olderThanMs, maxBytes or filter (maxBytes: 0 is everything)');
  }
  if (olderThanMs !== undefined && !isAmount(olderThanMs)) throw new InvalidOptionError('olderThanMs', 'it is a number of milliseconds, 0 or more');
  if (maxBytes !== undefined && !isAmount(maxBytes)) throw new InvalidOptionError('maxBytes', 'it is a number of bytes, 0 or more');
  if (filter !== undefined && typeof filter !== 'function') throw new InvalidOptionError('filter', 'it is a function that answers true or false');
  if (typeof dryRun !== 'boolean') throw new InvalidOptionError('dryRun', 'it is true or false');
  return { olderThanMs, maxBytes, filter: filter === undefined ? () => true : (entry) => answerOf(filter(entry)), dryRun };
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** A promise would be as good as `true`, and take everything away. */
function answerOf(answer: unknown): boolean {
  if (typeof answer !== 'boolean') throw new InvalidOptionError('filter', 'it answers true or false, and no promise of that');
  return answer;
}
