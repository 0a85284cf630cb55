/**
 * Taking entries away: out of the tree by one rename each, never a part of one, and never one that somebody has pinned. The
 * lock of the entry only keeps from meddling with an installation; what keeps pinned entries is in `pins.ts` and needs no lock.
 */
import { readdir } from 'node:fs/promises';
import { makeDirectories } from '../atomic/index.ts';
import { fileSystemTime } from '../atomic/sweep.ts';
import { logger, publishEvent } from '../diagnostics.ts';
import { LockLostError, LockTimeoutError } from '../errors.ts';
import { hasSystemError } from '../system-errors.ts';
import type { CacheDirectories, StagingPlace } from './directories.ts';
import { lockEntry, type CacheLockStrategy, type EntryLock } from './entry-lock.ts';
import { sweepTrash } from './housekeeping.ts';
import { doomPackage, isPinned, type MarkContext } from './pins.ts';
import type { CheckedPolicy, PruneCandidate, PruneFailure, PruneResult } from './prune-policy.ts';
import { packageKey, removeRecords } from './records.ts';
import { surveyEntries, surveyEntry, type SurveyedEntry } from './survey.ts';
import { moveToTrash } from './trash.ts';

const log = logger('cache');

/** What a prune works with. */
export interface PruneContext {
  readonly directories: CacheDirectories;
  readonly place: StagingPlace;
  readonly lockStrategy: CacheLockStrategy;
  /** How long an entry without a record must have stayed unchanged. */
  readonly settleMs: number;
  /** The presence mark of this process. */
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** Times of a network file system that another host is writing to may be as old as this. */
const NETWORK_TIMES_MS = 60_000;

/** What is in the way of an entry's removal, if anything is; `'gone'`: somebody else has taken it away. */
type Outcome = 'removed' | 'pinned' | 'busy' | 'gone';

type Candidate = SurveyedEntry & { readonly shown: PruneCandidate };

/** Takes away what the policy says may go. */
export async function pruneEntries(policy: CheckedPolicy, context: PruneContext): Promise<PruneResult> {
  const { directories, place, signal } = context;
  // Somebody may have cleared away parts of the state since the cache was opened.
  for (const directory of [directories.locks, place.staging]) await makeDirectories(directory);
  if (!policy.dryRun) await emptyTrash(place, signal);
  const nowNs = await fileSystemTime(place.staging);
  const all = (await surveyEntries(directories, signal)).map((entry): Candidate => ({ ...entry, shown: candidateOf(entry, nowNs) }));
  const candidates = all
    .filter(({ shown }) => (policy.olderThanMs === undefined || shown.ageMs >= policy.olderThanMs) && policy.filter(shown))
    .sort((a, b) => (a.binding.mtimeNs < b.binding.mtimeNs ? -1 : a.binding.mtimeNs > b.binding.mtimeNs ? 1 : 0));
  const recordFiles = candidates.length === 0 ? new Map<string, string[]>() : await recordFilesByKey(directories.records);

  const removed: PruneCandidate[] = [];
  const pinned: PruneCandidate[] = [];
  const busy: PruneCandidate[] = [];
  const failed: PruneFailure[] = [];
  let kept = all.length;
  let keptBytes = all.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const entry of candidates) {
    signal.throwIfAborted();
    if (policy.maxBytes !== undefined && keptBytes <= policy.maxBytes) break;
    const { shown } = entry;
    let outcome: Outcome;
    try {
      outcome = policy.dryRun ? await foresee(entry, context, nowNs) : await prune(entry, context, nowNs, recordFiles.get(packageKey(shown.package)) ?? []);
    } catch (error) {
      signal.throwIfAborted();
      log('%s stays: %o', shown.path, error);
      failed.push({ entry: shown, error: error instanceof Error ? error : new Error(String(error)) });
      continue;
    }
    if (outcome === 'pinned') pinned.push(shown);
    if (outcome === 'busy') busy.push(shown);
    if (outcome === 'removed') removed.push(shown);
    if (outcome === 'removed' || outcome === 'gone') {
      kept -= 1;
      keptBytes -= shown.bytes;
    }
  }
  return { removed, pinned, busy, failed, removedBytes: removed.reduce((sum, { bytes }) => sum + bytes, 0), kept, keptBytes };
}

