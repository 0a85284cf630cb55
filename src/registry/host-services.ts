/**
 * The services of a host, as its discovery document or a `hosts` option declares them, and the rules for their URLs
 * (svchost `disco/host.go`). Pure: fetches nothing.
 */
import { DiscoveryError, InvalidOptionError, ServiceNotProvidedError } from '../errors.ts';
import { resolveUrl } from './resolve-url.ts';

/** What a host offers. */
export interface HostServices {
  /** The host, in display form. */
  readonly hostname: string;
  /** The URL that answered last, after redirects: the base of relative service URLs. */
  readonly discoveryUrl: string;
  /** The ids of the declared services, as they stand in the document, for example `'providers.v1'`. */
  readonly ids: readonly string[];
  /**
   * The URL of a service. The fragment is dropped, the query kept.
   * @param id - the service's id, `name.vN`
   * @throws ServiceNotProvidedError - the host does not offer it; `otherVersions` has the ids of the same name
   * @throws DiscoveryError - its URL is malformed, not http or https, or holds a user name
   * @throws InvalidOptionError - the id is not of the form `name.vN`
   */
  serviceUrl(id: string): URL;
}

/** The services that `declared` holds; values that are no strings count as absent, as in the reference. */
export function hostServices(hostname: string, discoveryUrl: string, declared: Readonly<Record<string, unknown>>): HostServices {
  const services = new Map<string, string>();
  for (const [id, value] of Object.entries(declared)) if (typeof value === 'string') services.set(id, value);
  return {
    hostname,
    discoveryUrl,
    ids: [...services.keys()],
    serviceUrl(id) {
      const { name } = parseServiceId(id);
      const value = services.get(id);
      if (value === undefined) throw new ServiceNotProvidedError(hostname, id, otherVersions(name, services.keys()));
      const { url, problem } = resolveUrl(value, discoveryUrl);
      if (url === undefined) throw new DiscoveryError(hostname, `the URL of ${id} is of no use: ${problem}`);
      if (url.username !== '' || url.password !== '') throw new DiscoveryError(hostname, `the URL of ${id} holds a user name or password`);
      return url;
    },
  };
}

function parseServiceId(id: string): { readonly name: string; readonly version: number } {
  const parsed = splitServiceId(id);
  if (parsed === undefined) throw new InvalidOptionError('service', `${JSON.stringify(id)} is not of the form name.vN, for example providers.v1`);
  return parsed;
}

function splitServiceId(id: string): { readonly name: string; readonly version: number } | undefined {
  // The one id with a fraction that the reference knows.
  if (id === 'tfe.v2.1') return { name: 'tfe', version: 2.1 };
  const match = /^([^.]+)\.v(\d+)$/u.exec(id);
  return match?.[1] === undefined ? undefined : { name: match[1], version: Number(match[2]) };
}

function otherVersions(name: string, ids: Iterable<string>): string[] {
  return [...ids]
    .map((id) => ({ id, parsed: splitServiceId(id) }))
    .filter(({ parsed }) => parsed?.name === name)
    .sort((a, b) => (a.parsed?.version ?? 0) - (b.parsed?.version ?? 0))
    .map(({ id }) => id);
}
