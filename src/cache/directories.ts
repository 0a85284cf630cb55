/** The cache's directory on disk: what lies where, and making it. Knows paths, not their content. */
import { constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { canRenameBetween, fileSystemKind, makeDirectories, writeFileAtomic } from '../atomic/index.ts';
import { publishEvent } from '../diagnostics.ts';
import { CacheFormatError, InvalidOptionError } from '../errors.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';

/** The version of what lies under `state/`; another one is refused rather than guessed at. */
const STATE_FORMAT = '1';

/** Absolute paths of one cache. */
export interface CacheDirectories {
  readonly root: string;
  /** The tree in the clients' layout. Nothing but entries and OpenTofu's lock files ever lies in it. */
  readonly providers: string;
  readonly presence: string;
  readonly pins: string;
  readonly locks: string;
  readonly records: string;
  /** Documents of registries; made when the first one is kept. */
  readonly metadata: string;
  /** Touched by each clean-up; its mtime says, by the file system's own clock, when the last one was. */
  readonly swept: string;
  /** Whether other hosts may write here without this one noticing at once. */
  readonly network: boolean;
}

/** Where staging and trash lie: on the same mount as the entries, since both end or begin with a rename. Partial downloads are linked to staging. */
export interface StagingPlace {
  readonly staging: string;
  readonly trash: string;
  /** Made when it is needed; in it, each user has a directory. */
  readonly partial: string;
}

/**
 * Finds the cache's directories, and makes them where they are missing, unless `readOnly`. On a warm cache that is
 * one read and one look at the mount; on a network file system, its options as well.
 *
 * @throws CacheFormatError when another version of the library wrote the directory.
 * @throws FileSystemError when it cannot be read or made.
 */
export async function openDirectories(options: { readonly directory: string; readonly providersDirectory?: string | undefined; readonly readOnly: boolean }): Promise<CacheDirectories> {
  const root = resolve(options.directory);
  const state = join(root, 'state');
  const providers = options.providersDirectory === undefined ? join(root, 'providers') : resolve(options.providersDirectory);
  if (holdsState(providers, state)) throw new InvalidOptionError('providersDirectory', `${providers} and ${state} lie in one another, and the clients would walk through our own state`);
  const paths = {
    root,
    providers,
    presence: join(state, 'presence'),
    pins: join(state, 'pins'),
    locks: join(state, 'locks'),
    records: join(state, 'records'),
    metadata: join(state, 'metadata'),
    swept: join(state, 'swept'),
  };
  const formatFile = join(state, 'format');
  let format = await readFormat(formatFile);
  if (format === undefined && !options.readOnly) {
    for (const path of [paths.presence, paths.pins, paths.locks, paths.records, join(state, 'staging'), join(state, 'trash')]) await makeDirectories(path);
    await writeFileAtomic(formatFile, `${STATE_FORMAT}\n`, { ifExists: 'keep' });
    format = await readFormat(formatFile);
  }
  if (format !== undefined && format !== STATE_FORMAT) throw new CacheFormatError(root, format, STATE_FORMAT);
  if (!options.readOnly) await makeDirectories(providers);
  const network = await isOnNetwork(providers, root);
  // Loaded only there: on a local disk nothing can be wrong with the mount.
  if (network) await (await import('./mount-advice.ts')).adviseOnMounts(root, providers);
  return { ...paths, network };
}

/**
 * Staging for entries: beside `providers/` where a rename reaches it from there, else in a dot-directory inside it,
 * which `terraform` and `tofu` skip as it is no host name. Device numbers do not tell: two bind mounts of one volume
 * have the same and still answer EXDEV.
 */
export async function findStaging(directories: CacheDirectories): Promise<StagingPlace> {
  const beside = { staging: join(directories.root, 'state', 'staging'), trash: join(directories.root, 'state', 'trash'), partial: join(directories.root, 'state', 'partial') };
  const isOurs = relative(directories.root, directories.providers) === 'providers';
  if (isOurs || (await canRenameBetween(beside.staging, directories.providers))) return beside;
  const inside = join(directories.providers, '.rwx-cache');
  publishEvent('cache:staging-inside-providers', { providers: directories.providers, staging: inside });
  const place = { staging: join(inside, 'staging'), trash: join(inside, 'trash'), partial: join(inside, 'partial') };
  await makeDirectories(place.staging);
  await makeDirectories(place.trash);
  return place;
}

/** A dot-directory in the tree is skipped by the clients and by our own list; anything else is walked. */
function holdsState(providers: string, state: string): boolean {
  const down = relative(providers, state);
  const up = relative(state, providers);
  return !down.startsWith('.') || up === '' || !up.startsWith('..');
}

async function readFormat(file: string): Promise<string | undefined> {
  try {
    // A FIFO in its place must not hold the call up for ever.
    return (await readFile(file, { encoding: 'utf8', flag: process.platform === 'win32' ? 'r' : constants.O_RDONLY | constants.O_NONBLOCK })).trim();
  } catch (error) {
    if (hasSystemError(error, 'ENOENT')) return undefined;
    throw fileSystemError(error, 'read', file);
  }
}

/** A read-only cache that does not exist yet is an empty one, and may come to lie anywhere. */
async function isOnNetwork(...paths: readonly string[]): Promise<boolean> {
  for (const path of paths) {
    try {
      return (await fileSystemKind(path)).network;
    } catch (error) {
      if (!hasSystemError(error, 'ENOENT')) throw fileSystemError(error, 'look at', path);
      return true;
    }
  }
  return false;
}
