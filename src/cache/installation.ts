/**
 * The installation of one package, from the lock to the publish. One rename makes the package visible; everything
 * before it happens in private staging, and everything that may go wrong leaves the tree as it was.
 */
import { dirname } from 'node:path';
import { makeDirectories, publishDirectory, withStagingDirectory } from '../atomic/index.ts';
import { syncDirectory } from '../atomic/sync.ts';
import { touchDirectory } from '../atomic/touch-directory.ts';
import type { ArchiveLimits } from '../archive/index.ts';
import { logger, publishEvent } from '../diagnostics.ts';
import { EntryConflictError, FileSystemError, LockLostError, StagingLostError } from '../errors.ts';
import type { RegistryClient } from '../registry/index.ts';
import type { PackageSources } from '../registry/sources/multi-source.ts';
import { hasSystemError } from '../system-errors.ts';
import { judgeEntry, type BoundRecord, type Criteria, type Judgement } from './acceptance.ts';
import { watchForEntry } from './arrival.ts';
import { bindingOf, hashEntry, type EntryPlace } from './entry.ts';
import { lockEntry, type CacheLockStrategy, type EntryLock } from './entry-lock.ts';
import type { PartialDirectory } from './partial-store.ts';
import type { ProgressListener } from './progress.ts';
import type { Outcome, PackageIdentity } from './provider-package.ts';
import { readAllRecords, removeRecords, strengthenRecord, writeFirstRecord, writeRecord } from './records.ts';
import type { SignatureThread } from '../verify/signature-thread.ts';
import { waitUntilSettled } from './settle.ts';
import { stagePackage, type StagedPackage } from './staged-package.ts';
import { moveToTrash } from './trash.ts';

const log = logger('cache');

/** What an installation works with. */
export interface InstallationContext {
  readonly registry: RegistryClient;
  readonly sources: PackageSources;
  readonly locks: string;
  readonly lockStrategy: CacheLockStrategy;
  readonly lockTimeoutMs: number;
  readonly limits: ArchiveLimits | undefined;
  readonly signatures: () => SignatureThread;
  readonly onConflict: 'repair' | 'error';
  /** How long somebody else's entry must stay unchanged before it is moved away. */
  readonly settleMs: number;
  /** Where it is unpacked: on the entries' own mount. */
  readonly staging: string;
  /** Where entries go that are not the package; on that mount as well. */
  readonly trash: string;
  /** Downloads that earlier processes left, on that mount, too; `undefined`: none are kept. */
  readonly partials: PartialDirectory | undefined;
  /** The presence mark that names in both carry. */
  readonly owner: string;
}

/** One installation. */
export interface Installation {
  readonly identity: PackageIdentity;
  readonly place: EntryPlace;
  readonly criteria: Criteria;
  readonly signal: AbortSignal;
  readonly report: ProgressListener;
}

/** What came of it. */
export interface InstallationResult {
  readonly bound: BoundRecord;
  readonly outcome: Exclude<Outcome, 'hit'>;
}

/** A lost lock or staging directory is no fault of the package: the work starts again, this many times in all. */
const ATTEMPTS = 3;

/** Installs the package, unless another process did while this one waited for the lock. */
export async function installPackage(task: Installation, context: InstallationContext): Promise<InstallationResult> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await installOnce(task, context);
    } catch (error) {
      const lost = error instanceof LockLostError || error instanceof StagingLostError;
      const cleared = error instanceof FileSystemError && error.systemCode === 'ENOENT';
      // What nobody came for must not be the reason why there is no room.
      const relieved = error instanceof FileSystemError && hasSystemError(error, 'ENOSPC', 'EDQUOT') && (await context.partials?.makeRoom()) === true;
      if (!(lost || cleared || relieved) || attempt >= ATTEMPTS || task.signal.aborted) throw error;
      // Somebody may have cleared away parts of the state since the cache was opened, or long before. Looking each time would cost a round trip each.
      if (cleared) for (const directory of [context.locks, task.place.records, context.staging]) await makeDirectories(directory);
      log('starting again: %s', error.message);
      publishEvent('cache:started-again', { package: task.place.package, reason: error.code });
    }
  }
}

/** The entry's lock, or, where that has to be waited for, the entry itself as soon as it has come. */
async function lockOrJoin(task: Installation, context: InstallationContext): Promise<EntryLock | BoundRecord> {
  const { place, criteria, report } = task;
  const arrival = watchForEntry(place, criteria);
  try {
    return await lockEntry(place, {
      locks: context.locks,
      strategy: context.lockStrategy,
      timeoutMs: context.lockTimeoutMs,
      signal: AbortSignal.any([task.signal, arrival.signal]),
      onWait: ({ holder, waitedMs }) => {
        arrival.begin();
        report({ phase: 'waiting', package: place.package, holder, waitedMs });
      },
    });
  } catch (error) {
    const bound = task.signal.aborted ? undefined : arrival.found();
    if (bound === undefined) throw error;
    return bound;
  } finally {
    arrival.end();
  }
}

/** The second look, under the lock. */
async function judgeLocked(place: EntryPlace, criteria: Criteria, lock: EntryLock): Promise<Judgement> {
  const judgement = await judgeEntry(place, criteria);
  // Whoever published it may have been killed before its name was durable.
  if (judgement.verdict === 'accepted') await syncDirectory(dirname(place.path)).catch(() => undefined);
  if (judgement.verdict !== 'missing' || !place.network || !lock.usedBefore) return judgement;
  // Missing, though somebody has been here before: the last chance that it is a cache's answer, before a download.
  return (await touchDirectory(dirname(place.path))) ? judgeEntry(place, criteria) : judgement;
}

