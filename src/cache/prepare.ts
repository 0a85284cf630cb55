/**
 * A working directory made ready for `init`: its lock file's packages in the cache, linked where the client looks for them, and a configuration under which
 * the client asks nobody for them. Writes into the working directory's data directory only (and the lock file, where that is asked for).
 */
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeDirectories, writeFileAtomic } from '../atomic/index.ts';
import { logger } from '../diagnostics.ts';
import { FileSystemError, InvalidOptionError } from '../errors.ts';
import { hostFromTokenVariable, normalizeHostname } from '../layout/index.ts';
import { displayHost } from '../registry/display-host.ts';
import { impliedSources, loadCliConfig, renderCliConfig, type CliConfig, type Environment, type ProviderSource, type ServicesByHost } from '../registry/index.ts';
import { fileSystemError } from '../system-errors.ts';
import { checkEnsureLockFileOptions, type EnsureLockFileOptions } from './ensure-lock-file.ts';
import { checkLinkMethod, type LinkMethod } from './link.ts';
import type { ProviderCacheOptions } from './options.ts';
import type { ProviderPackage } from './provider-package.ts';

const log = logger('cache');

/** Options of `prepareWorkingDirectory`. */
export interface PrepareOptions extends Omit<EnsureLockFileOptions, 'platform'> {
  /** How packages get into the data directory's `providers`. Default `'auto'`: a symlink where the lock file has the package's own hash, else a copy. */
  readonly method?: LinkMethod | undefined;
  /** The environment that the client will have, beside what is answered here: `TF_DATA_DIR` and tokens are read from it. Default: the cache's own. */
  readonly environment?: Environment | undefined;
  /**
   * The user's CLI configuration, which stays in force for what the lock file does not name. Default: the cache's own, or else what {@link loadCliConfig} finds, as the
   * client would by itself. `false`: none.
   */
  readonly cliConfig?: CliConfig | false | undefined;
  /**
   * Whether the client may take what the lock file does not name from the user's other sources. Default true, and false for a cache that is `offline`:
   * then the client finds the lock file's providers and nothing else.
   */
  readonly others?: boolean | undefined;
  /** Writes the configuration to a file in the data directory, and names that in the environment. Default true. */
  readonly writeCliConfig?: boolean | undefined;
}

/** What a client is to be run with. */
export interface PreparedDirectory {
  /** The lock file's packages for this machine, in the order of the file, then those of further platforms. None where there is no lock file. */
  readonly packages: readonly ProviderPackage[];
  /**
   * What the client's environment needs, on top of its own: `{ ...process.env, ...environment }`. Holds tokens (`TF_TOKEN_*`) where the cache or the user's
   * configuration has some: hand it to the client, and log it nowhere.
   */
  readonly environment: Readonly<Record<string, string>>;
  /** The configuration as text. It holds no token. */
  readonly cliConfig: string;
  /** The file that has it, with `writeCliConfig`. */
  readonly cliConfigPath: string | undefined;
  /** Where the packages are linked, or copied to. */
  readonly providersDirectory: string;
  /** The mirror that the configuration names: links to the lock file's packages in the cache. */
  readonly mirrorDirectory: string;
}

/** What it needs of a cache. */
export interface PrepareContext {
  ensureLockFile(path: string, options: EnsureLockFileOptions): Promise<ProviderPackage[]>;
}

/**
 * See `ProviderCache.prepareWorkingDirectory`. What the configuration does:
 *
 * - Links alone are not offline: the client asks its sources for the versions first. So it names a mirror, which is a directory of links beside the data directory's
 *   `providers`. It holds the lock file's packages and nothing else: a client walks through the whole of a mirror, and a prune of the cache in that moment would fail it.
 * - Every other source of the user's is told to leave the lock file's providers alone, since a client asks all that match.
 * - Its file takes the place of all files of the user's (`TF_CLI_CONFIG_FILE`), so what they say is carried over, by it or by the environment: all but the plugin
 *   cache, and OpenTofu's `oci_credentials`.
 */