/** So that a job which prunes once a day gives back the space of the day before; it must not fail for that. */
async function emptyTrash(place: StagingPlace, signal: AbortSignal): Promise<void> {
  try {
    await sweepTrash(place, signal);
  } catch (error) {
    signal.throwIfAborted();
    log('sweeping %s failed: %o', place.trash, error);
  }
}

function candidateOf({ identity, place, bytes, binding, recorded }: SurveyedEntry, nowNs: bigint): PruneCandidate {
  return { ...identity, package: place.package, path: place.path, bytes, ageMs: Math.floor(Number(nowNs - binding.mtimeNs) / 1e6), recorded };
}

/** Of a dry run: neither lock nor mark is made. */
async function foresee(entry: Candidate, context: PruneContext, nowNs: bigint): Promise<Outcome> {
  if (isUnsettled(entry, context, nowNs)) return 'busy';
  return (await isPinned(entry.place.package, marksOf(context))) ? 'pinned' : 'removed';
}

async function prune(entry: Candidate, context: PruneContext, nowNs: bigint, recordFiles: readonly string[]): Promise<Outcome> {
  if (isUnsettled(entry, context, nowNs)) return 'busy';
  const lock = await tryLock(entry, context);
  if (lock === undefined) return 'busy';
  try {
    const doom = await doomPackage(entry.place.package, marksOf(context));
    if (doom === undefined) return 'pinned';
    try {
      return await takeAway(entry, context, lock, recordFiles);
    } finally {
      await doom.withdraw();
    }
  } catch (error) {
    if (error instanceof LockLostError) return 'busy';
    throw error;
  } finally {
    await lock.release();
  }
}

/** Somebody who installs or repairs is not waited for: what comes of that is not what was to go. */
async function tryLock({ place }: Candidate, { directories, lockStrategy, signal }: PruneContext): Promise<EntryLock | undefined> {
  try {
    return await lockEntry(place, { locks: directories.locks, strategy: lockStrategy, timeoutMs: 0, signal, onWait: () => undefined });
  } catch (error) {
    if (error instanceof LockTimeoutError) return undefined;
    throw error;
  }
}

async function takeAway(entry: Candidate, context: PruneContext, lock: EntryLock, recordFiles: readonly string[]): Promise<Outcome> {
  const { place, binding } = entry;
  const now = await surveyEntry(place);
  if (now === undefined) return 'gone';
  if (now.binding.inode !== binding.inode || now.binding.mtimeNs !== binding.mtimeNs) return 'busy';
  if (!now.recorded && isUnsettled(now, context, await fileSystemTime(context.place.staging))) return 'busy';
  await lock.assertHeld();
  context.signal.throwIfAborted();
  if (!(await moveToTrash(place, context.place.trash, context.owner))) return 'gone';
  // Those that were there before: an entry that comes after this one has a record of another name.
  await removeRecords(place.records, recordFiles).catch((error: unknown) => {
    log('records of %s stay for the next sweep: %o', place.package, error);
  });
  publishEvent('cache:pruned', { package: place.package, bytes: entry.bytes });
  return 'removed';
}

/** An entry without a record may be one that `terraform`, which has no lock, is writing at this moment. */
function isUnsettled(entry: Pick<SurveyedEntry, 'recorded' | 'changedNs'>, { settleMs, directories }: PruneContext, nowNs: bigint): boolean {
  const patience = settleMs + (directories.network ? NETWORK_TIMES_MS : 0);
  return !entry.recorded && Number(nowNs - entry.changedNs) / 1e6 < patience;
}

function marksOf({ directories, owner }: PruneContext): MarkContext {
  return { pins: directories.pins, presence: directories.presence, owner };
}

async function recordFilesByKey(records: string): Promise<Map<string, string[]>> {
  const names = await readdir(records).catch((error: unknown) => {
    if (hasSystemError(error, 'ENOENT')) return [];
    throw error;
  });
  const files = new Map<string, string[]>();
  for (const name of names.filter((file) => file.endsWith('.json'))) {
    const key = name.slice(0, name.indexOf('.'));
    const before = files.get(key);
    if (before === undefined) files.set(key, [name]);
    else before.push(name);
  }
  return files;
}
