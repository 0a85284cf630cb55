/** One hit between two markers that a trace of system calls shows. */
import { accessSync } from 'node:fs';
import { ProviderCache, type ProviderCacheOptions, type ProviderRequest } from '../../src/index.ts';

const { cache: options, request } = JSON.parse(process.argv[2] ?? '') as { cache: ProviderCacheOptions; request: ProviderRequest };

function mark(name: string): void {
  try {
    accessSync(name);
  } catch {
    // It is not there; the trace shows the question.
  }
}

const cache = await ProviderCache.open(options);
mark('/marker-start');
const found = await cache.ensure(request);
mark('/marker-end');
await cache.close();
if (found.outcome !== 'hit') throw new Error(`not a hit but ${found.outcome}`);
