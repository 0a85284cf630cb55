/**
 * The metadata store of a cache: when a kept document is good enough, who asks the server when it is not, and what holds when the server does
 * not answer. A herd of processes asks once: whoever gets the document's lock asks, and the others watch for what it stores. The lock only saves
 * requests: who cannot have it in time asks without it. Nothing here fails a call that the server would have answered.
 */
import { join } from 'node:path';
import { delay } from '../abort.ts';
import { logger, publishEvent } from '../diagnostics.ts';
import { DownloadIncompleteError, HttpStatusError, LockUnsupportedError, NetworkError, OfflineError } from '../errors.ts';
import { tryBareLock } from '../lock/bare-lock.ts';
import { onClusterOrLocal } from '../lock/network.ts';
import type { FetchedDocument, MetadataAnswer, MetadataOptions, MetadataQuery, MetadataStore } from '../registry/index.ts';
import { singleFlight } from '../single-flight.ts';
import { fileSystemClock, type FileSystemClock } from './file-system-clock.ts';
import { lockNameOf, lookForDocument, placeOf, removeFiles, writeDocument, type DocumentPlace, type KeptDocument, type Look } from './metadata-files.ts';

const log = logger('cache');

/** What {@link createMetadataStore} takes. Times in milliseconds. */
export interface MetadataStoreOptions {
  /** `state/metadata`. */
  readonly directory: string;
  /** `state/locks`. */
  readonly locks: string;
  /** How long a document is used without asking; 0: the server is always asked. */
  readonly lifetimeMs: number;
  /** For how much longer it is used when the server does not answer; `undefined`: not at all. */
  readonly staleIfErrorMs: number | undefined;
  /** Only what is there is used, of whatever age; nobody is asked, and nothing is written. */
  readonly frozen: boolean;
  /** How long another process that is at the same document is waited for: as long as a request may take. */
  readonly waitMs: number;
  /** Tests give their own. */
  readonly clock?: FileSystemClock | undefined;
}

/** The store, with what ends it. */
export interface DiskMetadataStore extends MetadataStore {
  /** Ends what is left, and waits for it: for removals on storage that does not answer, not for long. */
  close(): Promise<void>;
}

/** A suspended machine's monotonic clock stands still, so what was counted on from a measurement is not believed for longer. */
const CLOCK_FRESH_MS = 60_000;
/** Before a document is called too old or of the future the clock is measured anew: a server's clock may have been set. */
const CLOCK_JUST_MEASURED_MS = 1000;
/** Times of one file system may tick every few milliseconds only, and lag behind one another. */
const FUTURE_MS = 1000;

const SHORTEST_PAUSE_MS = 10;
/** A look costs a network file system one round trip, and a try of the lock three. */
const LONGEST_PAUSE_MS = 150;
const CLOSE_MS = 2000;

/** What lies in a place, and what it says, if it can be read as what is wanted. */
interface Found<T> extends Look {
  readonly kept: { readonly document: KeptDocument; readonly value: T } | undefined;
}

