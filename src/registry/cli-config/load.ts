/** Finds the CLI configuration of the clients, reads it, and answers by it. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { TextDecoder } from 'node:util';
import { raceAbort } from '../../abort.ts';
import { CliConfigError, InvalidOptionError } from '../../errors.ts';
import { parseHcl } from '../../hcl/index.ts';
import { DEFAULT_REGISTRY_HOST, normalizeHostname } from '../../layout/index.ts';
import { fileSystemError, hasSystemError, systemErrorName } from '../../system-errors.ts';
import { credentialSource, isSendable, type CredentialSource } from '../credentials.ts';
import { helperSource, pluginDirectories } from '../credentials-helper.ts';
import { requestLimits } from '../request-limits.ts';
import { configDirectory, dataDirectories, mainFile, overridingFile, pathsOf, surroundings, type Surroundings } from './files.ts';
import { parseJsonBody } from './json-body.ts';
import { complaint, type ParsedFile } from './section.ts';
import { checkSettings, mergeSettings, NO_SETTINGS, readSettings, type Settings } from './settings.ts';
import type { CliConfig, CliConfigWarning, LoadCliConfigOptions } from './types.ts';

const MAX_BYTES = 1024 * 1024;

const DEFAULT_HELPER_TIMEOUT_MS = 60_000;

/** The hosts that an address means which names none. */
const DEFAULT_HOSTS = { tofu: DEFAULT_REGISTRY_HOST, terraform: 'registry.terraform.io' };

/**
 * Reads what `terraform` and `tofu` read: the file that `TF_CLI_CONFIG_FILE` (or, before it, `TERRAFORM_CONFIG`) names, and nothing else then; or else the main file, and
 * `*.tfrc` and `*.tfrc.json` of the configuration directory, in the order of their names. HCL, or JSON where a file begins with `{`. Of `plugin_cache_dir` the first one counts, of `host`,
 * `credentials` and `registry_protocols` the last one; what the environment says counts before them all. What is not known is passed over with a warning.
 *
 * Nothing is cached: each call reads anew. No error and no warning holds a token.
 *
 * @throws HclSyntaxError - a file that is neither HCL nor JSON; path, line and column are in it
 * @throws CliConfigError - a file that means nothing: a setting of another type, a pattern, address or host name that is none, a second `provider_installation` or
 * `credentials_helper`, a plugin cache directory that is not there
 * @throws FileSystemError - a file that is there and cannot be read. (The main file, or the one that the environment names, is passed over with a warning then, as the clients do.)
 * @throws InvalidOptionError
 */
export async function loadCliConfig(options: LoadCliConfigOptions = {}): Promise<CliConfig> {
  const { signal, helperTimeoutMs = DEFAULT_HELPER_TIMEOUT_MS } = options;
  signal?.throwIfAborted();
  if (!['terraform', 'tofu', undefined].includes(options.tool)) throw new InvalidOptionError('tool', 'it is terraform or tofu');
  if (!Number.isFinite(helperTimeoutMs) || helperTimeoutMs <= 0) throw new InvalidOptionError('helperTimeoutMs', 'it is a number of milliseconds, more than 0');
  const where = surroundings(options);
  // A path in the environment may lead to a pipe, or to a mount that hangs.
  return raceAbort(load(where, helperTimeoutMs), signal);
}

async function load(where: Surroundings, helperTimeoutMs: number): Promise<CliConfig> {
  const { environment } = where;
  const warnings: CliConfigWarning[] = [];
  const parsed: ParsedFile[] = [];

  const named = overridingFile(where);
  const main = await readMain(named ?? (await mainFile(where)), named !== undefined, warnings);
  if (main !== undefined) parsed.push(main);
  if (named === undefined) parsed.push(...(await readDirectory(await configDirectory(where), where)));

  const settings = parsed.map((file) => readSettings(file, environment, DEFAULT_HOSTS[where.tool])).reduce(mergeSettings, NO_SETTINGS);
  checkSettings(settings);
  const [installation] = settings.installations;
  const limits = requestLimits(environment, { retries: settings.retryCount, requestTimeoutMs: settings.requestTimeoutMs });
  const credentials = credentialsOf(settings, where, helperTimeoutMs);
  return {
    files: parsed.map(({ path }) => path),
    warnings: [...warnings, ...settings.warnings],
    hosts: Object.fromEntries(settings.hosts),
    sources: installation?.sources,
    devOverrides: installation?.devOverrides ?? new Map<string, string>(),
    downloadRetryCount: installation?.downloadRetryCount,
    pluginCacheDir: await pluginCacheDirectory(settings, where),
    mayBreakLockFile: settings.mayBreakLockFile || !['', '0'].includes(environment['TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE'] ?? ''),
    disableCheckpoint: settings.disableCheckpoint,
    registryProtocols: { retryCount: limits.retries, requestTimeoutMs: limits.requestTimeoutMs },
    credentialHosts: [...settings.tokens].filter(([, { value }]) => value !== undefined).map(([host]) => host),
    credentialsHelper: [...settings.helpers.values()][0]?.value,
    credentialsFor: async (host, { signal } = {}) => credentials(normalizeHostname(host).ascii, signal),
  };
}

