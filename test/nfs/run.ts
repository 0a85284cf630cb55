/**
 * `npm run test:nfs`: the suite on real NFSv4.1, in a machine that it boots itself, or on two mounts of one export by two clients, given as
 * `RWX_CACHE_NFS_MOUNTS=/path/a:/path/b`. Words choose test files, as for `npm test`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { missingPackages, runMachine } from './boot.ts';

/** All of the suite, on two cores that do nothing else, takes half of it. */
const SECONDS = 600;

const words = process.argv.slice(2);
const suite = join(import.meta.dirname, 'suite.js');

function sourceTree(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : sourceTree(dirname(directory));
}

async function main(): Promise<number> {
  if (process.env['RWX_CACHE_NFS_MOUNTS'] !== undefined) return spawnSync(process.execPath, [suite, ...words], { stdio: 'inherit' }).status ?? 1;
  const missing = missingPackages();
  if (missing.length > 0) {
    console.log(`skipped: the NFS suite needs ${missing.join(', ')} (apt-get install user-mode-linux nfs-kernel-server nfs-common iproute2 kmod),`);
    console.log('or two mounts of one export by two clients: RWX_CACHE_NFS_MOUNTS=/path/a:/path/b');
    return 0;
  }
  return runMachine({ root: sourceTree(import.meta.dirname), program: suite, words: ['--guest', ...words], memory: '1280M', seconds: SECONDS, print: console.log });
}

process.exitCode = await main();
