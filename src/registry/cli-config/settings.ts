/** What one configuration file says, and what several say together (`cliconfig.go` `loadConfigFile`, `Merge`, `Validate`). Pure. */
import type { HclAttribute, HclBlock, SourceRange } from '../../hcl/index.ts';
import { InvalidHostnameError } from '../../errors.ts';
import { normalizeHostname, type NormalizedHostname } from '../../layout/index.ts';
import type { Environment } from '../credentials.ts';
import { expandVariables } from './expand-variables.ts';
import { readInstallation, type ProviderInstallation } from './provider-installation.ts';
import { checkPlainBlock, complaint, count, flag, lastAttribute, nameOf, namedBlocks, placeOf, text, texts, type NamedBlock, type ParsedFile } from './section.ts';
import type { CliConfigWarning } from './types.ts';

/** Something that was said, and where. */
interface Said<T> {
  readonly value: T;
  readonly file: ParsedFile;
  readonly range: SourceRange;
}

/** A `credentials` block; without a token it says that there is none. */
export type SaidToken = Said<string | undefined>;

/** A `credentials_helper` block. */
export type SaidHelper = Said<{ readonly name: string; readonly args: readonly string[] }>;

/** What the files say. Hosts by their display form, tokens by the ASCII form. */
export interface Settings {
  readonly pluginCacheDir: Said<string> | undefined;
  readonly mayBreakLockFile: boolean;
  readonly disableCheckpoint: boolean;
  readonly hosts: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly tokens: ReadonlyMap<string, SaidToken>;
  readonly helpers: ReadonlyMap<string, SaidHelper>;
  readonly installations: readonly ProviderInstallation[];
  readonly retryCount: number | undefined;
  readonly requestTimeoutMs: number | undefined;
  readonly warnings: readonly CliConfigWarning[];
}

/** What no file says. */
export const NO_SETTINGS: Settings = {
  pluginCacheDir: undefined,
  mayBreakLockFile: false,
  disableCheckpoint: false,
  hosts: new Map(),
  tokens: new Map(),
  helpers: new Map(),
  installations: [],
  retryCount: undefined,
  requestTimeoutMs: undefined,
  warnings: [],
};

/** What the clients know and means nothing here. */
const OTHERS: readonly string[] = ['providers', 'provisioners', 'disable_checkpoint_signature', 'oci_default_credentials', 'oci_credentials'];

const READ: readonly string[] = [
  ...['plugin_cache_dir', 'plugin_cache_may_break_dependency_lock_file', 'disable_checkpoint'],
  ...['host', 'credentials', 'credentials_helper', 'provider_installation', 'registry_protocols'],
];

/**
 * Reads a file. What is not known is passed over with a warning, as the clients pass it over.
 * @throws CliConfigError
 */
export function readSettings(file: ParsedFile, environment: Environment, defaultHost: string): Settings {
  const { items } = file.body;
  const called = (name: string): (HclAttribute | HclBlock)[] => items.filter((item) => nameOf(item) === name);
  const flagOf = (name: string): boolean => {
    const attribute = lastAttribute(file, file.body, name);
    return attribute !== undefined && flag(file, attribute);
  };
  const directory = lastAttribute(file, file.body, 'plugin_cache_dir');
  const pluginCacheDir = directory === undefined ? '' : expandVariables(text(file, directory), environment);
  return {
    pluginCacheDir: directory === undefined || pluginCacheDir === '' ? undefined : { value: pluginCacheDir, file, range: directory.valueRange },
    mayBreakLockFile: flagOf('plugin_cache_may_break_dependency_lock_file'),
    disableCheckpoint: flagOf('disable_checkpoint'),
    hosts: readHosts(file, called('host')),
    tokens: readTokens(file, called('credentials')),
    helpers: readHelpers(file, called('credentials_helper')),
    // These two are known by their exact names only.
    installations: called('provider_installation').map((item) => readInstallation(file, item, defaultHost)),
    ...readProtocols(file, called('registry_protocols')),
    warnings: items
      .filter((item) => ![...READ, ...OTHERS].includes(nameOf(item)))
      .map((item) => ({ path: file.path, line: placeOf(item).start.line, column: placeOf(item).start.column, message: `there is no setting ${JSON.stringify(nameOf(item))}, and it is passed over` })),
  };
}

/**
 * Both together: of `plugin_cache_dir` the first counts, of hosts and credentials the last, and what is true in one is true.
 */
