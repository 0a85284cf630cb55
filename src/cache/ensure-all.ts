/**
 * Many packages by one call: which requests are the same, how many run at a time, what the whole has come to, and what becomes of failures.
 * How one package is had is `ensure`'s business.
 */
import { raceAbort } from '../abort.ts';
import { CacheClosedError, EnsureAllError, InvalidOptionError, type EnsureFailure } from '../errors.ts';
import { runFairly } from './fair-pool.ts';
import { checkCallOptions } from './options.ts';
import { tell, type OverallEvent, type OverallListener, type ProgressListener } from './progress.ts';
import type { ProviderPackage } from './provider-package.ts';
import { checkExpectedHashes, parseRequest, type ParsedRequest, type ProviderRequest } from './requests.ts';

/** One package of several. */
export interface EnsureAllRequest extends ProviderRequest {
  /** As for a single `ensure`: hashes with their schemes, of which this package must have one. */
  readonly expectedHashes?: readonly string[] | undefined;
}

/** Options of `ensureAll`. */
export interface EnsureAllOptions {
  /** How many packages are worked on at a time, over all hosts. Default 8. */
  readonly concurrency?: number | undefined;
  /** Keeps all of the packages from being pruned, or, when one of them cannot be had, none. Default false. */
  readonly pin?: boolean | undefined;
  /** Ends the call within 100 ms, with the signal's reason; nothing stays pinned. What has been installed stays in the cache. */
  readonly signal?: AbortSignal | undefined;
  /** Hears what is being done to each package, and what the whole has come to. */
  readonly onProgress?: OverallListener | undefined;
}

/** What it needs of a cache. */
export interface EnsureAllContext {
  readonly defaultHost: string;
  ensure(request: ProviderRequest, options: SingleOptions): Promise<ProviderPackage>;
}

interface SingleOptions {
  readonly expectedHashes: readonly string[];
  readonly pin: boolean;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ProgressListener | undefined;
}

/** The work on one package, and all places in the list that ask for it. */
interface Work {
  readonly request: EnsureAllRequest;
  readonly parsed: ParsedRequest;
  readonly indices: number[];
  received: number;
  total: number | undefined;
  result: ProviderPackage | undefined;
}

const DEFAULT_CONCURRENCY = 8;

/** See `ProviderCache.ensureAll`. */
export async function ensureAll(requests: readonly EnsureAllRequest[], options: EnsureAllOptions, context: EnsureAllContext): Promise<ProviderPackage[]> {
  checkEnsureAllOptions(options);
  if (!Array.isArray(requests)) throw new InvalidOptionError('requests', 'it is an array of requests, each with source and version');
  const { signal, pin = false, onProgress, concurrency = DEFAULT_CONCURRENCY } = options;
  signal?.throwIfAborted();
  const { works, failures } = sortOut(requests, context.defaultHost);
  const whole = new Whole([...works.values()], failures, onProgress);
  whole.tell();

  let closed: CacheClosedError | undefined;
  const had = async (work: Work): Promise<void> => {
    try {
      const { expectedHashes = [] } = work.request;
      work.result = await context.ensure(work.request, { expectedHashes, pin, signal, onProgress: onProgress === undefined ? undefined : whole.listenerFor(work) });
    } catch (error) {
      if (error instanceof CacheClosedError) closed = error;
      failures.push(failureOf(work.indices[0] ?? 0, describeParsed(work.parsed), error));
    }
    whole.tell();
  };
  const running = runFairly(
    Array.from(works.values(), (work) => ({ group: work.parsed.address.hostname, run: () => had(work) })),
    concurrency,
    () => signal?.aborted === true || closed !== undefined,
  );
  const releaseAll = async (): Promise<void> => {
    await Promise.allSettled(Array.from(works.values(), async ({ result }) => result?.pin?.release()));
  };
  try {
    await raceAbort(running, signal);
    signal?.throwIfAborted();
  } catch (error) {
    // The caller does not wait for what ends by itself now.
    void running.then(releaseAll);
    throw error;
  }
  const packages = Array.from<ProviderPackage | undefined>({ length: requests.length });
  for (const { indices, result } of works.values()) for (const index of indices) packages[index] = result;
  if (closed === undefined && failures.length === 0) return packages.filter((found) => found !== undefined);
  await releaseAll();
  if (closed !== undefined) throw closed;
  throw new EnsureAllError(
    failures.sort((a, b) => a.index - b.index),
    packages.map((found) => (found === undefined ? undefined : { ...found, pin: undefined })),
  );
}

