/**
 * What has to hold after a power cut, looked at through the library where readers look, and through the file system for what must not be seen.
 * Runs inside the guest, when nobody writes.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sweepDirectory } from '../../src/atomic/index.ts';
import { findStaging, openDirectories } from '../../src/cache/directories.ts';
import { bindingOf } from '../../src/cache/entry.ts';
import { keepHouse } from '../../src/cache/housekeeping.ts';
import { enterPresence } from '../../src/cache/presence.ts';
import { readBoundRecord } from '../../src/cache/records.ts';
import { hashDirectory } from '../../src/verify/index.ts';
import { DIRECTORY_FILES, HOST, originOf, packageOf, PLATFORM, type Origin } from './content.ts';
import { openCache, requestOf, withPackage, type OpenCache } from './packages.ts';
import type { Finding, Place, Told } from './protocol.ts';

type Report = (kind: Finding['kind'], of: Finding['of'], what: string) => void;

/** What {@link writeFileAtomic} leaves beside the target when it is killed. No reader of the directory takes it for content. */
const TEMPORARY = /^\..+\.[0-9a-f]{32}\.tmp$/u;

/** Checks one round, and that the library works on what the cut has left. Packages of `earlier` rounds only have to be there. */
export async function checkRound(place: Place, told: readonly Told[], earlier: readonly Told[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  const report: Report = (kind, of, what) => findings.push({ kind, of, what });
  const ofKind = (kind: Told['kind']): Told[] => told.filter((one) => one.kind === kind);
  const packages = ofKind('package');
  const parts = [
    () => checkFiles(join(place.home, 'files'), ofKind('file'), report),
    () => checkDirectories(join(place.home, 'directories'), ofKind('directory'), report),
    () => checkTree(join(place.cache, 'providers'), `round${place.round}`, report),
    () => checkPackages(place, packages, report),
    () => checkWhatComesNext(place, packages, report),
    () => checkList(place, [...packages, ...earlier], report),
  ];
  // What one part cannot even look at is told as well.
  for (const part of parts) {
    await part().catch((error: unknown) => {
      report('after', 'cache', error instanceof Error ? String(error.stack) : String(error));
    });
  }
  return findings;
}

async function checkFiles(directory: string, told: readonly Told[], report: Report): Promise<void> {
  const origins = new Map<string, Origin | undefined>();
  for (const name of await readdir(directory)) {
    if (TEMPORARY.test(name)) continue;
    const origin = originOf(name, await readFile(join(directory, name)));
    origins.set(name, origin);
    if (origin === undefined) report('broken', 'file', name);
  }
  compare(told, origins, report);
}

async function checkDirectories(directory: string, told: readonly Told[], report: Report): Promise<void> {
  const origins = new Map<string, Origin | undefined>();
  for (const top of await readdir(directory)) {
    const names = top.startsWith('nested-') ? (await readdir(join(directory, top))).map((name) => `${top}/${name}`) : [top];
    for (const name of names) {
      if (!/^(?:flat-\d+|nested-\d+\/deep)$/u.test(name)) {
        report('temporary', 'directory', name);
        continue;
      }
      const origin = await originOfDirectory(directory, name);
      origins.set(name, origin);
      if (origin === undefined) report('broken', 'directory', name);
    }
  }
  compare(told, origins, report);
}

/** Whose it is; `undefined` unless all of it is there, is one writer's, and may be read by everybody. */
async function originOfDirectory(directory: string, name: string): Promise<Origin | undefined> {
  const path = join(directory, name);
  const found = (await readdir(path, { recursive: true })).filter((file) => file !== 'sub').sort();
  const { mode } = await stat(path);
  if (found.join() !== DIRECTORY_FILES.join() || (mode & 0o777) !== 0o755) return undefined;
  const origins = await Promise.all(DIRECTORY_FILES.map(async (file) => originOf(`${name}/${file}`, await readFile(join(path, file)))));
  const [first] = origins;
  return first !== undefined && origins.every((origin) => origin?.by === first.by && origin.generation === first.generation) ? first : undefined;
}

/** Whether what was told is what is there. What is there and broken has been reported. */
function compare(told: readonly Told[], origins: ReadonlyMap<string, Origin | undefined>, report: Report): void {
  for (const { kind, name, by, generation, published } of told) {
    if (!origins.has(name)) report('missing', kind, `${name}, told to writer ${by}`);
    const origin = origins.get(name);
    if (origin === undefined || !published) continue;
    const isKept = kind === 'directory' || name.startsWith('kept-');
    // Another writer may have replaced it since; the same one only by something newer.
    const lost = isKept ? origin.by !== by : origin.by === by && origin.generation < generation;
    if (lost) report('missing', kind, `${name} of writer ${by}, generation ${generation}: it is that of ${origin.by}, ${origin.generation}`);
  }
}

async function checkPackages(place: Place, told: readonly Told[], report: Report): Promise<void> {
  const type = `round${place.round}`;
  for (const verifyOnHit of ['stat', 'hash'] as const) {
    await withCache(place, { offline: true, verifyOnHit }, async ({ cache }) => {
      for (const version of versionsOf(told)) {
        try {
          const { outcome, hashes, path } = await cache.ensure(requestOf(type, version));
          if (outcome !== 'hit' || hashes[0] !== packageOf(type, version).h1) report('broken', 'package', `${type}/${version}: ${outcome} ${hashes[0]}`);
          const binding = await bindingOf(path);
          const record = binding && (await readBoundRecord(join(place.cache, 'state', 'records'), `${HOST}/acme/${type}/${version}/${PLATFORM}`, binding));
          if (record === undefined) report('unrecorded', 'package', `${type}/${version}`);
        } catch (error) {
          report('missing', 'package', `${type}/${version} with verifyOnHit '${verifyOnHit}': ${String(error)}`);
        }
      }
    });
  }
}

/** Everything in the clients' tree, told or not: nothing but whole entries and OpenTofu's lock files. */
async function checkTree(providers: string, type: string, report: Report): Promise<void> {
  const levels = await readdir(providers);
  for (const name of levels) if (name !== HOST) report('temporary', 'package', `in providers: ${name}`);
  if (!levels.includes(HOST)) return;
  const types = join(providers, HOST, 'acme');
  for (const name of await readdir(types)) if (!/^(?:round|after)\d+$/u.test(name)) report('temporary', 'package', `in providers: ${name}`);
  for (const version of await readdir(join(types, type)).catch(() => [])) {
    for (const name of await readdir(join(types, type, version))) {
      if (name === `${PLATFORM}.lock`) continue;
      if (name !== PLATFORM) report('temporary', 'package', `in providers: ${version}/${name}`);
      else if ((await hashDirectory(join(types, type, version, name))) !== packageOf(type, version).h1) report('broken', 'package', `${type}/${version}`);
    }
  }
}

/** A new package, those that were being installed, and clearing away what the cut has left. */
async function checkWhatComesNext(place: Place, told: readonly Told[], report: Report): Promise<void> {
  const last = Math.max(-1, ...told.map(({ generation }) => generation));
  const wanted: [string, number][] = [[`after${place.round}`, 0], ...[1, 2, 3].map((more): [string, number] => [`round${place.round}`, last + more])];
  await withCache(place, {}, async ({ cache, registry }) => {
    for (const [type, generation] of wanted) {
      const version = `1.0.${generation}`;
      const { outcome, path } = await cache.ensure(await withPackage(registry, type, version));
      if (!['installed', 'hit'].includes(outcome) || (await hashDirectory(path)) !== packageOf(type, version).h1) report('after', 'package', `ensure of ${type}/${version}: ${outcome}`);
    }
  });
  const entries = await entriesOf(place);
  for (const left of await sweepEverything(place, entries)) report('after', 'cache', `left by the sweep: ${left}`);
}

/** Sweeps at once what otherwise waits for minutes; answers what is left and should not be. */
async function sweepEverything(place: Place, entries: number): Promise<string[]> {
  const olderThanMs = 1;
  const homes = ['files', 'staging'].map((name) => join(place.home, name));
  for (const home of homes) await sweepDirectory(home, { olderThanMs, isOwnerAlive: () => Promise.resolve(false) });
  const directories = await openDirectories({ directory: place.cache, readOnly: false });
  const presence = await enterPresence(directories.presence);
  const places = await findStaging(directories);
  const { staging, trash } = places;
  const ages = { deadMs: 1, trashMs: 1, recordMs: 1, presenceMs: 1, partialMs: 1, metadataMs: 1, everyMs: 0 };
  await keepHouse(directories, places, presence, new AbortController().signal, ages);
  await presence.leave();
  const left: string[] = [];
  for (const home of homes) left.push(...(await readdir(home)).filter((name) => home.endsWith('staging') || name.startsWith('.')));
  for (const directory of [staging, trash, directories.presence, directories.pins]) left.push(...(await readdir(directory)));
  const records = await readdir(directories.records);
  if (records.length !== entries) left.push(`${records.length} records of ${entries} entries`);
  return left;
}

async function entriesOf(place: Place): Promise<number> {
  const paths = await readdir(join(place.cache, 'providers'), { recursive: true });
  return paths.filter((path) => path.endsWith(`/${PLATFORM}`)).length;
}

async function checkList(place: Place, told: readonly Told[], report: Report): Promise<void> {
  const listed = new Set<string>();
  await withCache(place, { offline: true }, async ({ cache }) => {
    for await (const { address, version } of cache.list()) listed.add(`${address.type}/${String(version)}`);
  });
  for (const name of new Set(told.map((one) => one.name))) if (!listed.has(name)) report('missing', 'package', `${name} in the list`);
}

async function withCache(place: Place, options: Parameters<typeof openCache>[1], use: (open: OpenCache) => Promise<void>): Promise<void> {
  const open = await openCache(place.cache, options);
  try {
    await use(open);
  } finally {
    await open.cache.close();
    await open.registry.close();
  }
}

/** Several writers may have been told of one package. */
function versionsOf(told: readonly Told[]): Set<string> {
  return new Set(told.map(({ name }) => name.slice(name.indexOf('/') + 1)));
}
