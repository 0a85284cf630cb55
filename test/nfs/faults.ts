/** The faults part of the lab: what happens to clients, servers, clocks and processes. Runs inside the guest. */
import { existsSync, readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { until } from '../lock/fixtures/until.ts';
import { clientAddress } from './client.ts';
import { startServer, stopServer } from './server.ts';
import { command } from './shell.ts';

/** Pulls the cable of a client (`'a'`, `'b'`, or one that a test has made): it can neither reach the server nor renew its lease. */
export function cutOff(client: string): void {
  command('ip', 'link', 'set', `server-${client}`, 'down');
}

/** Plugs it in again. */
export function rejoin(client: string): void {
  command('ip', 'link', 'set', `server-${client}`, 'up');
}

/** Stops the server and starts it again; what follows is its grace period. */
export async function restartServer(downMs = 500): Promise<void> {
  stopServer();
  await setTimeout(downMs);
  startServer();
}

/** No packet of the TCP acknowledgements alone is longer, and no answer is shorter. */
const LONGEST_ACKNOWLEDGEMENT = 100;

/**
 * The client's requests arrive at the server and are carried out; no answer comes back. The bare acknowledgements of TCP do: without them the client sends
 * ten packets, and not one more.
 */
export function loseAnswers(client: string): void {
  const script = [
    'modprobe -d /run/lab/kernel -a sch_ingress cls_basic em_cmp act_gact',
    // What the server has not got rid of when it stops is given up soon, or else it would be delivered in the end.
    'sysctl -q net.ipv4.tcp_orphan_retries=1',
    `tc qdisc add dev server-${client} clsact`,
    `tc filter add dev server-${client} egress protocol ip basic match 'cmp(u16 at 2 layer network gt ${LONGEST_ACKNOWLEDGEMENT})' action drop`,
  ];
  command('sh', '-ec', script.join('\n'));
}

/**
 * Restarts the server, which forgets the answers that it could not deliver, and lets the client hear it again: it sends anew what it has
 * no answer to. (Stopping and starting alone makes no client send anything twice, measured.) The client hears it only while it is stopped: one that is
 * already connected to the new server would wait for the answers that are dropped there, and that connection lives on for minutes, measured.
 */
export async function restartWithoutAnswers(client: string): Promise<void> {
  stopServer();
  try {
    await until(() => !hasConnections(client), 'the server has given up what it could not deliver', 60_000);
  } finally {
    // Also after a failure: a client without answers, or without a server, is one whose processes cannot be ended.
    command('tc', 'qdisc', 'del', 'dev', `server-${client}`, 'clsact');
    startServer();
  }
}

/**
 * The server hands out no delegations until the end of the test. With one, a client that is to replace its own open file gives that back first, and it
 * is this call that gets no answer.
 */
export function withoutDelegations(t: TestContext): void {
  command('sysctl', '-q', 'fs.leases-enable=0');
  t.after(() => {
    command('sysctl', '-q', 'fs.leases-enable=1');
  });
}

const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';

/**
 * The environment of a process whose wall clock is wrong by so much: for all of it by libfaketime where that is installed, else for its JavaScript. The monotonic
 * clock goes right, as when an administrator has set the time.
 */
export function withClock(ms: number): NodeJS.ProcessEnv {
  if (!existsSync(FAKETIME)) return { ...process.env, SKEW_MS: String(ms), NODE_OPTIONS: `--import=${new URL('../lock/fixtures/skew.js', import.meta.url).href}` };
  return { ...process.env, LD_PRELOAD: FAKETIME, FAKETIME: `${ms < 0 ? '' : '+'}${ms / 1000}s`, FAKETIME_DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' };
}

/** Moves the clock that all of the machine goes by, the server's time stamps included; moved back after the test. */
export function moveClock(t: TestContext, ms: number): void {
  setClock(ms);
  t.after(() => {
    setClock(-ms);
  });
}

function setClock(ms: number): void {
  command('date', '-s', `@${((Date.now() + ms) / 1000).toFixed(3)}`);
}

const NFS_PORT = ':0801';

/** One that has ended, and is remembered for a minute: nothing of it is undelivered. */
const TIME_WAIT = '06';

/**
 * Whether the server's side still has TCP connections to a client: the lines of /proc/net/tcp have local and remote address in hexadecimal, the lowest
 * byte first, and the state.
 */
function hasConnections(client: string): boolean {
  const address = Buffer.from(clientAddress(client).split('.').map(Number).reverse()).toString('hex').toUpperCase();
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/u))
    .some(([, local = '', remote = '', state]) => local.endsWith(NFS_PORT) && remote.startsWith(address) && state !== TIME_WAIT);
}
