/**
 * Whether what stands in the cache may be handed out to one caller, by rule 6 of the design: what someone else put
 * there proves nothing. Proof is a record of ours, or hashes that the caller expects; the verified zip is a third one,
 * and the business of an installation. Takes no lock; writes nothing but records.
 */
import { publishEvent } from '../diagnostics.ts';
import { HashMismatchError, HashUnprovenError } from '../errors.ts';
import { hasSystemError } from '../system-errors.ts';
import { matchesExpected } from '../verify/package-hash.ts';
import { hashEntry, inspectEntry, isSameExecutable, type EntryPlace, type HashedEntry } from './entry.ts';
import { recordHashes } from './provider-package.ts';
import type { EntryRecord } from './record-format.ts';
import { recordFile, removeRecords, strengthenRecord, writeRecord, type EntryBinding, type StoredRecord } from './records.ts';
import { satisfiesRules, type VerificationRules } from './verification-policy.ts';

/** What one caller asks of an entry. */
export interface Criteria {
  readonly rules: VerificationRules;
  /** Hashes with their schemes; empty: none are expected. */
  readonly expectedHashes: readonly string[];
  /** Whether a hit is hashed anew. */
  readonly hashHits: boolean;
  readonly offline: boolean;
  readonly readOnly: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** A record that is bound to the entry as it is now. */
export type BoundRecord = StoredRecord & { readonly binding: EntryBinding };

/** The answer. */
export type Judgement =
  /** It may be handed out; `adopted` when it was somebody else's until now. */
  | { readonly verdict: 'accepted'; readonly bound: BoundRecord; readonly adopted: boolean }
  /** Nothing is there. */
  | { readonly verdict: 'missing' }
  /** Something is there that nothing here proves, or proves well enough. */
  | { readonly verdict: 'unproven' };

/**
 * Judges what stands at a place. `known` is what this process has seen there before: a repeated hit then costs two
 * looks from outside and no read.
 *
 * @throws HashMismatchError when the entry is the package that was recorded, and has none of the expected hashes.
 * @throws HashUnprovenError when only the zip could prove the expected hashes, and `offline` is set.
 */
export async function judgeEntry(place: EntryPlace, criteria: Criteria, known?: BoundRecord): Promise<Judgement> {
  criteria.signal?.throwIfAborted();
  const state = await inspectEntry(place, known);
  if (state.kind === 'missing') return { verdict: 'missing' };
  if (state.kind === 'obstacle') return { verdict: 'unproven' };
  if (state.kind === 'recorded' && !criteria.hashHits) return judgeRecord(place, criteria, { ...state.stored, binding: state.binding });
  const hashed = await hashEntry(place, criteria.signal);
  if (hashed === undefined) return { verdict: 'unproven' };
  if (hashed.match !== undefined) return judgeRecord(place, criteria, await bindAnew(place, criteria, hashed, hashed.match));
  return adoptExpected(place, criteria, hashed);
}

function judgeRecord(place: EntryPlace, criteria: Criteria, bound: BoundRecord): Judgement {
  const { expectedHashes, rules } = criteria;
  if (expectedHashes.length === 0) {
    return satisfiesRules(rules, bound.record.provenance) ? { verdict: 'accepted', bound, adopted: false } : { verdict: 'unproven' };
  }
  const hashes = recordHashes(bound.record);
  const match = matchesExpected(expectedHashes, hashes);
  if (match === 'match') return { verdict: 'accepted', bound, adopted: false };
  if (match === 'mismatch') throw new HashMismatchError(place.package, expectedHashes, hashes);
  if (criteria.offline) throw new HashUnprovenError(place.package, expectedHashes);
  return { verdict: 'unproven' };
}

/**
 * An entry that was restored, copied or touched has its recorded hash and looks different: its record is written anew. One that was
 * written in place with the same bytes (as terraform does) keeps the look of its directory, and with it the name of its record: there
 * the old record gives way. One that looks as recorded is left alone.
 */
async function bindAnew(place: EntryPlace, criteria: Criteria, hashed: HashedEntry, match: StoredRecord): Promise<BoundRecord> {
  const { binding, executable, records } = hashed;
  const record: EntryRecord = { ...match.record, executable };
  const files = records.map((stored) => stored.file);
  const own = recordFile(place.package, binding);
  if (match.file === own && isSameExecutable(match.record.executable, executable)) return { ...match, binding };
  const file = await keepRecord(criteria, () =>
    files.includes(own) ? strengthenRecord(place.records, binding, record, files) : writeRecord(place.records, binding, record),
  );
  if (file !== undefined) {
    await removeRecords(
      place.records,
      files.filter((name) => name !== file),
    );
  }
  return { file: file ?? match.file, record, binding };
}

/** Somebody else's entry that has a hash which the caller expects. */
async function adoptExpected(place: EntryPlace, criteria: Criteria, hashed: HashedEntry): Promise<Judgement> {
  if (matchesExpected(criteria.expectedHashes, [hashed.h1]) !== 'match') return { verdict: 'unproven' };
  const record: EntryRecord = {
    package: place.package,
    h1: hashed.h1,
    zh: undefined,
    unpacked: undefined,
    executable: hashed.executable,
    provenance: {
      provedBy: 'expected-hashes',
      source: undefined,
      url: undefined,
      archiveBytes: undefined,
      checksum: 'not-checked',
      signature: { status: 'not-checked' },
      installedAt: new Date().toISOString(),
    },
  };
  const file = await keepRecord(criteria, () => writeRecord(place.records, hashed.binding, record));
  publishEvent('cache:adopted', { package: place.package, provedBy: 'expected-hashes' });
  return { verdict: 'accepted', adopted: true, bound: { file: file ?? '', record, binding: hashed.binding } };
}

/** A cache that cannot be written still serves hits: it only hashes again next time. */
async function keepRecord(criteria: Criteria, write: () => Promise<string>): Promise<string | undefined> {
  if (criteria.readOnly) return undefined;
  try {
    return await write();
  } catch (error) {
    if (hasSystemError(error, 'EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOENT')) return undefined;
    throw error;
  }
}
