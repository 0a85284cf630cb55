/** Writes a CLI configuration that makes the clients install from a cache's tree, and from elsewhere what is not for it. Pure. */
import { resolve } from 'node:path';
import { InvalidOptionError } from '../../errors.ts';
import { quoteHcl } from '../../hcl/index.ts';
import { DEFAULT_REGISTRY_HOST, normalizeHostname } from '../../layout/index.ts';
import type { ServicesByHost } from '../discovery.ts';
import { providerMatcher } from '../sources/patterns.ts';
import type { ProviderSource, SourcePatterns } from '../sources/types.ts';
import type { CliHelper } from './types.ts';

/** Options of {@link renderCliConfig}. */
export interface RenderCliConfigOptions extends SourcePatterns {
  /** The tree that the clients install from, such as `cache.providersDirectory`. A relative path counts from the working directory of this process. */
  readonly providersDirectory: string;
  /**
   * Whether the clients may ask the registries for what the tree does not have. `false` (default): never, so that they need no network; `true`: for all
   * that `include` does not keep to the tree; or patterns of its own.
   */
  readonly direct?: boolean | SourcePatterns | undefined;
  /** Further methods, asked behind the tree: each for all that `include` does not keep to the tree. Relative paths count as that of the tree does. */
  readonly sources?: readonly ProviderSource[] | undefined;
  /** Directories by provider address, which the clients use as they are (`dev_overrides`). */
  readonly devOverrides?: ReadonlyMap<string, string> | undefined;
  /** The program that the clients ask for tokens. */
  readonly credentialsHelper?: CliHelper | undefined;
  /** Services by host, for hosts that are not to be discovered. */
  readonly hosts?: ServicesByHost | undefined;
  /** Whether the clients keep from asking for newer versions of themselves. Default true. */
  readonly disableCheckpoint?: boolean | undefined;
}

/**
 * The text of a configuration for `TF_CLI_CONFIG_FILE`, in HCL. `terraform` and `tofu` install from the tree by it, as from a filesystem mirror, and
 * `include` and `exclude` say which providers. It holds no credentials.
 *
 * A client that may also ask registries takes the newest version that either has: let `include` keep to the tree what is to come
 * from there alone.
 *
 * @throws InvalidOptionError - a path or a pattern that is none
 * @throws InvalidHostnameError - a key of `hosts` is no host name
 */
export function renderCliConfig(options: RenderCliConfigOptions): string {
  const { providersDirectory, include = [], exclude = [], direct = false, sources = [], devOverrides = new Map<string, string>(), credentialsHelper, hosts = {}, disableCheckpoint = true } = options;
  const given: unknown = providersDirectory;
  if (typeof given !== 'string' || given === '' || given.includes('\0')) throw new InvalidOptionError('providersDirectory', 'it is the path of a directory');
  checkPatterns({ include, exclude }, 'renderCliConfig');
  const overrides = [...devOverrides].map(([address, path]) => `${quoted(address)} = ${quoted(resolve(path))}`);
  const methods = overrides.length === 0 ? [] : [method('dev_overrides', overrides, {})];
  methods.push(method('filesystem_mirror', [`path = ${quoted(resolve(providersDirectory))}`], { include, exclude }));
  if (direct !== false) {
    const patterns = direct === true ? { exclude: include } : direct;
    checkPatterns(patterns, 'direct');
    methods.push(method('direct', [], patterns));
  }
  for (const source of sources) {
    checkPatterns(source, 'sources');
    methods.push(method(source.type, placeOf(source), { include: source.include, exclude: [...new Set([...(source.exclude ?? []), ...include])] }));
  }
  return [
    ...(disableCheckpoint ? ['disable_checkpoint = true\n'] : []),
    ...(credentialsHelper === undefined ? [] : [helperBlock(credentialsHelper)]),
    ...Object.entries(hosts).map(([host, services]) => hostBlock(host, services)),
    `provider_installation {\n${methods.join('\n')}}\n`,
  ].join('\n');
}

function hostBlock(host: string, services: Readonly<Record<string, string>>): string {
  const lines = Object.entries(services).map(([id, url]) => `    ${quoted(id)} = ${quoted(url)}\n`);
  return `host ${quoted(normalizeHostname(host).display)} {\n  services = {\n${lines.join('')}  }\n}\n`;
}

function helperBlock({ name, args }: CliHelper): string {
  return `credentials_helper ${quoted(name)} {\n  args = [${args.map(quoted).join(', ')}]\n}\n`;
}

function placeOf(source: ProviderSource): string[] {
  switch (source.type) {
    case 'direct':
      return [];
    case 'network_mirror':
      return [`url = ${quoted(source.url)}`];
    case 'filesystem_mirror':
      return [`path = ${quoted(resolve(source.path))}`];
    case 'oci_mirror':
      return [`repository_template = ${quoted(source.repositoryTemplate)}`];
  }
}

function method(type: string, lines: readonly string[], { include = [], exclude = [] }: SourcePatterns): string {
  const list = (name: string, patterns: readonly string[]): string[] => (patterns.length === 0 ? [] : [`${name} = [${patterns.map(quoted).join(', ')}]`]);
  const all = [...lines, ...list('include', include), ...list('exclude', exclude)];
  return `  ${type} {\n${all.map((line) => `    ${line}\n`).join('')}  }\n`;
}

/** A brace behind a dollar would begin an interpolation, which may have no end; HCL 1 has no other escape for it. */
function quoted(text: string): string {
  return quoteHcl(text, 'hcl1').replaceAll('${', '\\u0024{');
}

function checkPatterns(patterns: SourcePatterns, option: string): void {
  providerMatcher(patterns, option, DEFAULT_REGISTRY_HOST);
}
