/**
 * Host names of registries, as service discovery compares and shows them. Pure; the rules are those of the
 * clients' service-host library (`ForComparison`, `ForDisplay`).
 */
import { InvalidHostnameError } from '../errors.ts';
import { splitLabels, toBothForms } from './idna.ts';

/** A registry's host in its two forms. Both end in `:port` unless the port is 443, which is the default and dropped. */
export interface NormalizedHostname {
  /** Punycode: what URLs, credentials and comparisons use. */
  readonly ascii: string;
  /** Unicode: what people read, and what directory names and lock files hold. */
  readonly display: string;
}

/**
 * Brings a host name into the forms that the reference clients compare (`ascii`) and show (`display`).
 * Normalising the `display` form again gives the same result.
 *
 * A port may follow after a colon; 443 is dropped. Trailing dots stay and count. Labels must be given in Unicode:
 * `xn--…` is refused in lower case (and accepted in upper case, as the clients do). There is no limit of length,
 * and no IPv6 literal.
 *
 * @throws InvalidHostnameError when the clients refuse the name too.
 */
export function normalizeHostname(given: string): NormalizedHostname {
  const colon = given.indexOf(':');
  const name = colon === -1 ? given : given.slice(0, colon);
  const port = colon === -1 ? '' : normalizePort(given, given.slice(colon + 1));

  const dots = /(?:[.\u3002\uff0e\uff61]){0,2}$/u.exec(name)?.[0].length ?? 0;
  const core = name.slice(0, name.length - dots);
  if (core === '') throw new InvalidHostnameError(given, 'it is empty');
  if (splitLabels(core).some((label) => label.startsWith('xn--'))) throw new InvalidHostnameError(given, 'write it in Unicode, not in punycode');

  const forms = toBothForms(core);
  if (forms.problem !== undefined) throw new InvalidHostnameError(given, forms.problem);
  const tail = '.'.repeat(dots) + port;
  return { ascii: forms.ascii + tail, display: forms.display + tail };
}

/** The clients read the port with Go's `Atoi`: a sign and leading zeros pass, and nothing is too small. */
function normalizePort(given: string, text: string): string {
  if (!/^[+-]?[0-9]+$/u.test(text)) throw new InvalidHostnameError(given, 'after the colon stands no port number; give a host and port, not a URL');
  const port = Number(text);
  if (port > 65535) throw new InvalidHostnameError(given, 'its port is greater than 65535');
  if (!Number.isSafeInteger(port)) throw new InvalidHostnameError(given, 'its port is out of range');
  // Adding zero turns -0 into 0.
  return port === 443 ? '' : `:${port + 0}`;
}
