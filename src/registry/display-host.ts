/** From the form of a host that URLs have to the one that people read. Pure. */
import { domainToUnicode } from 'node:url';

/** The display form of a host in ASCII form, as `normalizeHostname` gives both. */
export function displayHost(asciiHost: string): string {
  const [name = '', ...port] = asciiHost.split(':');
  return [domainToUnicode(name) || name, ...port].join(':');
}