/**
 * Checks the options that all calls for several packages share.
 *
 * @throws InvalidOptionError
 */
export function checkEnsureAllOptions(options: EnsureAllOptions): void {
  checkCallOptions(options);
  const { concurrency } = options;
  if (concurrency !== undefined && (!Number.isSafeInteger(concurrency) || concurrency < 1)) throw new InvalidOptionError('concurrency', 'it is a whole number, 1 or more');
}

/** Packages of a call that its caller has left: nobody will release their pins. */
export function unpinLate({ packages }: { readonly packages: readonly ProviderPackage[] }): void {
  for (const { pin } of packages) void pin?.release().catch(() => undefined);
}

/** Equal requests are one piece of work; one that cannot be read is a failure like any other. */
function sortOut(requests: readonly EnsureAllRequest[], defaultHost: string): { works: Map<string, Work>; failures: EnsureFailure[] } {
  const works = new Map<string, Work>();
  const failures: EnsureFailure[] = [];
  for (const [index, request] of requests.entries()) {
    try {
      const parsed = parseRequest(request, defaultHost);
      const { expectedHashes = [] } = request;
      checkExpectedHashes(expectedHashes);
      const key = [describeParsed(parsed), ...new Set(expectedHashes)].sort().join('\n');
      const work = works.get(key);
      if (work === undefined) works.set(key, { request, parsed, indices: [index], received: 0, total: undefined, result: undefined });
      else work.indices.push(index);
    } catch (error) {
      failures.push(failureOf(index, describeGiven(request), error));
    }
  }
  return { works, failures };
}

/** What the whole has come to, for whoever shows one bar. */
class Whole {
  readonly #works: readonly Work[];
  readonly #failures: readonly EnsureFailure[];
  readonly #unreadable: number;
  readonly #listener: OverallListener | undefined;

  constructor(works: readonly Work[], failures: readonly EnsureFailure[], listener: OverallListener | undefined) {
    this.#works = works;
    this.#failures = failures;
    this.#unreadable = failures.length;
    this.#listener = listener;
  }

  listenerFor(work: Work): ProgressListener {
    return (event) => {
      if (this.#listener === undefined) return;
      tell(this.#listener, event);
      if (event.phase !== 'downloading') return;
      work.received = event.receivedBytes;
      work.total = event.totalBytes ?? work.total;
      this.tell();
    };
  }

  tell(): void {
    if (this.#listener !== undefined) tell(this.#listener, this.#event());
  }

  #event(): OverallEvent {
    const begun = this.#works.filter(({ received, total }) => received > 0 || total !== undefined);
    return {
      phase: 'overall',
      packages: this.#works.length + this.#unreadable,
      packagesDone: this.#works.filter(({ result }) => result !== undefined).length,
      packagesFailed: this.#failures.length,
      receivedBytes: begun.reduce((sum, { received }) => sum + received, 0),
      totalBytes: begun.reduce<number | undefined>((sum, { total }) => (sum === undefined || total === undefined ? undefined : sum + total), 0),
    };
  }
}

function failureOf(index: number, request: string, error: unknown): EnsureFailure {
  return { index, request, error: error instanceof Error ? error : new Error(String(error)) };
}

function describeParsed({ address, version, platform }: ParsedRequest): string {
  return `${String(address)} ${String(version)} ${String(platform)}`;
}

/** As far as it can be read at all. */
function describeGiven(request: unknown): string {
  if (typeof request !== 'object' || request === null) return String(request);
  const { source, version, platform } = request as Record<string, unknown>;
  return [source, version, platform].map((part) => (typeof part === 'string' ? part : part === undefined ? '' : JSON.stringify(part))).join(' ').trim();
}
