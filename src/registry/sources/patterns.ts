/**
 * The `include` and `exclude` patterns of a source, read and matched as the reference clients do (`multi_source.go`
 * `ParseMultiSourceMatchingPatterns`). Pure.
 */
import { InvalidHostnameError, InvalidOptionError, InvalidProviderAddressError } from '../../errors.ts';
import { parsePart } from '../../layout/addresses.ts';
import { normalizeHostname, type ProviderAddress } from '../../layout/index.ts';
import type { SourcePatterns } from './types.ts';

/** A pattern's parts in the form in which addresses have them; `'*'` matches all. */
interface Pattern {
  readonly hostname: string;
  readonly namespace: string;
  readonly type: string;
}

const ANY = '*';

/**
 * Whether a source with these patterns is asked for a provider. `option` is where they stand, for messages; `defaultHost` what a
 * pattern of two segments means.
 * @throws InvalidOptionError - a pattern is none
 */
export function providerMatcher(patterns: SourcePatterns, option: string, defaultHost: string): (address: ProviderAddress) => boolean {
  const include = parsePatterns(patterns.include, `${option}.include`, defaultHost);
  const exclude = parsePatterns(patterns.exclude, `${option}.exclude`, defaultHost);
  return (address) => {
    const matches = ({ hostname, namespace, type }: Pattern): boolean =>
      (hostname === ANY || hostname === address.hostnameAscii) && (namespace === ANY || namespace === address.namespace) && (type === ANY || type === address.type);
    if (exclude.some(matches)) return false;
    return include.length === 0 || include.some(matches);
  };
}

function parsePatterns(texts: readonly string[] = [], option: string, defaultHost: string): Pattern[] {
  const given: unknown = texts;
  if (!Array.isArray(given) || given.some((text) => typeof text !== 'string')) throw new InvalidOptionError(option, 'it is an array of patterns, such as "hashicorp/*"');
  return texts.map((text, index) => parsePattern(text, `${option}[${index}]`, defaultHost));
}

function parsePattern(text: string, option: string, defaultHost: string): Pattern {
  const refuse = (problem: string): InvalidOptionError => new InvalidOptionError(option, `${JSON.stringify(text)} is not a pattern: ${problem}`);
  const segments = text.split('/');
  if (segments.length < 2 || segments.length > 3) throw refuse('write it as "namespace/type" or "host/namespace/type", where * stands for any');
  const [type = '', namespace = '', host = defaultHost] = segments.reverse();
  if (host === ANY && !(namespace === ANY && type === ANY)) throw refuse('the host can be * only where namespace and type are, too');
  if (namespace === ANY && type !== ANY) throw refuse('the namespace can be * only where the type is, too');
  try {
    return {
      hostname: host === ANY ? ANY : normalizeHostname(host).ascii,
      namespace: namespace === ANY ? ANY : parsePart(text, 'namespace', namespace),
      type: type === ANY ? ANY : parsePart(text, 'type', type),
    };
  } catch (error) {
    if (error instanceof InvalidHostnameError || error instanceof InvalidProviderAddressError) throw refuse(error.message);
    throw error;
  }
}
