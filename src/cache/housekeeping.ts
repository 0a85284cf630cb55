/**
 * Clears away what dead processes left: staging, partial downloads, pins, presence marks, trash, records of entries that never came
 * to be, and documents that nobody has asked for in a long time. Never fails its caller, and never touches an entry. Ages are differences between two times of the same file
 * system; nobody's clock is asked.
 */
import { constants } from 'node:fs';
import { open, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { statFresh, sweepDirectory, type Swept } from '../atomic/index.ts';
import { logger, publishEvent } from '../diagnostics.ts';
import { hasSystemError } from '../system-errors.ts';
import type { CacheDirectories, StagingPlace } from './directories.ts';
import { sweepDocuments } from './metadata-files.ts';
import { ownPartials } from './partial-store.ts';
import { sweepPartials } from './partial-sweep.ts';
import { sweepMarks } from './marks.ts';
import { presenceOf, type Presence } from './presence.ts';
import { bindingOf } from './entry.ts';
import { readBoundRecord, readRecordFile, recordFile, type StoredRecord } from './records.ts';

const log = logger('cache');

/** How long things are left alone, in milliseconds of the file system's own clock. */
export interface HousekeepingAges {
  /** Staging and pins of the dead. A process that a server has taken its locks from may still be at work. */
  readonly deadMs: number;
  /** Trash. Binaries may still be running from it, on hosts that nobody here can see. */
  readonly trashMs: number;
  /** Records without an entry: one that is being published has its record already. */
  readonly recordMs: number;
  /** Presence marks. Where no kernel lock tells the living from the dead: far longer than any installation. */
  readonly presenceMs: number;
  /** Partial downloads that nobody came for. */
  readonly partialMs: number;
  /** Documents of registries. Offline they are used at any age. */
  readonly metadataMs: number;
  /** Between two sweeps, of all processes together: reading every record is not for each of them. */
  readonly everyMs: number;
}

const MINUTE = 60_000;
const AGES: HousekeepingAges = { deadMs: 10 * MINUTE, trashMs: 60 * MINUTE, recordMs: 60 * MINUTE, presenceMs: 24 * 60 * MINUTE, partialMs: 24 * 60 * MINUTE, metadataMs: 90 * 24 * 60 * MINUTE, everyMs: 60 * MINUTE };

/** Sweeps, unless another process did lately. Ends early, between two leftovers, when the signal aborts; the next sweep takes the rest. */
export async function keepHouse(directories: CacheDirectories, places: StagingPlace, presence: Presence, signal: AbortSignal, ages: HousekeepingAges = AGES): Promise<void> {
  try {
    const now = await presence.touch();
    if (!(await isDue(directories.swept, now, ages.everyMs))) return;
    const isAlive = presenceCache(directories.presence);
    const staging = await sweepDirectory(places.staging, { olderThanMs: ages.deadMs, isOwnerAlive: isAlive, signal });
    const trash = await sweepTrash(places, signal, ages);
    signal.throwIfAborted();
    const partials = ownPartials(places.partial);
    if (partials !== undefined) await sweepPartials(partials, ages.partialMs);
    await sweepPins(directories.pins, now - ages.deadMs, isAlive);
    await sweepRecords(directories, now - ages.recordMs);
    await sweepPresence(directories.presence, now - ages.presenceMs);
    await sweepDocuments(directories.metadata, now, ages, signal);
    publishEvent('cache:swept', { directory: directories.root, removed: staging.removed.length + trash.removed.length });
  } catch (error) {
    log('sweeping %s failed: %o', directories.root, error);
  }
}

/** Removes what has lain in the trash for long enough: whoever put it there, and whether or not that process lives. */
export async function sweepTrash({ trash }: StagingPlace, signal: AbortSignal, { trashMs }: HousekeepingAges = AGES): Promise<Swept> {
  return sweepDirectory(trash, { olderThanMs: trashMs, isOwnerAlive: () => Promise.resolve(false), signal });
}

/** `'a'`, but a FIFO in the marker's place does not hold up the sweep, and with it the close, for ever. */
const MARKING = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (process.platform === 'win32' ? 0 : constants.O_NONBLOCK);

/** Whether the last sweep is long ago; if so, this one is noted first, so that others leave it to us. */
async function isDue(marker: string, now: number, everyMs: number): Promise<boolean> {
  const last = await statFresh(marker);
  if (last !== undefined && now - Number(last.mtimeNs / 1_000_000n) < everyMs) return false;
  const handle = await open(marker, MARKING, 0o644);
  try {
    await handle.write('.');
  } finally {
    await handle.close();
  }
  return true;
}

function presenceCache(directory: string): (id: string) => Promise<boolean> {
  const known = new Map<string, Promise<boolean>>();
  return (id) => {
    const asked = known.get(id) ?? presenceOf(directory, id).then((presence) => presence !== 'absent');
    known.set(id, asked);
    return asked;
  };
}

/** Those of the dead. Whoever meets one before that clears it away as well, so these are the ones that nobody has met. */
async function sweepPins(directory: string, before: number, isAlive: (id: string) => Promise<boolean>): Promise<void> {
  await sweepMarks(directory, async (mark, owner) => (await isOlder(mark, before)) && (owner === undefined || !(await isAlive(owner))));
}

/**
 * A crash between record and publish leaves a record that is bound to nothing. One in the middle of writing a record leaves its temporary file,
 * which may be whole, and speak for an entry that is there.
 */
async function sweepRecords({ records, providers }: CacheDirectories, before: number): Promise<void> {
  await forEachOlder(records, before, async (name, path) => {
    const stored = name.endsWith('.json') ? await readRecordFile(records, name) : undefined;
    if (stored === undefined || !(await isOfUse(records, stored, join(providers, stored.record.package)))) await unlink(path);
  });
}

/** A record that is bound to an earlier entry of its package may still name the hash of a restored one, as long as that has no record of its own. */
async function isOfUse(records: string, { file, record }: StoredRecord, entry: string): Promise<boolean> {
  const binding = await bindingOf(entry);
  if (binding === undefined) return false;
  return file === recordFile(record.package, binding) || (await readBoundRecord(records, record.package, binding)) === undefined;
}

async function sweepPresence(directory: string, before: number): Promise<void> {
  await forEachOlder(directory, before, async (name, path) => {
    if ((await presenceOf(directory, name)) !== 'present') await unlink(path);
  });
}

/** Everything in a directory that was written before a time of the file system's own clock. */
async function forEachOlder(directory: string, before: number, use: (name: string, path: string) => Promise<void>): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.startsWith('.nfs')) continue;
    const path = join(directory, name);
    try {
      if (await isOlder(path, before)) await use(name, path);
    } catch (error) {
      if (!hasSystemError(error, 'ENOENT', 'ESTALE', 'EACCES', 'EPERM')) throw error;
    }
  }
}

async function isOlder(path: string, before: number): Promise<boolean> {
  try {
    return (await stat(path)).mtimeMs < before;
  } catch (error) {
    if (!hasSystemError(error, 'ENOENT', 'ESTALE')) throw error;
    return false;
  }
}
