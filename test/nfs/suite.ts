/**
 * The suite: runs the `*.nfs.js` files one after the other. Inside the guest, which is told by `--guest`, it makes the server and the
 * clients first. Other words choose files.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { createClient, mountAs } from './client.ts';
import { labEnvironment, type Lab } from './lab.ts';
import { prepareServer, startServer } from './server.ts';

const words = process.argv.slice(2).filter((word) => word !== '--guest');
const lab = process.argv.includes('--guest') ? makeLab() : givenMounts();
Object.assign(process.env, labEnvironment(lab));

function makeLab(): Lab {
  const begun = performance.now();
  const [a, b, slowB] = ['/run/lab/a', '/run/lab/b', '/run/lab/b-actimeo-60'];
  prepareServer();
  startServer();
  mountAs(createClient('a'), a);
  const second = createClient('b');
  mountAs(second, b);
  mountAs(second, slowB, 'actimeo=60', 'nosharecache');
  console.log(`lab: a server and two clients after ${Math.round(performance.now() - begun)} ms`);
  return { a, b, slowB, faults: true };
}

function givenMounts(): Lab {
  const [a, b] = (process.env['RWX_CACHE_NFS_MOUNTS'] ?? '').split(':');
  if (a === undefined || b === undefined) throw new Error('RWX_CACHE_NFS_MOUNTS is not of the form /path/a:/path/b');
  return { a, b, slowB: undefined, faults: false };
}

const files = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.nfs.js'))
  .filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
  .sort()
  .map((name) => join(import.meta.dirname, name));

const results = run({ files, concurrency: 1 });
results.on('test:fail', ({ todo }) => {
  // A budget that is not met yet is shown, and is no failure.
  if (todo === undefined || todo === false) process.exitCode = 1;
});
pipeline(results, new spec(), process.stdout).catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