/** Main files that cannot be opened are passed over by the clients. One that was named should have been there. */
async function readMain(path: string, required: boolean, warnings: CliConfigWarning[]): Promise<ParsedFile | undefined> {
  try {
    return await parseFile(path);
  } catch (error) {
    if (!hasSystemError(error, 'ENOENT', 'ENOTDIR', 'EACCES', 'EPERM')) throw error;
    if (required || !hasSystemError(error, 'ENOENT')) {
      const message = `the CLI configuration file cannot be opened (${systemErrorName(error) ?? ''}), and is passed over`;
      warnings.push({ path, line: undefined, column: undefined, message });
    }
    return undefined;
  }
}

async function readDirectory(directory: string, where: Surroundings): Promise<ParsedFile[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (hasSystemError(error, 'ENOENT', 'ENOTDIR')) return [];
    throw fileSystemError(error, 'read the directory', directory);
  });
  const files: ParsedFile[] = [];
  for (const name of names.filter((given) => /\.tfrc(?:\.json)?$/u.test(given)).sort()) files.push(await parseFile(pathsOf(where).join(directory, name)));
  return files;
}

async function parseFile(path: string): Promise<ParsedFile> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw fileSystemError(error, 'read', path);
  });
  if (bytes.length > MAX_BYTES) throw new CliConfigError({ path, setting: 'file', problem: `it is larger than ${MAX_BYTES} bytes` });
  const text = decode(bytes, path);
  // As the clients: not the name decides, but the first character.
  const isJson = /^\s*\{/u.test(text);
  return { path, text, isJson, body: isJson ? parseJsonBody(text, path) : parseHcl(text, { subject: path, dialect: 'hcl1' }) };
}

function decode(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new CliConfigError({ path, setting: 'file', problem: 'it is not text in UTF-8', cause });
  }
}

/** The clients refuse a plugin cache that is not there: they never make one. */
async function pluginCacheDirectory({ pluginCacheDir }: Settings, { environment }: Surroundings): Promise<string | undefined> {
  const named = environment['TF_PLUGIN_CACHE_DIR'] ?? '';
  const path = named === '' ? pluginCacheDir?.value : named;
  if (path === undefined) return undefined;
  try {
    await stat(path);
    return path;
  } catch (cause) {
    const problem = `the plugin cache directory ${path} cannot be opened (${systemErrorName(cause) ?? 'it is no path'}); make it, since the clients do not`;
    if (named !== '' || pluginCacheDir === undefined) throw new CliConfigError({ setting: 'TF_PLUGIN_CACHE_DIR', problem, cause });
    throw complaint(pluginCacheDir.file, pluginCacheDir.range, 'plugin_cache_dir', problem);
  }
}

/** `TF_TOKEN_*`, then the blocks, then the helper (`credentials.go` `ForHost`). */
function credentialsOf({ tokens, helpers }: Settings, where: Surroundings, timeoutMs: number): CredentialSource {
  const { environment } = where;
  const [helper] = helpers.values();
  const directories = pluginDirectories(dataDirectories(where));
  const askHelper = helper === undefined ? undefined : helperSource({ ...helper.value, directories, environment, timeoutMs });
  return credentialSource({}, environment, async (host, signal) => {
    const said = tokens.get(host);
    if (said === undefined) return askHelper?.(host, signal);
    if (said.value === undefined) return undefined;
    if (!isSendable(said.value)) throw complaint(said.file, said.range, 'credentials', 'the token holds a space, a line break or a character that no header can carry');
    return { token: said.value };
  });
}
