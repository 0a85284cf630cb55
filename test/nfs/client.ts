/**
 * The client part of the lab: an NFS client with a network, an identity, leases and caches of its own. Its mounts are visible to every
 * process of the guest, so that one process can be on two hosts. Runs inside the guest.
 */
import { mkdirSync } from 'node:fs';
import { command } from './shell.ts';

/** One client of the server. */
export interface Client {
  /** `a`, `b`, … */
  readonly name: string;
}

/** Plugs a client in. */
export function createClient(name: string): Client {
  const [space, cable, plug] = [`client-${name}`, `server-${name}`, `plug-${name}`];
  // One shell for all: starting a program from Node costs a third of a second in there.
  const script = [
    `ip netns add ${space}`,
    `ip link add ${cable} type veth peer name ${plug} netns ${space}`,
    `ip addr add ${serverAddress(name)}/24 dev ${cable}`,
    `ip link set ${cable} up`,
    `ip -n ${space} addr add ${clientAddress(name)}/24 dev ${plug}`,
    `ip -n ${space} link set ${plug} up`,
    `ip -n ${space} link set lo up`,
    // `ip netns exec` shows it a /sys of its own network.
    `ip netns exec ${space} sh -c 'echo client-${name} >/sys/fs/nfs/net/nfs_client/identifier'`,
  ];
  command('sh', '-ec', script.join('\n'));
  return { name };
}

/** Mounts the server's export as this client, and answers where; `options` come on top of the ordinary ones. */
export function mountAs({ name }: Client, directory: string, ...options: readonly string[]): string {
  mkdirSync(directory, { recursive: true });
  const version = options.some((option) => option.startsWith('vers=')) ? [] : ['vers=4.1'];
  const all = [...version, 'proto=tcp', 'port=2049', ...options].join(',');
  command('nsenter', `--net=/run/netns/client-${name}`, 'mount', '-t', 'nfs4', '-o', all, `${serverAddress(name)}:/`, directory);
  return directory;
}

function serverAddress(name: string): string {
  return `10.77.${name.charCodeAt(0)}.1`;
}

/** Where the server reaches a client. */
export function clientAddress(name: string): string {
  return `10.77.${name.charCodeAt(0)}.2`;
}
