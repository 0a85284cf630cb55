/**
 * A whole Linux kernel as an ordinary process (user-mode Linux; no KVM, no root), with the host's file system as its root, so that the same
 * Node and the same checkout run inside. Boots one program in it and ends the machine, also in the middle of its work: to the guest that is a
 * power cut, and what it had not flushed to its disk is gone.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PATH } from './packages.ts';

/** What a machine is started with. */
export interface MachineOptions {
  /** The source tree: where the guest's script lies. */
  readonly root: string;
  /** The compiled program that the guest runs, and its arguments (words without spaces). */
  readonly program: string;
  readonly words: readonly string[];
  readonly memory: string;
  /** The machine is ended after so many seconds, whatever it does. */
  readonly seconds: number;
  /** Kernel modules that the guest loads. */
  readonly modules: readonly string[];
  /** An ext4 image on the host; the guest has it mounted on {@link DISK}. */
  readonly disk?: string | undefined;
  /** Gets what the program prints, line by line. */
  readonly print: (line: string) => void;
}

/** A running machine. */
export interface Machine {
  /** Cuts the power. Idempotent. */
  cut(): void;
  /** The program's exit code, when the machine has ended and all lines were handed on; `undefined` when it ended before its program did. */
  readonly ended: Promise<number | undefined>;
}

/** Where the guest has its disk. */
export const DISK = '/run/lab/disk';

/** What ends a suite from outside, and its machines with it: they have a group of their own, so a terminal that is closed does not reach them. */
export const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The guest has file systems of its own there: what the host has in them is not seen inside. */
const COVERED = ['/run', '/dev/shm', '/var/lib/nfs'];

/** A directory for temporary files that host and guest both see. */
export function sharedTmpdir(): string {
  return COVERED.some((directory) => `${tmpdir()}/`.startsWith(`${directory}/`)) ? '/tmp' : tmpdir();
}

/** Debian's place for the modules; `dpkg -L user-mode-linux`. */
const MODULES = '/usr/lib/uml/modules';
/** The script says so when it hands over to the program; what comes before is the kernel's. */
const STARTED = 'lab: started';

/** Boots the machine. */
export async function startMachine(options: MachineOptions): Promise<Machine> {
  // The kernel's command line has no quotes for it: the guest would panic for want of its first program.
  if (/\s/u.test(sharedTmpdir())) throw new Error(`TMPDIR=${sharedTmpdir()} has white space in it, and a machine's kernel cannot be told of such a path; set another`);
  const directory = await mkdtemp(join(sharedTmpdir(), 'rwx-cache-machine-'));
  try {
    return powerOn(directory, await writeInit(directory, options), options);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

/** The first program of the guest: it sets what the guest's script has to know, and hands over to that. */
async function writeInit(directory: string, { root, program, words, seconds, modules, disk }: MachineOptions): Promise<string> {
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
    LAB_LOAD: [...modules, ...(disk === undefined ? [] : ['ext4'])].join(' '),
    LAB_DISK: disk === undefined ? '' : DISK,
    LAB_SECONDS: String(seconds),
    // The guest's own output is a console.
    ...(process.stdout.isTTY ? {} : { NO_COLOR: '1', TERM: 'dumb' }),
  };
  const init = join(directory, 'init');
  const exports = Object.entries(environment).map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'`);
  await writeFile(init, ['#!/bin/sh', ...exports, `exec sh "$LAB_ROOT/test/support/machine/guest.sh"`, ''].join('\n'));
  await chmod(init, 0o755);
  return init;
}

function powerOn(directory: string, init: string, { memory, seconds, disk, print }: MachineOptions): Machine {
  const options = [`mem=${memory}`, 'rootfstype=hostfs', 'rw', `init=${init}`, 'con=null', 'con0=fd:0,fd:1', 'quiet', 'umid=lab', `uml_dir=${directory}/`];
  if (disk !== undefined) options.push(`ubd0=${disk}`);
  // A group of its own: the kernel runs the guest's programs as processes beside it.
  const kernel = spawn('linux.uml', options, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env: { PATH, HOME: directory, TMPDIR: tmpdir() } });
  const cut = (): void => {
    try {
      if (kernel.pid !== undefined) process.kill(-kernel.pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  };
  return { cut, ended: end(kernel, cut, directory, seconds, print) };
}

async function end(kernel: ChildProcess, cut: () => void, directory: string, seconds: number, print: (line: string) => void): Promise<number | undefined> {
  const timer = setTimeout(cut, (seconds + 15) * 1000);
  // Several machines may run: whoever hears a signal first ends all of them by this.
  const onExit = (): void => {
    cut();
    rmSync(directory, { recursive: true, force: true });
  };
  const onSignal = (): void => process.exit(130);
  for (const signal of ENDING_SIGNALS) process.once(signal, onSignal);
  process.once('exit', onExit);
  const early: string[] = [];
  const heard = { start: false };
  const listen = async (input: NodeJS.ReadableStream | null): Promise<void> => {
    if (input === null) return;
    for await (const line of createInterface({ input })) {
      if (heard.start) print(line);
      else if (line.startsWith(STARTED)) heard.start = true;
      else early.push(line);
    }
  };
  const output = Promise.all([listen(kernel.stdout), listen(kernel.stderr)]);
  try {
    await once(kernel, 'exit');
    cut();
    await output;
    if (!heard.start) console.error(early.join('\n'));
    const code = await readFile(join(directory, 'exit-code'), 'utf8').catch(() => undefined);
    return code === undefined ? undefined : Number(code);
  } finally {
    clearTimeout(timer);
    for (const signal of ENDING_SIGNALS) process.off(signal, onSignal);
    process.off('exit', onExit);
    await rm(directory, { recursive: true, force: true });
  }
}