export async function prepareWorkingDirectory(directory: string, options: PrepareOptions, given: ProviderCacheOptions, cache: PrepareContext): Promise<PreparedDirectory> {
  if (typeof directory !== 'string' || directory === '' || directory.includes('\0')) throw new InvalidOptionError('directory', 'it is the path of a working directory');
  const root = resolve(directory);
  const lockFile = join(root, '.terraform.lock.hcl');
  const [platform] = checkEnsureLockFileOptions(lockFile, options);
  checkLinkMethod(options.method);
  for (const name of ['others', 'writeCliConfig'] as const) if (options[name] !== undefined && typeof options[name] !== 'boolean') throw new InvalidOptionError(name, 'it is true or false');
  const { signal, environment: around = given.environment ?? process.env, method = 'auto', others = given.offline !== true } = options;
  signal?.throwIfAborted();
  await checkDirectory(root);
  const cliConfig = await configOf(options.cliConfig ?? given.cliConfig, { environment: around, workingDirectory: root, signal });

  const packages = await cache.ensureLockFile(lockFile, options).catch(noneWithout(lockFile));
  try {
    const data = resolve(root, around['TF_DATA_DIR'] === undefined || around['TF_DATA_DIR'] === '' ? '.terraform' : around['TF_DATA_DIR']);
    const own = join(data, 'rwx-cache');
    const [providersDirectory, mirrorDirectory] = [join(data, 'providers'), join(own, 'mirror')];
    await makeDirectories(mirrorDirectory, { durable: false });
    const forClient = packages.filter((found) => String(found.platform) === String(platform));
    for (const found of forClient) {
      signal?.throwIfAborted();
      await found.linkInto(providersDirectory, { method, lockFile });
      await found.linkInto(mirrorDirectory, { method: 'symlink' });
    }
    const locked = forClient.map(({ address }) => String(address));
    const text = renderCliConfig({
      providersDirectory: mirrorDirectory,
      // A client to which nothing else is open needs no list; without a list the mirror would be asked for everything.
      include: others ? (locked.length === 0 ? [NOTHING] : locked) : [],
      sources: others ? (await sourcesOf(given, cliConfig, { environment: around, workingDirectory: root, signal })).filter((source) => !isMirrorAt(source, mirrorDirectory)) : [],
      devOverrides: cliConfig?.devOverrides,
      credentialsHelper: cliConfig?.credentialsHelper,
      hosts: { ...cliConfig?.hosts, ...byDisplayName(given.hosts) },
    });
    const cliConfigPath = options.writeCliConfig === false ? undefined : join(own, 'cli.tfrc');
    if (cliConfigPath !== undefined) await writeFileAtomic(cliConfigPath, text, { durable: false, mode: 0o644, signal });
    const environment = {
      CHECKPOINT_DISABLE: '1',
      // Empty is off. The clients put links to the mirror into a plugin cache, where others find them dangling when this directory is gone; and they refuse to install an entry
      // from a mirror to itself, where the two are one directory.
      TF_PLUGIN_CACHE_DIR: '',
      ...(around['TF_DATA_DIR'] === undefined || around['TF_DATA_DIR'] === '' ? {} : { TF_DATA_DIR: around['TF_DATA_DIR'] }),
      ...(cliConfigPath === undefined ? {} : { TF_CLI_CONFIG_FILE: cliConfigPath }),
      ...protocolSettings(cliConfig, around),
      ...(await tokens({ given, cliConfig, around, signal })),
    };
    return { packages, environment, cliConfig: text, cliConfigPath, providersDirectory, mirrorDirectory };
  } catch (error) {
    if (options.pin === true) await Promise.allSettled(packages.map(async ({ pin }) => pin?.release()));
    throw error;
  }
}

/** Everything below it is made where it is missing; a mistyped path is not. */
async function checkDirectory(root: string): Promise<void> {
  try {
    if ((await stat(root)).isDirectory()) return;
  } catch (error) {
    throw fileSystemError(error, 'prepare the working directory', root);
  }
  throw new FileSystemError({ systemCode: 'ENOTDIR', operation: 'prepare the working directory', path: root });
}

