/** The boot part of the lab: which machine it needs. */
import { startMachine, type MachineOptions } from '../support/machine/machine.ts';
import * as packages from '../support/machine/packages.ts';

const PROGRAMS: Readonly<Record<string, string>> = {
  'rpc.nfsd': 'nfs-kernel-server',
  'rpc.mountd': 'nfs-kernel-server',
  nfsdcld: 'nfs-kernel-server',
  exportfs: 'nfs-kernel-server',
  'mount.nfs4': 'nfs-common',
};

/** The packages that are missing for the lab; empty: it can be started. */
export function missingPackages(): string[] {
  return packages.missingPackages(PROGRAMS);
}

/** Starts the machine, hands on what its program prints, and answers its exit code when it has ended. */
export async function runMachine(options: Omit<MachineOptions, 'modules' | 'disk'>): Promise<number> {
  const machine = await startMachine({ ...options, modules: ['veth', 'sunrpc', 'nfsd', 'nfs', 'nfsv4'] });
  const code = await machine.ended;
  if (code === undefined) console.error('lab: the machine ended before its program did');
  return code ?? 1;
}
