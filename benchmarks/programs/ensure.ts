/** Asks a cache for packages, all at once, and writes its peak of memory in MB. */
import { readFile } from 'node:fs/promises';
import { ProviderCache, type ProviderCacheOptions, type ProviderRequest } from '../../src/index.ts';

const { cache: options, requests } = JSON.parse(process.argv[2] ?? '') as { cache: ProviderCacheOptions; requests: ProviderRequest[] };

const cache = await ProviderCache.open(options);
const packages = await Promise.all(requests.map((request) => cache.ensure(request)));
await cache.close();
if (packages.some(({ outcome }) => outcome !== 'installed')) throw new Error('the cache was not cold');

// Not `resourceUsage().maxRSS`: Linux starts that with the peak of the process that forked this one.
const peakKb = process.platform === 'linux' ? /^VmHWM:\s+(\d+) kB$/mu.exec(await readFile('/proc/self/status', 'utf8'))?.[1] : process.resourceUsage().maxRSS;
process.stdout.write(JSON.stringify((Number(peakKb) * 1024) / 1e6));
