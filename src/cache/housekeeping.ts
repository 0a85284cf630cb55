/**
 * Clears away what dead processes left: staging, pins, presence marks, trash, and records of entries that never came
 * to be. Never fails its caller, and never touches an entry. Ages are differences between two times of the same file
 * system; nobody's clock is asked.
 */
import { open, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { statFresh, sweepDirectory } from '../atomic/index.ts';
import { logger, publishEvent } from '../diagnostics.ts';
import { hasSystemError } from '../system-errors.ts';
import type { CacheDirectories, StagingPlace } from './directories.ts';
import { pinPresence } from './pins.ts';
import { presenceOf, type Presence } from './presence.ts';
import { readRecordFile } from './records.ts';

const log = logger('cache');

const MINUTE = 60_000;
/** A process that a server has taken its locks from may still be at work: its staging is left alone for a while. */
const DEAD_STAGING_MS = 10 * MINUTE;
/** Binaries may still be running from the trash, on hosts that nobody here can see. */
const TRASH_MS = 60 * MINUTE;
/** Where no kernel lock tells the living from the dead: far longer than any installation. */
const SILENT_PRESENCE_MS = 24 * 60 * MINUTE;
/** Reading all records is not for every process. */
const SWEEP_EVERY_MS = 60 * MINUTE;

/** Sweeps once in an hour for all processes together. */
export async function keepHouse(directories: CacheDirectories, places: StagingPlace, presence: Presence): Promise<void> {
  try {
    const now = await presence.touch();
    if (!(await isDue(directories.swept, now))) return;
    const alive = presenceCache(directories.presence);
    const staging = await sweepDirectory(places.staging, { olderThanMs: DEAD_STAGING_MS, isOwnerAlive: alive });
    const trash = await sweepDirectory(places.trash, { olderThanMs: TRASH_MS, isOwnerAlive: () => Promise.resolve(false) });
    await sweepPins(directories.pins, now, alive);
    await sweepRecords(directories, now);
    await sweepPresence(directories.presence, now);
    publishEvent('cache:swept', { directory: directories.root, removed: staging.removed.length + trash.removed.length });
  } catch (error) {
    log('sweeping %s failed: %o', directories.root, error);
  }
}

/** Whether the last sweep is long ago; if so, this one is noted first, so that others leave it to us. */
async function isDue(marker: string, now: number): Promise<boolean> {
  const last = await statFresh(marker);
  if (last !== undefined && now - Number(last.mtimeNs / 1_000_000n) < SWEEP_EVERY_MS) return false;
  const handle = await open(marker, 'a', 0o644);
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

async function sweepPins(directory: string, now: number, isAlive: (id: string) => Promise<boolean>): Promise<void> {
  await forEachOlder(directory, now, DEAD_STAGING_MS, async (name, path) => {
    const presence = pinPresence(name);
    if (presence === undefined || !(await isAlive(presence))) await unlink(path);
  });
}

/** A crash between record and publish leaves a record that is bound to nothing. */
async function sweepRecords({ records, providers }: CacheDirectories, now: number): Promise<void> {
  await forEachOlder(records, now, SWEEP_EVERY_MS, async (name, path) => {
    const stored = await readRecordFile(records, name);
    if (stored === undefined || (await statFresh(join(providers, stored.record.package))) === undefined) await unlink(path);
  });
}

async function sweepPresence(directory: string, now: number): Promise<void> {
  await forEachOlder(directory, now, SILENT_PRESENCE_MS, async (name, path) => {
    if ((await presenceOf(directory, name)) !== 'present') await unlink(path);
  });
}

async function forEachOlder(directory: string, now: number, ageMs: number, use: (name: string, path: string) => Promise<void>): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.startsWith('.nfs')) continue;
    const path = join(directory, name);
    try {
      if (now - (await stat(path)).mtimeMs > ageMs) await use(name, path);
    } catch (error) {
      if (!hasSystemError(error, 'ENOENT', 'ESTALE', 'EACCES', 'EPERM')) throw error;
    }
  }
}
