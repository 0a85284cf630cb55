/** Counts the RPCs of one mount: `/proc/self/mountstats` has exact counts for each operation, the same on every machine. */
import { readFile } from 'node:fs/promises';

/** RPCs by the name of their operation; those that were not sent are left out. */
export type RpcCounts = Readonly<Record<string, number>>;

/** What a piece of work sends over a mount. The renewal of the client's lease (SEQUENCE) belongs to nobody and is left out. */
export async function countRpcs(mount: string, work: () => Promise<unknown>): Promise<RpcCounts> {
  const before = await totals(mount);
  await work();
  const after = await totals(mount);
  const sent = [...after].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const);
  return Object.fromEntries(sent.filter(([name, count]) => count > 0 && name !== 'SEQUENCE'));
}

/** All of them together, or only those of some names. */
export function sum(counts: RpcCounts, except: readonly string[] = []): number {
  return Object.entries(counts).reduce((total, [name, count]) => (except.includes(name) ? total : total + count), 0);
}

/** The counts as one line. */
export function describeCounts(counts: RpcCounts): string {
  const parts = Object.entries(counts).sort(([a], [b]) => a.localeCompare(b));
  return `${sum(counts)}: ${parts.map(([name, count]) => (count === 1 ? name : `${count} ${name}`)).join(', ')}`;
}

async function totals(mount: string): Promise<Map<string, number>> {
  const text = await readFile('/proc/self/mountstats', 'utf8');
  const own = text.split(/^(?=device )/mu).find((part) => part.includes(` mounted on ${mount} with fstype nfs`));
  if (own === undefined) throw new Error(`${mount} is no NFS mount`);
  const [, operations = ''] = own.split('per-op statistics');
  return new Map([...operations.matchAll(/^\s*([A-Z_]+): (\d+) /gmu)].map(([, name = '', count]) => [name, Number(count)]));
}
