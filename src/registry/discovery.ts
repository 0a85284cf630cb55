/**
 * Service discovery: `https://HOST/.well-known/terraform.json` (svchost `disco/disco.go`). Keeps what succeeded for as
 * long as the client lives, and in its metadata store, asks once for callers that come together, and keeps no error. Unlike the reference it is
 * retried like every other request, since a rate limit here stops everything (429 on discovery is a known complaint),
 * and a host without the service that is wanted (404, or only another version of it) is asked again the next time.
 */
import { logger } from '../diagnostics.ts';
import { DiscoveryError, HttpStatusError, InvalidHostnameError, OfflineError, RegistryResponseError, ResponseTooLargeError, RwxCacheError } from '../errors.ts';
import type { HttpClient, ReadOptions } from '../http/index.ts';
import { normalizeHostname } from '../layout/index.ts';
import { lookUpToken, type CredentialSource } from './credentials.ts';
import { hostServices, type HostServices } from './host-services.ts';
import { parseJson } from './json-guards.ts';
import { jsonTypeProblem } from './media-type.ts';
import { documentOf, getUnlessUnchanged } from './metadata.ts';
import type { FetchedDocument, MetadataDocument, MetadataStore, Validators } from './metadata-store.ts';
import { singleFlight } from '../single-flight.ts';

/** Service URLs by service id, by host in any spelling of it. */
export type ServicesByHost = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Finds the services of a host given in any spelling. */
export type Discovery = (host: string, signal: AbortSignal | undefined) => Promise<HostServices>;

/** The reference's own limit; with a length or without one. */
const MAX_BYTES = 1024 * 1024;

const log = logger('registry');

/**
 * Where discovery of a host begins.
 * @throws InvalidHostnameError - a host name to the clients, but not to a URL: `example.com:-1`, or `1.2.3`, which would
 * be read as an address (1.2.0.3)
 */
export function discoveryUrl(asciiHost: string): URL {
  const text = `https://${asciiHost}/.well-known/terraform.json`;
  if (!URL.canParse(text) || new URL(text).host !== asciiHost) throw new InvalidHostnameError(asciiHost, 'no URL can have it');
  return new URL(text);
}

/**
 * Discovery with a memory of its own, of hosts that offer the service `wanted`. A host in `forced` is never asked: its
 * services are those given, relative ones against the default discovery URL, and none at all when they are empty.
 * @throws InvalidHostnameError - a key of `forced` is no host name
 */
export function createDiscovery(http: HttpClient, credentials: CredentialSource, wanted: string, forced: ServicesByHost, metadata: MetadataStore): Discovery {
  const known = new Map<string, HostServices>();
  const flights = singleFlight<HostServices>();
  for (const [host, services] of Object.entries(forced)) {
    const { ascii, display } = normalizeHostname(host);
    known.set(ascii, hostServices(display, discoveryUrl(ascii).href, services));
  }

  /** "No such service" is remembered by nobody: it is often a host that was not ready yet. */
  function keeps(services: HostServices): boolean {
    return services.ids.includes(wanted);
  }

  async function askForServices(ascii: string, hostname: string, signal: AbortSignal): Promise<HostServices> {
    const start = discoveryUrl(ascii);
    // The reference, too, asks anonymously when the look-up of credentials itself has failed.
    const { token, failure } = await lookUpToken(credentials, ascii, signal);
    try {
      const { value } = await metadata.get(
        {
          key: ['discovery', start.href],
          subject: `the service discovery of ${hostname}`,
          token,
          fetch: (validators, shared) => fetchServices(http, start, hostname, { token, validators, signal: shared }),
          read: (document) => readServices(hostname, start, document),
          keeps,
        },
        { signal },
      );
      return value;
    } catch (error) {
      if (error instanceof DiscoveryError || error instanceof OfflineError || !(error instanceof RwxCacheError)) throw error;
      if (failure !== undefined && isRefusal(error)) throw failure;
      throw new DiscoveryError(hostname, problemOf(error), error);
    }
  }

  return async (host, signal) => {
    signal?.throwIfAborted();
    const { ascii, display } = normalizeHostname(host);
    return (
      known.get(ascii) ??
      flights.run(
        ascii,
        async (shared) => {
          const services = await askForServices(ascii, display, shared);
          if (keeps(services)) known.set(ascii, services);
          return services;
        },
        signal,
      )
    );
  };
}

interface ServicesRequest {
  readonly token: string | undefined;
  readonly validators: Validators | undefined;
  readonly signal: AbortSignal | undefined;
}

async function fetchServices(http: HttpClient, start: URL, hostname: string, { token, validators, signal }: ServicesRequest): Promise<FetchedDocument | undefined> {
  const request: ReadOptions = {
    accept: 'application/json',
    acceptStatus: [200, 404],
    maxBytes: MAX_BYTES,
    bearer: token === undefined ? undefined : { token, origins: [start.origin] },
    signal,
  };
  const answer = await getUnlessUnchanged(http, start, request, validators);
  if (answer === undefined) return undefined;
  if (answer.status === 404) {
    log('%s offers no services (404)', hostname);
    return { ...documentOf(answer), text: '{}' };
  }
  const problem = jsonTypeProblem(answer.headers['content-type']);
  if (problem !== undefined) throw new DiscoveryError(hostname, problem);
  return documentOf(answer);
}

function readServices(hostname: string, start: URL, { text, url }: MetadataDocument): HostServices {
  const document = parseJson(text, start.href).value;
  if (typeof document !== 'object' || document === null || Array.isArray(document)) throw new DiscoveryError(hostname, 'the document is not a JSON object');
  return hostServices(hostname, url, document as Record<string, unknown>);
}

function problemOf(error: RwxCacheError): string {
  if (error instanceof ResponseTooLargeError) return `the document is larger than ${error.limitBytes} bytes`;
  if (error instanceof RegistryResponseError) return 'the document is not JSON';
  if (isRefusal(error)) return `${error.message}; does the host want a token?`;
  return error.message;
}

function isRefusal(error: RwxCacheError): boolean {
  return error instanceof HttpStatusError && (error.status === 401 || error.status === 403);
}
