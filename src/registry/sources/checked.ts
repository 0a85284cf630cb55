/**
 * The sources as they are given, checked once. Pure, and loads nothing of the network: a process that only hits has to know which
 * mirrors it trusts, and no more.
 */
import { resolve } from 'node:path';
import { redactUrl } from '../../diagnostics.ts';
import { AccessPolicyError, InvalidOptionError, type SourceDescription } from '../../errors.ts';
import { isLoopback } from '../../http/loopback.ts';
import { normalizeHostname, type ProviderAddress } from '../../layout/index.ts';
import { providerMatcher } from './patterns.ts';
import type { ProviderSource } from './types.ts';

/** A source that can be asked. */
export interface CheckedSource {
  readonly given: ProviderSource;
  readonly description: SourceDescription;
  /** Whether it is asked for this provider at all. */
  readonly matches: (address: ProviderAddress) => boolean;
}

/** What the sources are checked by. */
export interface SourceRules {
  /** The host of a pattern that names none. */
  readonly defaultHost: string;
  /** Hosts (with their port, unless it is 80) whose mirrors may be read over plain http. */
  readonly insecureMirrors?: readonly string[] | undefined;
}

/** Where packages come from when nothing else is said. */
export const DIRECT_ONLY: readonly ProviderSource[] = [{ type: 'direct' }];

/**
 * Checks sources.
 * @throws InvalidOptionError - one of them is not as it must be
 * @throws AccessPolicyError - a network mirror over plain http that is neither this machine nor named in `insecureMirrors`
 */
export function checkSources(sources: readonly ProviderSource[], rules: SourceRules): CheckedSource[] {
  const given: unknown = sources;
  if (!Array.isArray(given)) throw new InvalidOptionError('sources', 'it is an array of sources');
  const insecure = checkInsecure(rules.insecureMirrors);
  return sources.map((source, index) => {
    const option = `sources[${index}]`;
    return { given: source, description: describe(source, option, insecure), matches: providerMatcher(source, option, rules.defaultHost) };
  });
}

/** Whether packages come from their registries and from nowhere else, as without any configuration: then errors are the registry's own. */
export function isDirectOnly(sources: readonly CheckedSource[]): boolean {
  const [only] = sources;
  return sources.length === 1 && only?.given.type === 'direct' && (only.given.include ?? []).length === 0 && (only.given.exclude ?? []).length === 0;
}

/** Whether a source needs no network. */
export function isLocal({ given }: CheckedSource): boolean {
  return given.type === 'filesystem_mirror';
}

function describe(source: ProviderSource, option: string, insecure: ReadonlySet<string>): SourceDescription {
  const given: unknown = source;
  if (typeof given !== 'object' || given === null) throw new InvalidOptionError(option, 'it is an object with a type');
  switch (source.type) {
    case 'direct':
      return { type: source.type, location: undefined };
    case 'network_mirror':
      return { type: source.type, location: redactUrl(checkMirrorUrl(source.url, `${option}.url`, insecure)) };
    case 'filesystem_mirror':
      return { type: source.type, location: resolve(checkText(source.path, `${option}.path`, 'the path of a directory')) };
    case 'oci_mirror':
      return { type: source.type, location: checkText(source.repositoryTemplate, `${option}.repositoryTemplate`, 'a repository template') };
    default:
      throw new InvalidOptionError(`${option}.type`, 'it is direct, network_mirror, filesystem_mirror or oci_mirror');
  }
}

function checkMirrorUrl(text: unknown, option: string, insecure: ReadonlySet<string>): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw new InvalidOptionError(option, 'it is an absolute https URL, such as "https://mirror.example.com/providers/"');
  if (url.protocol === 'http:' && !isLoopback(url) && !insecure.has(url.host)) {
    throw new AccessPolicyError(redactUrl(url), 'a network mirror needs https; for tests, name its host in insecureMirrors');
  }
  return url;
}

/** The host of a URL comes in punycode, and without its port where that is the scheme's own. */
function checkInsecure(hosts: readonly string[] = []): ReadonlySet<string> {
  const given: unknown = hosts;
  if (!Array.isArray(given) || given.some((host) => typeof host !== 'string')) throw new InvalidOptionError('insecureMirrors', 'it is an array of host names');
  return new Set(hosts.map((host) => normalizeHostname(host).ascii.replace(/:80$/u, '')));
}

function checkText(text: unknown, option: string, what: string): string {
  if (typeof text !== 'string' || text === '' || text.includes('\0')) throw new InvalidOptionError(option, `it is ${what}`);
  return text;
}
