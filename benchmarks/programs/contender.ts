/** Takes and holds one lock again and again until its time is up, and tells how often it got it. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { lock } from 'proper-lockfile';
import { acquireLock } from '../../src/lock/index.ts';

const { path, kind, holdMs, forMs } = JSON.parse(process.argv[2] ?? '') as { path: string; kind: 'kernel' | 'proper-lockfile'; holdMs: number; forMs: number };

async function acquire(): Promise<() => Promise<void>> {
  if (kind === 'kernel') {
    const held = await acquireLock(path);
    return () => held.release();
  }
  return lock(path, { retries: { forever: true, minTimeout: holdMs, maxTimeout: 1000 } });
}

const begin = once(process, 'message');
process.send?.('ready');
await begin;
let count = 0;
for (const until = performance.now() + forMs; performance.now() < until; count += 1) {
  const release = await acquire();
  await sleep(holdMs);
  await release();
}
process.send?.(count);
process.disconnect();
