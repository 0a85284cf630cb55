/**
 * The credentials helper of a CLI configuration as a source of credentials: found where the clients look for it, asked once for each
 * host, and what it says kept for as long as the configuration is. Failures are not kept.
 */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { logger } from '../diagnostics.ts';
import { CredentialsHelperError, InvalidVersionError } from '../errors.ts';
import { compareVersions, currentPlatform, parseVersion, type Version } from '../layout/index.ts';
import { singleFlight } from '../single-flight.ts';
import { hasSystemError } from '../system-errors.ts';
import { isSendable, type CredentialSource, type Environment, type HostCredentials } from './credentials.ts';
import { displayHost } from './display-host.ts';
import { runHelper } from './run-helper.ts';

/** A `credentials_helper` block. */
export interface HelperSettings {
  /** The block's label: the program is `terraform-credentials-<name>`. */
  readonly name: string;
  /** What it gets before `get` and the host. */
  readonly args: readonly string[];
  /** Where it is looked for; relative ones count from the working directory. */
  readonly directories: readonly string[];
  /** What it sees of the environment. */
  readonly environment: Environment;
  /** How long one call may take, in milliseconds. */
  readonly timeoutMs: number;
}

const log = logger('registry');

/** The source. Callers who ask for one host together wait for one run; the last of them to leave ends it. */
export function helperSource(settings: HelperSettings): CredentialSource {
  const { args, environment, timeoutMs } = settings;
  const flights = singleFlight<HostCredentials | undefined>();
  const known = new Map<string, HostCredentials | undefined>();

  async function ask(host: string, signal: AbortSignal): Promise<HostCredentials | undefined> {
    const program = await findHelper(settings.name, settings.directories);
    const failed = (problem: string, cause?: unknown): CredentialsHelperError =>
      new CredentialsHelperError({ hostname: displayHost(host), program: program ?? programName(settings.name), problem, cause });
    if (program === undefined) throw failed(`it is in none of ${settings.directories.join(', ')}`);
    const began = performance.now();
    const { output, problem, ...rest } = await runHelper({ program, args, host, environment, timeoutMs, signal });
    log('%s was asked for %s: %s (%d ms)', program, host, problem ?? 'it has answered', Math.round(performance.now() - began));
    if (output === undefined) throw failed(problem, 'cause' in rest ? rest.cause : undefined);
    const credentials = credentialsIn(output, failed);
    known.set(host, credentials);
    return credentials;
  }

  return async (host, signal) => {
    signal?.throwIfAborted();
    return known.has(host) ? known.get(host) : flights.run(host, (shared) => ask(host, shared), signal);
  };
}

/** One JSON object: its `token`; none when it has none, which is how a helper says so, and how other kinds of credentials look. */
function credentialsIn(output: string, failed: (problem: string) => Error): HostCredentials | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(output);
  } catch {
    // Without the cause: it quotes what was printed.
    throw failed(`its answer is not JSON (${output.length} characters)`);
  }
  // The reference reads `null` as an empty object.
  if (answer === null) return undefined;
  if (typeof answer !== 'object' || Array.isArray(answer)) throw failed('its answer is not a JSON object');
  const token = Object.hasOwn(answer, 'token') ? (answer as { token: unknown }).token : undefined;
  if (typeof token !== 'string' || token === '') return undefined;
  if (!isSendable(token)) throw failed('the token holds a space, a line break or a character that no header can carry');
  return { token };
}

function programName(name: string): string {
  return `terraform-credentials-${name}`;
}

/**
 * Finds the helper as the clients do: in these directories, by its name, which may end with a version (`_v1.2.3`, also `_v1.2.3_x4`) and with
 * `.exe`. The newest version wins, one without a version is the oldest, and of two the one in the earlier directory.
 */
export async function findHelper(name: string, directories: readonly string[]): Promise<string | undefined> {
  let best: { readonly path: string; readonly version: Version } | undefined;
  for (const directory of directories) {
    for (const file of (await namesIn(directory)).sort()) {
      const version = helperVersion(file, name);
      if (version === undefined || (best !== undefined && compareVersions(version, best.version) <= 0)) continue;
      const path = resolve(join(directory, file));
      if (await isFile(path)) best = { path, version };
    }
  }
  return best?.path;
}

/** The directories below the clients' data directories in which they look for programs. */
export function pluginDirectories(dataDirectories: readonly string[]): string[] {
  return dataDirectories.flatMap((directory) => [join(directory, 'plugins'), join(directory, 'plugins', String(currentPlatform()))]);
}

function helperVersion(file: string, name: string): Version | undefined {
  const base = file.toLowerCase().replace(/\.exe$/u, '');
  const wanted = programName(name).toLowerCase();
  if (base === wanted) return parseVersion('0.0.0');
  if (!base.startsWith(`${wanted}_v`)) return undefined;
  const [version = ''] = base.slice(wanted.length + 2).split('_x', 1);
  try {
    return parseVersion(version);
  } catch (error) {
    if (error instanceof InvalidVersionError) return undefined;
    throw error;
  }
}

/** As the clients: a directory that is not there, or cannot be read, holds nothing. */
async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: unknown) => {
    if (!hasSystemError(error, 'ENOENT', 'ENOTDIR')) log('%s cannot be read, and is passed over', directory);
    return [];
  });
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