function noneWithout(lockFile: string): (error: unknown) => ProviderPackage[] {
  return (error) => {
    // A working directory that was never initialised: the client chooses the versions.
    if (error instanceof FileSystemError && error.systemCode === 'ENOENT' && error.path === lockFile) return [];
    throw error;
  };
}

/** No provider has such an address: the name is reserved (RFC 2606). */
const NOTHING = 'nothing.invalid/nothing/nothing';

interface Surroundings {
  readonly environment: Environment;
  readonly workingDirectory: string;
  readonly signal: AbortSignal | undefined;
}

async function configOf(given: CliConfig | false | undefined, around: Surroundings): Promise<CliConfig | undefined> {
  return given === false ? undefined : (given ?? (await loadCliConfig(around)));
}

async function sourcesOf(given: ProviderCacheOptions, cliConfig: CliConfig | undefined, around: Surroundings): Promise<readonly ProviderSource[]> {
  return given.sources ?? cliConfig?.sources ?? (await impliedSources(around));
}

/** Of an earlier call, when its environment has become this process's own. */
function isMirrorAt(source: ProviderSource, mirror: string): boolean {
  return source.type === 'filesystem_mirror' && resolve(source.path) === mirror;
}

/** As the CLI configuration has them. */
function byDisplayName(hosts: ServicesByHost = {}): ServicesByHost {
  return Object.fromEntries(Object.entries(hosts).map(([host, services]) => [normalizeHostname(host).display, services]));
}

/** What blocks of the files say and variables can say as well; those that are there beat the files. */
function protocolSettings(cliConfig: CliConfig | undefined, around: Environment): Record<string, string> {
  const timeoutMs = cliConfig?.registryProtocols.requestTimeoutMs;
  const said = {
    TF_REGISTRY_DISCOVERY_RETRY: cliConfig?.registryProtocols.retryCount,
    TF_REGISTRY_CLIENT_TIMEOUT: timeoutMs === undefined ? undefined : Math.ceil(timeoutMs / 1000),
    TF_PROVIDER_DOWNLOAD_RETRY: cliConfig?.downloadRetryCount,
  };
  return Object.fromEntries(Object.entries(said).flatMap(([name, value]) => (value === undefined || (around[name] ?? '') !== '' ? [] : [[name, String(value)]])));
}

interface TokenSources {
  readonly given: ProviderCacheOptions;
  readonly cliConfig: CliConfig | undefined;
  readonly around: Environment;
  readonly signal: AbortSignal | undefined;
}

/**
 * The tokens that the options and the files name, as variables: a file would keep them, and working directories are packed and uploaded. What the client's
 * environment has already it has, and a helper it asks by itself.
 */
async function tokens({ given, cliConfig, around, signal }: TokenSources): Promise<Record<string, string>> {
  const found = new Map<string, string>();
  for (const host of cliConfig?.credentialHosts ?? []) {
    const token = await tokenOf(cliConfig, host, signal);
    if (token !== undefined) found.set(host, token);
  }
  for (const [host, { token }] of Object.entries(given.credentials ?? {})) found.set(normalizeHostname(host).ascii, token);
  for (const name of Object.keys(around)) found.delete(hostFromTokenVariable(name) ?? '');
  return Object.fromEntries(Array.from(found, ([host, token]) => [`TF_TOKEN_${host.replaceAll('-', '__').replaceAll('.', '_')}`, token]));
}

/** One that no header can carry is an error of its own host, when that is asked. */
async function tokenOf(cliConfig: CliConfig | undefined, host: string, signal: AbortSignal | undefined): Promise<string | undefined> {
  try {
    return (await cliConfig?.credentialsFor(displayHost(host), { signal }))?.token;
  } catch (error) {
    signal?.throwIfAborted();
    log('no token for %s: %s', host, error instanceof Error ? error.name : 'error');
    return undefined;
  }
}
