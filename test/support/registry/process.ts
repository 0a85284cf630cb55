/** Starts the embedded registry in a process of its own, and talks to it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get, request } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Fault, Route } from './faults.ts';
import type { LoggedRequest, RegistryOptions } from './registry.ts';

/** A registry in another process. */
export interface RegistryProcess {
  readonly origin: string;
  readonly host: string;
  readonly pid: number;
  /** The `hosts` option that leads a host name there without discovery. */
  hosts(hostname?: string): Record<string, Record<string, string>>;
  /** Every request so far. */
  requestLog(): Promise<LoggedRequest[]>;
  /** How many requests there were of a kind, or with a path that matches. */
  count(which: Route | RegExp): Promise<number>;
  /** Puts these faults in the place of all others. */
  setFaults(faults: readonly Fault[]): Promise<void>;
  /** Stops it. Idempotent. */
  close(): Promise<void>;
}

/** Options that can be sent to another process. */
export type RegistryProcessOptions = Omit<RegistryOptions, 'signer'>;

/** Starts it, and waits until it listens. */
export async function startRegistryProcess(options: RegistryProcessOptions = {}): Promise<RegistryProcess> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./main.js', import.meta.url)), JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const first = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>;
  const line = await Promise.race([first.then(([text]) => text), exited.then(() => undefined)]);
  if (line === undefined || child.pid === undefined) throw new Error('The registry process ended before it listened');
  const { origin, host } = JSON.parse(line) as { origin: string; host: string };

  const requestLog = async (): Promise<LoggedRequest[]> => {
    const [answer] = (await once(get(`${origin}/__log`), 'response')) as [NodeJS.ReadableStream];
    return JSON.parse(await text(answer)) as LoggedRequest[];
  };
  return {
    origin,
    host,
    pid: child.pid,
    hosts: (hostname = 'registry.opentofu.org') => ({ [hostname]: { 'providers.v1': `${origin}/v1/providers/` } }),
    requestLog,
    count: async (which) => (await requestLog()).filter(({ route, path }) => (typeof which === 'string' ? route === which : which.test(path))).length,
    setFaults: async (faults) => {
      const sent = request(`${origin}/__faults`, { method: 'POST' });
      sent.end(JSON.stringify(faults));
      const [answer] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
      await text(answer);
    },
    close: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
