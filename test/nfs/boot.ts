/**
 * The boot part of the lab: a whole Linux kernel as an ordinary process (user-mode Linux; no KVM, no root), with the host's file
 * system as its root, so that the same Node and the same checkout run inside. Knows nothing of NFS.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** What a machine is started with. */
export interface Machine {
  /** The source tree: where the guest's script lies. */
  readonly root: string;
  /** The compiled program that the guest runs, and its arguments (words without spaces). */
  readonly program: string;
  readonly words: readonly string[];
  readonly memory: string;
  /** The machine is ended after so many seconds, whatever it does. */
  readonly seconds: number;
  /** Gets what the program prints, line by line. */
  readonly print: (line: string) => void;
}

/** Debian's place for the modules; `dpkg -L user-mode-linux`. */
const MODULES = '/usr/lib/uml/modules';
/** `/usr/sbin` is not on an ordinary user's path, and most of this lies there. */
const PATH = `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin`;
const PROGRAMS: Readonly<Record<string, string>> = {
  'linux.uml': 'user-mode-linux',
  'rpc.nfsd': 'nfs-kernel-server',
  'rpc.mountd': 'nfs-kernel-server',
  nfsdcld: 'nfs-kernel-server',
  exportfs: 'nfs-kernel-server',
  'mount.nfs4': 'nfs-common',
  ip: 'iproute2',
  modprobe: 'kmod',
};
/** The script says so when it hands over to the program; what comes before is the kernel's. */
const STARTED = 'lab: started';

/** The packages that are missing for a machine; empty: it can be started. */
export function missingPackages(): string[] {
  if (process.platform !== 'linux') return ['Linux'];
  const missing = Object.entries(PROGRAMS).filter(([program]) => spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH } }).status !== 0);
  return [...new Set(missing.map(([, name]) => name))];
}

/** Starts the machine, passes on what its program prints, and answers its exit code when it has ended. */
export async function runMachine({ root, program, words, memory, seconds, print }: Machine): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'rwx-cache-nfs-'));
  try {
    const version = existsSync(MODULES) ? readdirSync(MODULES)[0] : undefined;
    if (version === undefined) throw new Error(`${MODULES} holds no modules; install user-mode-linux`);
    const environment = {
      PATH,
      HOME: directory,
      LAB_ROOT: root,
      LAB_NODE: process.execPath,
      LAB_PROGRAM: program,
      LAB_WORDS: words.join(' '),
      LAB_DIRECTORY: directory,
      LAB_MODULES: join(MODULES, version),
      LAB_SECONDS: String(seconds),
      // The guest's own output is a console.
      ...(process.stdout.isTTY ? {} : { NO_COLOR: '1', TERM: 'dumb' }),
    };
    const init = join(directory, 'init');
    const exports = Object.entries(environment).map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'`);
    await writeFile(init, ['#!/bin/sh', ...exports, `exec sh "$LAB_ROOT/test/nfs/guest.sh"`, ''].join('\n'));
    await chmod(init, 0o755);
    await runKernel(init, directory, memory, seconds, print);
    const code = await readFile(join(directory, 'exit-code'), 'utf8').catch(() => undefined);
    if (code === undefined) console.error('lab: the machine ended before its program did');
    return code === undefined ? 1 : Number(code);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function runKernel(init: string, directory: string, memory: string, seconds: number, print: (line: string) => void): Promise<void> {
  const options = [`mem=${memory}`, 'rootfstype=hostfs', 'rw', `init=${init}`, 'con=null', 'con0=fd:0,fd:1', 'quiet', 'umid=lab', `uml_dir=${directory}/`];
  // A group of its own: the kernel runs the guest's programs as processes beside it.
  const kernel = spawn('linux.uml', options, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env: { PATH, HOME: directory, TMPDIR: tmpdir() } });
  const end = (): void => {
    try {
      if (kernel.pid !== undefined) process.kill(-kernel.pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  };
  const timer = setTimeout(end, (seconds + 15) * 1000);
  // Several machines may run: whoever hears a signal first ends all of them by this.
  const onExit = (): void => {
    end();
    rmSync(directory, { recursive: true, force: true });
  };
  const onSignal = (): void => process.exit(130);
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal).once('exit', onExit);
  const early: string[] = [];
  const heard = { start: false };
  const listen = async (input: NodeJS.ReadableStream): Promise<void> => {
    for await (const line of createInterface({ input })) {
      if (heard.start) print(line);
      else if (line.startsWith(STARTED)) heard.start = true;
      else early.push(line);
    }
  };
  const output = Promise.all([listen(kernel.stdout), listen(kernel.stderr)]);
  await once(kernel, 'exit');
  clearTimeout(timer);
  end();
  await output;
  process.off('SIGINT', onSignal).off('SIGTERM', onSignal).off('exit', onExit);
  if (!heard.start) console.error(early.join('\n'));
}