async function installOnce(task: Installation, context: InstallationContext): Promise<InstallationResult> {
  const { place, criteria, report } = task;
  const lock = await lockOrJoin(task, context);
  if ('record' in lock) return { bound: lock, outcome: 'joined' };
  try {
    const signal = AbortSignal.any([task.signal, lock.signal]);
    const judgement = await judgeLocked(place, { ...criteria, signal }, lock);
    if (judgement.verdict === 'accepted') return { bound: judgement.bound, outcome: judgement.adopted ? 'adopted' : 'joined' };
    return await withStagingDirectory(
      context.staging,
      async (directory) => {
        const staged = await stagePackage(task.identity, directory, {
          registry: context.registry,
          sources: context.sources,
          rules: criteria.rules,
          expectedHashes: criteria.expectedHashes,
          limits: context.limits,
          signatures: context.signatures,
          partials: context.partials,
          report,
          signal,
        });
        return publishStaged({ ...task, signal }, staged, lock, context, judgement.verdict !== 'missing');
      },
      // No signal: an abort is over only when nothing is left behind.
      { owner: context.owner },
    );
  } catch (error) {
    // With its lease a client that was cut off loses what it had open as well: then it is the lock that was lost.
    if (hasSystemError(error, 'EIO', 'EBADF', 'ESTALE')) await lock.assertHeld();
    throw error;
  } finally {
    await lock.release();
  }
}

/** A `terraform` without our lock may put something there again and again; five times is no accident any more. */
const PUBLISH_ROUNDS = 5;

async function publishStaged(task: Installation, staged: StagedPackage, lock: EntryLock, context: InstallationContext, present: boolean): Promise<InstallationResult> {
  const { place } = task;
  let blocked = present;
  let moved = false;
  for (let round = 0; round < PUBLISH_ROUNDS; round += 1) {
    if (blocked) {
      const proved = await settleConflict(task, staged, context);
      if (proved !== undefined) return { bound: proved, outcome: 'adopted' };
      // What follows the move must not fail for want of it.
      await makeDirectories(place.records);
      await lock.assertHeld();
      await moveToTrash(place, context.trash, context.owner);
      moved = true;
    }
    const bound = await publishOnce(task, staged, lock);
    if (bound !== undefined) {
      // The package is there: what is left to clear away fails nobody, and is swept. Those of an entry that somebody else removed are the sweep's, too.
      if (moved) {
        await removeOtherRecords(place, bound.file).catch((error: unknown) => {
          log('old records of %s stay: %o', place.package, error);
        });
      }
      publishEvent('cache:published', { package: place.package, repaired: moved });
      return { bound, outcome: moved ? 'repaired' : 'installed' };
    }
    blocked = true;
  }
  throw new EntryConflictError(place.path, staged.record.h1, 'something else, put there again and again');
}

/** Those of the entry that was moved to the trash. */
async function removeOtherRecords(place: EntryPlace, file: string): Promise<void> {
  const records = await readAllRecords(place.records, place.package);
  await removeRecords(
    place.records,
    records.map((stored) => stored.file).filter((name) => name !== file),
  );
}

/** The zip proves whatever has its hash: the entry stays, and gets a record. */
async function adoptProved({ place, signal }: Installation, staged: StagedPackage): Promise<BoundRecord | undefined> {
  const hashed = await hashEntry(place, signal);
  if (hashed?.h1 !== staged.record.h1) return undefined;
  const record = { ...staged.record, executable: hashed.executable };
  const weaker = hashed.records.map((stored) => stored.file);
  const [first] = weaker;
  const file = first === undefined ? await writeRecord(place.records, hashed.binding, record) : await strengthenRecord(place.records, hashed.binding, record, weaker);
  publishEvent('cache:adopted', { package: place.package, provedBy: 'archive' });
  return { file, record, binding: hashed.binding };
}

/**
 * Somebody else's entry that is not the package, or not yet: `terraform` may be half-way. It is watched until nobody
 * writes to it any more. Answers its record when it has become the package; else it may be moved away.
 */
async function settleConflict(task: Installation, staged: StagedPackage, { settleMs, onConflict }: InstallationContext): Promise<BoundRecord | undefined> {
  const { place, signal, report } = task;
  const already = await adoptProved(task, staged);
  if (already !== undefined) return already;
  await waitUntilSettled(place.path, settleMs, {
    signal,
    onLook: (unchangedMs) => {
      report({ phase: 'settling', package: place.package, unchangedMs, settleMs });
    },
  });
  const adopted = await adoptProved(task, staged);
  if (adopted !== undefined || onConflict === 'repair') return adopted;
  const hashed = await hashEntry(place, signal);
  throw new EntryConflictError(place.path, staged.record.h1, hashed?.h1 ?? 'nothing that can be hashed');
}

/** Record, fence, rename. Answers `undefined` when someone without our lock was first. */
async function publishOnce({ place, report, signal }: Installation, staged: StagedPackage, lock: EntryLock): Promise<BoundRecord | undefined> {
  report({ phase: 'publishing', package: place.package });
  const binding = await bindingOf(staged.directory);
  if (binding === undefined) throw new StagingLostError(staged.directory);
  const file = await writeFirstRecord(place.records, binding, staged.record);
  let published = false;
  try {
    await lock.assertHeld();
    signal.throwIfAborted();
    ({ published } = await publishDirectory(staged.directory, place.path));
    return published ? { file, record: staged.record, binding } : undefined;
  } finally {
    // A record must not outlive the entry that it is bound to, and this one never came to be.
    if (!published) await removeRecords(place.records, [file]);
  }
}
