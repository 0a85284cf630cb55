/** Which packages a machine needs on the host, and which of them are missing. */
import { spawnSync } from 'node:child_process';

/** `/usr/sbin` is not on an ordinary user's path, and most of this lies there. */
export const PATH = `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin`;

/** Programs that every machine needs, and the packages of Debian that have them. */
const MACHINE: Readonly<Record<string, string>> = { 'linux.uml': 'user-mode-linux', modprobe: 'kmod', mount: 'mount', ip: 'iproute2' };

/** The packages that are missing for a machine that needs these programs as well; empty: it can be started. */
export function missingPackages(programs: Readonly<Record<string, string>>): string[] {
  if (process.platform !== 'linux') return ['Linux'];
  const missing = Object.entries({ ...MACHINE, ...programs }).filter(([program]) => spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH } }).status !== 0);
  return [...new Set(missing.map(([, name]) => name))];
}
