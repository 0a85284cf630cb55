/** The names of `TF_TOKEN_…` variables, read as the reference clients read them. Pure: it never sees a token. */
import { domainToUnicode } from 'node:url';
import { InvalidHostnameError } from '../errors.ts';
import { normalizeHostname } from './hostnames.ts';

const PREFIX = 'TF_TOKEN_';

/**
 * The host that an environment variable gives a token for, in `ascii` form (as {@link normalizeHostname} has it);
 * undefined when the variable is of another kind or names no valid host, which the clients ignore silently.
 *
 * After the prefix, `__` stands for a hyphen and `_` for a dot; dots, hyphens and `:port` may also stand as they are.
 * Punycode is accepted here. Raw `ß` and `ς` become `ss` and `σ`, since the clients pass the name through a
 * transitional profile: for a host with these letters the variable must be written in punycode.
 */
export function hostFromTokenVariable(name: string): string | undefined {
  if (!name.startsWith(PREFIX)) return undefined;
  const given = name.slice(PREFIX.length).replaceAll('__', '-').replaceAll('_', '.');
  const [host = '', ...port] = given.split(':');
  try {
    return normalizeHostname([forDisplay(host), ...port].join(':')).ascii;
  } catch (error) {
    if (error instanceof InvalidHostnameError) return undefined;
    throw error;
  }
}

function forDisplay(host: string): string {
  return host
    .replaceAll(/[\u00df\u1e9e]/gu, 'ss')
    .replaceAll('\u03c2', '\u03c3')
    .replaceAll(/[\u200c\u200d]/gu, '')
    .split('.')
    .map((label) => (/^[Xx][Nn]--[0-9A-Za-z-]+$/u.test(label) ? domainToUnicode(label) || label : label))
    .join('.');
}
