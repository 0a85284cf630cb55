/** The server part of the lab: the kernel's own NFS server, NFSv4.1 and 4.2 only, on a tmpfs. Runs inside the guest. */
import { closeSync, constants, mkdirSync, openSync, readSync, writeFileSync } from 'node:fs';
import { command, daemon } from './shell.ts';

/** What the server exports, as it lies on the server. */
export const EXPORT = '/run/lab/export';

/** The least that the server takes, in seconds; a real one has 90. */
export const LEASE_SECONDS = 10;

/** Makes the export and what the server's programs keep. */
export function prepareServer(): void {
  const state = '/var/lib/nfs';
  for (const directory of ['v4recovery', 'rpc_pipefs', 'nfsdcld']) mkdirSync(`${state}/${directory}`, { recursive: true });
  for (const file of ['etab', 'rmtab', 'state']) writeFileSync(`${state}/${file}`, '');
  command('mount', '-t', 'rpc_pipefs', 'rpc_pipefs', `${state}/rpc_pipefs`);
  command('mount', '-t', 'nfsd', 'nfsd', '/proc/fs/nfsd');
  mkdirSync(EXPORT, { recursive: true });
  command('mount', '-t', 'tmpfs', '-o', 'mode=1777', 'tmpfs', EXPORT);
  command('exportfs', '-o', 'rw,fsid=0,no_subtree_check,no_root_squash,insecure', `*:${EXPORT}`);
  // Only before the server starts.
  for (const time of ['nfsv4leasetime', 'nfsv4gracetime']) writeFileSync(`/proc/fs/nfsd/${time}`, String(LEASE_SECONDS));
  // The server asks it about every export; without it a mount hangs for ever.
  daemon('rpc.mountd', '--manage-gids', '-N', '2', '-N', '3', '-u');
  // It remembers the clients, so that a grace period ends when all of them are back. Debian's configuration has another directory for its pipe,
  // and where it finds none it ends in silence: then the server waits 5 s for it, and newer kernels have nothing in its place.
  daemon('nfsdcld', '-p', `${state}/rpc_pipefs`);
}

/** The server waits for its daemon for 5 s, which on a loaded machine may be too short. */
const STARTS = 5;

/**
 * Starts the server, and its grace period with it. One that has not found its daemon remembers its clients elsewhere, and after its next start it would know
 * none of them, and give their locks away: it is started again.
 */
export function startServer(): void {
  for (let starts = 1; ; starts += 1) {
    command('rpc.nfsd', '-N', '3', '-V', '4', '-N', '4.0', '-V', '4.1', '-V', '4.2', '-U', '4');
    if (hasFoundDaemon()) return;
    if (starts === STARTS) throw new Error('the server does not find nfsdcld');
    stopServer();
  }
}

/** By the last of the kernel's messages about it. */
function hasFoundDaemon(): boolean {
  const last = kernelMessages().match(/NFSD: Using .* client tracking operations/gu)?.at(-1);
  return last === undefined || last.includes('nfsdcld');
}

function kernelMessages(): string {
  const log = openSync('/dev/kmsg', constants.O_RDONLY | constants.O_NONBLOCK);
  const messages: string[] = [];
  try {
    // One message each time, and EAGAIN after the last.
    for (const buffer = Buffer.alloc(8192); ; ) messages.push(buffer.toString('utf8', 0, readSync(log, buffer)));
  } catch {
    return messages.join('');
  } finally {
    closeSync(log);
  }
}

/** Stops it: its clients wait, and ask it for their locks again when it is back. */
export function stopServer(): void {
  command('rpc.nfsd', '0');
}

/** Exports a small file system of its own, in a directory of the export; `end` takes it away again. */
export function exportSmall(directory: string, name: string, size: string): { readonly end: () => void } {
  const path = `${directory}/${name}`;
  mkdirSync(path);
  command('mount', '-t', 'tmpfs', '-o', `size=${size},mode=1777`, 'tmpfs', path);
  command('exportfs', '-o', 'rw,fsid=7,no_subtree_check,no_root_squash,insecure', `*:${path}`);
  return {
    end: () => {
      command('exportfs', '-u', `*:${path}`);
      command('umount', '-l', path);
    },
  };
}
