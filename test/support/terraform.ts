/**
 * Real `terraform` and `tofu` programs for tests and the demo: finds one, prepares a working directory, runs `init` in an
 * environment of its own (no configuration of whoever runs the tests, no upgrade check), and reads the lock file that it wrote.
 */
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { once } from 'node:events';

/** A program that installs providers. */
export interface Client {
  readonly name: 'terraform' | 'tofu';
  /** Absolute path of the program. */
  readonly path: string;
  /** For example `1.11.4`. */
  readonly version: string;
}

/** A provider that a configuration requires. */
export interface RequiredProvider {
  /** With its host: the clients have different default ones. */
  readonly source: string;
  readonly version: string;
}

/** A provider of a lock file. */
export interface LockedProvider extends RequiredProvider {
  readonly hashes: readonly string[];
}

/** What the CLI configuration file says. */
export interface ClientConfiguration {
  /** Services by registry host, as the `hosts` option of the cache has them. */
  readonly hosts?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  /** Providers come from here and from nowhere else. */
  readonly mirror?: string | undefined;
}

/** How `init` is run. */
export interface InitOptions {
  readonly configuration?: ClientConfiguration | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
  readonly arguments?: readonly string[] | undefined;
  /** Runs it where there is no network at all, not even loopback; takes {@link canGoOffline}. */
  readonly offline?: boolean | undefined;
  /** Default 120,000 ms; then it is killed. */
  readonly timeoutMs?: number | undefined;
}

/** How `init` ended. */
export interface InitResult {
  /** `null` after a signal. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Standard output and standard error, in the order in which they came. */
  readonly output: string;
}

/** An `init` that runs. */
export interface RunningInit {
  readonly pid: number;
  readonly done: Promise<InitResult>;
  kill(signal: NodeJS.Signals): void;
}

/** The first of these programs that is on the PATH and runs; `undefined` where none does. */
export function findClient(...names: readonly Client['name'][]): Client | undefined {
  for (const name of names) {
    const path = onPath(name);
    if (path === undefined) continue;
    const { stdout, status } = spawnSync(path, ['version', '-json'], { encoding: 'utf8', timeout: 30_000, env: environment('/nonexistent', {}) });
    const version = status === 0 ? /"terraform_version":\s*"([^"]+)"/u.exec(stdout)?.[1] : undefined;
    if (version !== undefined) return { name, path, version };
  }
  return undefined;
}

/** Makes a working directory with a configuration that requires these providers and nothing else. */
export async function makeWorkingDirectory(directory: string, providers: readonly RequiredProvider[]): Promise<string> {
  await mkdir(directory, { recursive: true });
  const required = providers.map(({ source, version }, index) => `    p${index} = {\n      source  = "${source}"\n      version = "${version}"\n    }\n`);
  await writeFile(join(directory, 'main.tf'), `terraform {\n  required_providers {\n${required.join('')}  }\n}\n`);
  return directory;
}

/** Writes a lock file with these hashes, as the clients write it. */
export async function writeLockFile(directory: string, providers: readonly LockedProvider[]): Promise<void> {
  const blocks = providers.map(
    ({ source, version, hashes }) =>
      `provider "${source}" {\n  version     = "${version}"\n  constraints = "${version}"\n  hashes = [\n${hashes.map((hash) => `    "${hash}",\n`).join('')}  ]\n}\n`,
  );
  await writeFile(join(directory, '.terraform.lock.hcl'), blocks.join('\n'));
}

/** Reads the lock file that a client wrote: only what those files hold, not HCL. */
export async function readLockFile(directory: string): Promise<LockedProvider[]> {
  const text = await readFile(join(directory, '.terraform.lock.hcl'), 'utf8');
  return [...text.matchAll(/^provider "([^"]+)" \{\n([^}]*)\}/gmu)].map(([, source = '', body = '']) => ({
    source,
    version: /^ *version *= "([^"]+)"/mu.exec(body)?.[1] ?? '',
    hashes: [...body.matchAll(/"((?:h1|zh):[^"]+)"/gu)].map(([, hash = '']) => hash),
  }));
}

/** Whether programs can be run in a network namespace of their own here: root on Linux, as a rule. */
export function canGoOffline(): boolean {
  return process.platform === 'linux' && spawnSync('unshare', ['--net', '--', 'true']).status === 0;
}

/** Runs `init` to its end. */
export async function init(client: Client, directory: string, options: InitOptions = {}): Promise<InitResult> {
  return (await startInit(client, directory, options)).done;
}

/** Starts `init` in a working directory. Its home and its CLI configuration lie beside the configuration, in `.client`. */
export async function startInit(client: Client, directory: string, options: InitOptions = {}): Promise<RunningInit> {
  const home = join(directory, '.client');
  await mkdir(home, { recursive: true });
  const configurationFile = join(home, 'cli.tfrc');
  await writeFile(configurationFile, configurationText(options.configuration ?? {}));
  const [program, ...before] = options.offline === true ? ['unshare', '--net', '--', client.path] : [client.path];
  const child = spawn(program, [...before, 'init', '-input=false', '-no-color', ...(options.arguments ?? [])], {
    cwd: directory,
    env: environment(home, { TF_CLI_CONFIG_FILE: configurationFile, ...options.environment }),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: options.timeoutMs ?? 120_000,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  if (child.pid === undefined) await closed;
  return {
    pid: child.pid ?? 0,
    done: closed.then(([code, signal]) => ({ code, signal, output })),
    kill: (signal) => void child.kill(signal),
  };
}

function configurationText({ hosts = {}, mirror }: ClientConfiguration): string {
  const blocks = Object.entries(hosts).map(([host, services]) => {
    const lines = Object.entries(services).map(([service, url]) => `    ${JSON.stringify(service)} = ${JSON.stringify(url)}\n`);
    return `host ${JSON.stringify(host)} {\n  services = {\n${lines.join('')}  }\n}\n`;
  });
  if (mirror !== undefined) blocks.push(`provider_installation {\n  filesystem_mirror {\n    path = ${JSON.stringify(mirror)}\n  }\n}\n`);
  return blocks.join('');
}

/** Nothing of the environment but where programs and temporary files are. */
function environment(home: string, more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const kept = Object.fromEntries(['PATH', 'TMPDIR', 'SystemRoot', 'TEMP'].map((name) => [name, process.env[name]]).filter(([, value]) => value !== undefined)) as NodeJS.ProcessEnv;
  return { ...kept, HOME: home, CHECKPOINT_DISABLE: '1', TF_IN_AUTOMATION: '1', ...more };
}

function onPath(name: string): string | undefined {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(directory, process.platform === 'win32' ? `${name}.exe` : name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this one.
    }
  }
  return undefined;
}