/** Makes a store. Nothing is read or written before it is asked. */
export function createMetadataStore(options: MetadataStoreOptions): DiskMetadataStore {
  const { lifetimeMs, staleIfErrorMs } = options;
  const clock = options.clock ?? fileSystemClock(options.directory);
  const flights = singleFlight<MetadataAnswer<unknown>>();
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();

  function track<T>(work: Promise<T>): Promise<T> {
    running.add(work);
    const forget = (): void => void running.delete(work);
    work.then(forget, forget);
    return work;
  }

  async function obtain<T>(place: DocumentPlace, query: MetadataQuery<T>, revalidate: boolean, signal: AbortSignal): Promise<MetadataAnswer<T>> {
    const found = await lookFor(place, query);
    const { kept } = found;
    if (options.frozen) {
      if (kept === undefined) throw new OfflineError(query.subject);
      return { value: kept.value, kept: true };
    }
    if (kept !== undefined && !revalidate && (await isYounger(kept.document, lifetimeMs))) return { value: kept.value, kept: true };
    return askOnce(place, query, found, signal);
  }

  /** By the file system's own clock; where that cannot be read, and for a time that is still to come: no. */
  async function isYounger({ storedAtMs }: KeptDocument, limitMs: number): Promise<boolean> {
    if (limitMs === 0) return false;
    for (const withinMs of [CLOCK_FRESH_MS, CLOCK_JUST_MEASURED_MS]) {
      const now = await clock.now(withinMs);
      if (now === undefined) return false;
      const age = now - storedAtMs;
      if (age > -FUTURE_MS && age < limitMs) return true;
    }
    return false;
  }

  /** Asks, or waits for another process that does. What comes after this call began is good, whatever the lifetime. */
  async function askOnce<T>(place: DocumentPlace, query: MetadataQuery<T>, found: Found<T>, signal: AbortSignal): Promise<MetadataAnswer<T>> {
    const newer = async (): Promise<MetadataAnswer<T> | undefined> => {
      const { kept } = await lookFor(place, query);
      return kept === undefined || kept.document.number <= numberOf(found) ? undefined : { value: kept.value, kept: false };
    };
    const deadline = performance.now() + options.waitMs;
    for (let longest = SHORTEST_PAUSE_MS; ; longest = Math.min(1.5 * longest, LONGEST_PAUSE_MS)) {
      const lock = await lockDocument(place);
      if (lock !== 'held' || performance.now() > deadline) {
        try {
          // Another may have been faster, between our look and our lock.
          return (await newer()) ?? (await ask(place, query, found, signal));
        } finally {
          if (lock !== 'held') await lock?.release();
        }
      }
      await delay(longest * (0.5 + Math.random() / 2), signal);
      const come = await newer();
      if (come !== undefined) return come;
    }
  }

  /** `undefined` where none can be had. */
  async function lockDocument(place: DocumentPlace): Promise<{ release(): Promise<void> } | 'held' | undefined> {
    const path = join(options.locks, lockNameOf(place));
    try {
      return (await tryBareLock(path, { mode: 'exclusive', create: true, createMode: 0o666 }, onClusterOrLocal)) ?? 'held';
    } catch (error) {
      log('asking without the lock %s: %o', path, error);
      if (error instanceof LockUnsupportedError) publishEvent('cache:metadata-unlocked', { path, reason: error.reason });
      return undefined;
    }
  }

  async function ask<T>(place: DocumentPlace, query: MetadataQuery<T>, found: Found<T>, signal: AbortSignal): Promise<MetadataAnswer<T>> {
    const { kept } = found;
    try {
      const fetched = await query.fetch(kept?.document.validators, signal);
      // Unchanged: it is stored once more, with a new time. To touch the old file would be a change to what other hosts have read.
      const document = fetched ?? kept?.document;
      if (document === undefined) throw new TypeError('nothing was kept that could be unchanged');
      const value = fetched === undefined && kept !== undefined ? kept.value : query.read(document);
      if (query.keeps(value)) await keep(place, query.subject, document, found);
      return { value, kept: false };
    } catch (error) {
      if (kept === undefined || staleIfErrorMs === undefined || !isNoAnswer(error)) throw error;
      if (staleIfErrorMs !== Infinity && !(await isYounger(kept.document, lifetimeMs + staleIfErrorMs))) throw error;
      log('%s is that of before: %s', query.subject, error.message);
      publishEvent('cache:metadata-stale', { subject: query.subject, problem: error.message, code: error.code });
      return { value: kept.value, kept: true };
    }
  }

  /** A cache that cannot be written asks again the next time. */
  async function keep(place: DocumentPlace, subject: string, document: FetchedDocument, found: Look): Promise<void> {
    try {
      await writeDocument(place, document, numberOf(found) + 1);
    } catch (error) {
      log('%s is not kept: %o', subject, error);
      publishEvent('cache:metadata-not-kept', { subject, problem: error instanceof Error ? error.message : String(error) });
      return;
    }
    // The newest so far stays, for who has just listed the directory. Removing what a host that is gone has read stalls for a lease: nobody waits for it.
    if (found.obsolete.length > 0) void track(removeFiles(place.directory, found.obsolete));
  }

  return {
    async get<T>(query: MetadataQuery<T>, { signal, revalidate = false }: MetadataOptions = {}) {
      const place = placeOf(options.directory, query);
      const flight = flights.run(
        `${String(revalidate)} ${place.directory}`,
        (shared) => track(obtain(place, query, revalidate, AbortSignal.any([shared, closing.signal]))),
        signal,
      );
      // One directory is one key, and so one kind of document.
      return (await flight) as MetadataAnswer<T>;
    },
    close: async () => {
      closing.abort(new DOMException('the metadata store was closed', 'AbortError'));
      await Promise.race([Promise.allSettled([...running]), delay(CLOSE_MS)]);
    },
  };
}

async function lookFor<T>(place: DocumentPlace, query: MetadataQuery<T>): Promise<Found<T>> {
  const look = await lookForDocument(place);
  const document = look.newest;
  if (document === undefined) return { ...look, kept: undefined };
  try {
    return { ...look, kept: { document, value: query.read(document) } };
  } catch (error) {
    // Another version of the library may have been less strict.
    log('%s is kept in a form that is of no use: %o', query.subject, error);
    return { ...look, kept: undefined };
  }
}

function numberOf({ newest }: Look): number {
  return newest?.number ?? 0;
}

/** Whether the server was not reached, or not able to answer. A certificate that is not to be trusted is an answer, and one to heed. */
function isNoAnswer(error: unknown): error is HttpStatusError | NetworkError | DownloadIncompleteError {
  if (error instanceof HttpStatusError) return error.status >= 500 || error.status === 429 || error.status === 408;
  return error instanceof DownloadIncompleteError || (error instanceof NetworkError && error.phase !== 'tls');
}