export function mergeSettings(first: Settings, second: Settings): Settings {
  return {
    pluginCacheDir: first.pluginCacheDir ?? second.pluginCacheDir,
    mayBreakLockFile: first.mayBreakLockFile || second.mayBreakLockFile,
    disableCheckpoint: first.disableCheckpoint || second.disableCheckpoint,
    hosts: new Map([...first.hosts, ...second.hosts]),
    tokens: new Map([...first.tokens, ...second.tokens]),
    helpers: new Map([...first.helpers, ...second.helpers]),
    installations: [...first.installations, ...second.installations],
    retryCount: second.retryCount ?? first.retryCount,
    requestTimeoutMs: second.requestTimeoutMs ?? first.requestTimeoutMs,
    warnings: [...first.warnings, ...second.warnings],
  };
}

/**
 * What is wrong only in all files together.
 * @throws CliConfigError
 */
export function checkSettings({ helpers, installations }: Settings): void {
  const [, helper] = [...helpers.values()];
  if (helper !== undefined) throw complaint(helper.file, helper.range, 'credentials_helper', 'there is another one already, and no more than one may be there');
  const [, installation] = installations;
  if (installation !== undefined) throw complaint(installation.file, installation.range, 'provider_installation', 'there is another one already, and no more than one may be there');
}

function readHosts(file: ParsedFile, items: readonly (HclAttribute | HclBlock)[]): Map<string, Readonly<Record<string, string>>> {
  const hosts = new Map<string, Readonly<Record<string, string>>>();
  for (const block of items.flatMap((item) => namedBlocks(file, item, 'host "example.com" { … }'))) {
    const { display } = hostOf(file, block, 'host');
    const services = new Map<string, string>();
    for (const item of block.body.items.filter((inner) => nameOf(inner) === 'services')) {
      if (item.kind === 'attribute') throw complaint(file, item.valueRange, 'services', 'it is an object: services = { "providers.v1" = "https://…" }');
      // What is no string counts as absent, as in a discovery document.
      for (const service of item.body.items) if (service.kind === 'attribute' && typeof service.value === 'string') services.set(service.name, service.value);
    }
    hosts.set(display, Object.fromEntries(services));
  }
  return hosts;
}

function readTokens(file: ParsedFile, items: readonly (HclAttribute | HclBlock)[]): Map<string, SaidToken> {
  const tokens = new Map<string, SaidToken>();
  for (const block of items.flatMap((item) => namedBlocks(file, item, 'credentials "example.com" { … }'))) {
    const { ascii } = hostOf(file, block, 'credentials');
    const said = block.body.items.findLast((item) => item.kind === 'attribute' && item.name === 'token');
    // Other attributes, and tokens that are no strings, are other kinds of credentials to the clients: none that they know.
    const token = said?.kind === 'attribute' && typeof said.value === 'string' && said.value !== '' ? said.value : tokens.get(ascii)?.value;
    tokens.set(ascii, { value: token, file, range: block.range });
  }
  return tokens;
}

function readHelpers(file: ParsedFile, items: readonly (HclAttribute | HclBlock)[]): Map<string, SaidHelper> {
  const helpers = new Map<string, SaidHelper>();
  for (const { name, body, range } of items.flatMap((item) => namedBlocks(file, item, 'credentials_helper "name" { … }'))) {
    if (name === '' || /[/\\\0]/u.test(name)) throw complaint(file, range, 'credentials_helper', 'its name is a part of a file name: terraform-credentials-NAME');
    const args = texts(file, lastAttribute(file, body, 'args')).map(({ value }) => value);
    helpers.set(name, { value: { name, args }, file, range });
  }
  return helpers;
}

function readProtocols(file: ParsedFile, items: readonly (HclAttribute | HclBlock)[]): Pick<Settings, 'retryCount' | 'requestTimeoutMs'> {
  const [block, second] = items.map((item) => checkPlainBlock(file, item, 'registry_protocols'));
  if (second !== undefined) throw complaint(file, second.headerRange, 'registry_protocols', 'there is another one in this file already');
  const numberOf = (name: string): number | undefined => {
    const attribute = block === undefined ? undefined : lastAttribute(file, block.body, name);
    return attribute === undefined ? undefined : count(file, attribute);
  };
  const seconds = numberOf('request_timeout_seconds');
  // Go's client has no limit at 0.
  return { retryCount: numberOf('retry_count'), requestTimeoutMs: seconds === undefined || seconds === 0 ? undefined : seconds * 1000 };
}

function hostOf(file: ParsedFile, { name, range }: NamedBlock, setting: string): NormalizedHostname {
  try {
    return normalizeHostname(name);
  } catch (error) {
    if (error instanceof InvalidHostnameError) throw complaint(file, range, setting, error.message);
    throw error;
  }
}
