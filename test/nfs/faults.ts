/** The faults part of the lab: what happens to clients, servers and processes. Runs inside the guest. */
import { setTimeout } from 'node:timers/promises';
import { startServer, stopServer } from './server.ts';
import { command } from './shell.ts';

/** Pulls the cable of a client (`'a'` or `'b'`): it can neither reach the server nor renew its lease. */
export function cutOff(client: 'a' | 'b'): void {
  command('ip', 'link', 'set', `server-${client}`, 'down');
}

/** Plugs it in again. */
export function rejoin(client: 'a' | 'b'): void {
  command('ip', 'link', 'set', `server-${client}`, 'up');
}

/** Stops the server and starts it again; what follows is its grace period. */
export async function restartServer(downMs = 500): Promise<void> {
  stopServer();
  await setTimeout(downMs);
  startServer();
}
