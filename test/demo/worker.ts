/** One of the processes of the demo: opens the cache, says that it is ready, and asks for the package when it is told to. */
import { once } from 'node:events';
import { ProviderCache, RwxCacheError, type Outcome, type Provenance, type ProviderCacheOptions, type ProviderRequest } from '../../src/index.ts';

/** What it is told to do. */
export interface WorkerTask {
  readonly cache: ProviderCacheOptions;
  readonly request: ProviderRequest;
}

/** The package as it saw it. */
export interface WorkerPackage {
  readonly outcome: Outcome;
  readonly version: string;
  readonly platform: string;
  readonly path: string;
  readonly executable: string;
  readonly hashes: readonly string[];
  readonly provenance: Provenance;
}

/** What it saw. */
export interface WorkerAnswer {
  readonly pid: number;
  /** From its question to its answer. */
  readonly milliseconds: number;
  readonly package?: WorkerPackage | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
}

async function ask(cache: ProviderCache, request: ProviderRequest): Promise<Pick<WorkerAnswer, 'package' | 'error'>> {
  try {
    const { outcome, version, platform, path, executable, hashes, provenance } = await cache.ensure(request);
    return { package: { outcome, version: String(version), platform: String(platform), path, executable, hashes, provenance } };
  } catch (error) {
    return { error: { code: error instanceof RwxCacheError ? error.code : 'no code', message: error instanceof Error ? error.message : String(error) } };
  }
}

async function work(): Promise<void> {
  const { cache: options, request } = JSON.parse(process.argv[2] ?? '') as WorkerTask;
  const cache = await ProviderCache.open(options);
  process.send?.('ready');
  await once(process, 'message');
  const start = performance.now();
  const answer = await ask(cache, request);
  const milliseconds = Math.round(performance.now() - start);
  await cache.close();
  process.send?.({ pid: process.pid, milliseconds, ...answer } satisfies WorkerAnswer);
  process.disconnect();
}

await work();
