/**
 * The provider registry protocol v1: requests, statuses, limits, and who sees a token. What the answers hold is read in
 * the files beside this one; nothing here verifies a package or writes anything but the zip that it is told to.
 */
import { redactUrl } from '../diagnostics.ts';
import { PlatformNotSupportedError, ProtocolNotSupportedError, ProviderNotFoundError, UnauthorizedError } from '../errors.ts';
import { createHttpClient, type DownloadProgress, type DownloadResult, type DownloadOptions, type HttpClient, type HttpClientOptions, type OpenDownload, type PartialStore, type ReadOptions } from '../http/index.ts';
import { normalizeHostname, type Platform, type ProviderAddress, type Version } from '../layout/index.ts';
import type { CliConfig } from './cli-config/types.ts';
import { credentialSource, lookUpToken, type CredentialsByHost, type CredentialSource, type Environment } from './credentials.ts';
import { createDiscovery, discoveryUrl, type Discovery, type ServicesByHost } from './discovery.ts';
import { displayHost } from './display-host.ts';
import type { HostServices } from './host-services.ts';
import { parseJson } from './json-guards.ts';
import type { PackageCredentialOptions } from './package-credential-options.ts';
import { packageAuthorization, type PackageAuthorization } from './package-credentials.ts';
import { documentOf, getUnlessUnchanged, KEEPS_NOTHING, type TextAnswer } from './metadata.ts';
import type { MetadataStore } from './metadata-store.ts';
import { parsePackageMetadata, parseProtocols, type PackageMetadata } from './package-metadata.ts';
import { pathSegment } from './path-segment.ts';
import { requestLimits } from './request-limits.ts';
import { DEFAULT_CLIENT_VERSION, registryUserAgent } from './user-agent.ts';
import { closestUsable, parseVersionList, type VersionList } from './version-list.ts';

/** Options of a {@link RegistryClient}. */
export interface RegistryClientOptions extends PackageCredentialOptions {
  /**
   * Services by host, in any spelling of it: such a host is never discovered. A relative URL counts from the host's
   * default discovery URL, plain http is taken, and an empty object says that the host has no services.
   */
  readonly hosts?: ServicesByHost | undefined;
  /** Tokens by host, in any spelling of it. `TF_TOKEN_*` beats them. */
  readonly credentials?: CredentialsByHost | undefined;
  /**
   * What `loadCliConfig` read: its hosts and credentials count where the options and `TF_TOKEN_*` say nothing of a host, and its retries and time limit where
   * `http` and the environment say nothing of them.
   */
  readonly cliConfig?: CliConfig | undefined;
  /**
   * Where variables are read from, once; default `process.env`. `TF_TOKEN_*`, `TF_APPEND_USER_AGENT`; those of proxies and certificates
   * (see {@link HttpClientOptions}); and, as in the reference clients, where they are whole numbers above 0: `TF_REGISTRY_CLIENT_TIMEOUT`
   * (seconds for one request of metadata, its body included), `TF_REGISTRY_DISCOVERY_RETRY` (retries of metadata),
   * `TF_PROVIDER_DOWNLOAD_RETRY` (retries of a zip). These beat `http`, as they beat the clients' configuration.
   */
  readonly environment?: Environment | undefined;
  /** Time limits, retries, proxies, certificates. */
  readonly http?: HttpClientOptions | undefined;
  /** Sent as `X-Terraform-Version`. Default: the OpenTofu release that this library follows. */
  readonly clientVersion?: string | undefined;
  /**
   * Where discovery documents and lists of versions are kept between clients, processes and hosts. Default: nowhere. What the registry says of
   * one package never is: its URLs may be signed, for one client and for minutes.
   */
  readonly metadata?: MetadataStore | undefined;
}

/** Options of every call. */
export interface RegistryCallOptions {
  /** Ends this call at once, with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of {@link RegistryClient.versions}. */
export interface VersionsOptions extends RegistryCallOptions {
  /** Asks the registry even where a list that is kept is young enough. Default false. */
  readonly revalidate?: boolean | undefined;
}

/** Options of a download. */
export interface PackageDownloadOptions extends RegistryCallOptions {
  /** The largest zip that is taken, in bytes; no limit by default. */
  readonly maxBytes?: number | undefined;
  /**
   * Where a large zip is left for a later process, and found; the registry's checksum is its key.
   * @internal
   */
  readonly partial?: PartialStore | undefined;
  /** Called as bytes arrive. */
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

/** The checksums document of a version, as it came: not verified. */
export interface ChecksumsDocument {
  /** The SHA256SUMS document. */
  readonly sums: Uint8Array;
  /** Its detached signature; `undefined` when the registry names none, or nothing is there (404). */
  readonly signature: Uint8Array | undefined;
}

/**
 * What a registry client asks with.
 * @internal
 */
export interface RegistryTransport {
  readonly http: HttpClient;
  readonly credentials: CredentialSource;
  readonly clientVersion: string;
  readonly packageAuthorization: PackageAuthorization;
  readonly metadata: MetadataStore;
}

const SERVICE = 'providers.v1';

/** The largest list of versions of a public registry is far below 1 MiB; the reference has no limit at all. */
export const MAX_JSON_BYTES: number = 16 * 1024 * 1024;
const MAX_SUMS_BYTES = 4 * 1024 * 1024;
const MAX_SIGNATURE_BYTES = 1024 * 1024;

/**
 * Asks provider registries. One client shares its connections and the discovered services among all its calls, which
 * may run at once; only discovery is remembered, and only what succeeded, unless there is a store for more (`metadata`).
 *
 * A host's token goes to the origin of its discovery document and to the origin of its service's base URL, and nowhere
 * else: not to where a redirect leads, and, unless `packageCredentials` or `netrc` says so, not to the zip, the checksums or the signature,
 * which the reference clients fetch without it, too.
 *
 * All requests are retried by the same rules (408, 429, 5xx, connections that fail or fall silent). Beside the errors
 * that its methods name, each may reject with `HttpStatusError`, `NetworkError`, `RedirectError`, or
 * `ResponseTooLargeError`.
 */
export class RegistryClient implements AsyncDisposable {
  readonly #http: HttpClient;
  readonly #credentials: CredentialSource;
  readonly #discovery: Discovery;
  readonly #clientVersion: string;
  readonly #packageAuthorization: PackageAuthorization;
  readonly #metadata: MetadataStore;

  /**
   * @throws InvalidHostnameError - a key of `hosts` or `credentials` is no host name
   * @throws InvalidOptionError - an option that is not as it must be
   */
  constructor(options: RegistryClientOptions = {}) {
    const environment = options.environment ?? process.env;
    const { cliConfig } = options;
    this.#credentials = credentialSource(options.credentials ?? {}, environment, async (host, signal) => cliConfig?.credentialsFor(displayHost(host), { signal }));
    this.#http = createHttpClient({
      ...options.http,
      ...requestLimits(environment, options.http, cliConfig),
      environment: options.http?.environment ?? environment,
      userAgent: options.http?.userAgent ?? registryUserAgent(environment),
    });
    this.#metadata = options.metadata ?? KEEPS_NOTHING;
    this.#discovery = createDiscovery(this.#http, this.#credentials, SERVICE, { ...cliConfig?.hosts, ...options.hosts }, this.#metadata);
    this.#clientVersion = options.clientVersion ?? DEFAULT_CLIENT_VERSION;
    this.#packageAuthorization = packageAuthorization(options, {
      credentials: this.#credentials,
      environment,
      originsOf: async (hostname, signal) => originsOf(hostname, (await this.#discovery(hostname, signal)).serviceUrl(SERVICE)),
    });
  }

  /**
   * The services of a host. A host that answers 404 has none. Calls that come together make one request.
   * @param host - in any spelling, with a port where it is not 443
   * @throws InvalidHostnameError - it is no host name
   * @throws DiscoveryError - it could not be asked, or its answer is malformed
   * @throws OfflineError - the metadata store has none, and asks nobody
   */
  async discover(host: string, options: RegistryCallOptions = {}): Promise<HostServices> {
    return this.#discovery(host, options.signal);
  }

  /**
   * All versions of a provider. A list may be one that is kept from an earlier answer, where the client has a store for that; an empty one never is.
   * @throws DiscoveryError, ServiceNotProvidedError - the host is no provider registry, or cannot be asked
   * @throws ProviderNotFoundError - it does not know the provider (404)
   * @throws UnauthorizedError - it wants a token, or another one (401, 403)
   * @throws CredentialsHelperError - it wants a token, and the credentials helper has failed
   * @throws RegistryResponseError - the answer is malformed
   * @throws OfflineError - the metadata store has none, and asks nobody
   */
  async versions(address: ProviderAddress, options: VersionsOptions = {}): Promise<VersionList> {
    const request = await this.#requestTo(address, ['versions'], options.signal);
    const { value, kept } = await this.#metadata.get<VersionList>(
      {
        key: ['versions', request.url.href, this.#clientVersion],
        subject: `the list of versions of ${String(address)}`,
        token: request.token,
        fetch: async (validators, signal) => {
          const answer = await getUnlessUnchanged(this.#http, request.url, { ...request.options, signal }, validators);
          return answer === undefined ? undefined : documentOf(accepted(answer, request, (cause) => new ProviderNotFoundError(String(address), cause)));
        },
        read: ({ text, url }) => parseVersionList(parseJson(text, redactUrl(url))),
        keeps: ({ versions }) => versions.length > 0,
      },
      options,
    );
    return kept ? { ...value, kept } : value;
  }

  /**
   * Where one package is and what it must be. Not verified: the checksums and their signature do that.
   * @throws DiscoveryError, ServiceNotProvidedError - the host is no provider registry, or cannot be asked
   * @throws PlatformNotSupportedError - it has no such package (404: the version or the platform is missing)
   * @throws ProtocolNotSupportedError - the package speaks no plugin protocol of the clients; it names the newest version that does
   * @throws UnauthorizedError - it wants a token, or another one (401, 403)
   * @throws CredentialsHelperError - it wants a token, and the credentials helper has failed
   * @throws RegistryResponseError - the answer is malformed, or not about the package asked for
   */
  async package(address: ProviderAddress, version: Version, platform: Platform, options: RegistryCallOptions = {}): Promise<PackageMetadata> {
    const request = await this.#requestTo(address, [String(version), 'download', platform.os, platform.arch], options.signal);
    const answer = await this.#http.getText(request.url, { ...request.options, signal: options.signal });
    const { text, url } = accepted(answer, request, (cause) => new PlatformNotSupportedError(String(address), String(version), String(platform), cause));
    const document = parseJson(text, redactUrl(url));
    const { protocols, supported } = parseProtocols(document);
    if (!supported) {
      const closest = closestUsable(await this.versions(address, options));
      throw new ProtocolNotSupportedError({ address: String(address), version: String(version), protocols, closest: closest === undefined ? undefined : String(closest) });
    }
    return parsePackageMetadata(document, { address, version, platform }, url);
  }

  /** The checksums document and its signature, fetched together, with the credentials that `packageCredentials` and `netrc` allow. */
  async checksums(metadata: PackageMetadata, options: RegistryCallOptions = {}): Promise<ChecksumsDocument> {
    options.signal?.throwIfAborted();
    // When one of the two fails the other is not worth waiting for.
    const stop = new AbortController();
    const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
    try {
      const [sums, signature] = await Promise.all([
        this.#getPart(metadata, metadata.checksumsUrl, { maxBytes: MAX_SUMS_BYTES, signal }),
        metadata.signatureUrl === undefined ? undefined : this.#getPart(metadata, metadata.signatureUrl, { maxBytes: MAX_SIGNATURE_BYTES, acceptStatus: [200, 404], signal }),
      ]);
      return { sums: sums.bytes, signature: signature?.status === 200 ? signature.bytes : undefined };
    } finally {
      stop.abort();
    }
  }

  /**
   * Downloads the zip into a new file, with the credentials that `packageCredentials` and `netrc` allow, and hashes it on the way. Nothing is verified but its size,
   * where the registry gave one: compare `sha256` with `metadata.shasum`.
   * @param path - a file that does not exist yet; after a failure it may be there, and the caller removes it
   * @throws DownloadIncompleteError - fewer bytes came than were announced
   * @throws ResponseTooLargeError - more came than were announced, or than `maxBytes`
   */
  async download(metadata: PackageMetadata, path: string, options: PackageDownloadOptions = {}): Promise<DownloadResult> {
    return this.#http.download(metadata.downloadUrl, { path }, await this.#packageRequest(metadata, options));
  }

  /** As {@link download}, and leaves the file open: `file.handle` reads and writes, and the caller closes it. After a failure it is closed. */
  async downloadOpen(metadata: PackageMetadata, path: string, options: PackageDownloadOptions = {}): Promise<OpenDownload> {
    return this.#http.downloadOpen(metadata.downloadUrl, { path }, await this.#packageRequest(metadata, options));
  }

  /**
   * What the mirrors beside this file ask with: the same connections, tokens and limits.
   * @internal
   */
  get transport(): RegistryTransport {
    return { http: this.#http, credentials: this.#credentials, clientVersion: this.#clientVersion, packageAuthorization: this.#packageAuthorization, metadata: this.#metadata };
  }

  /** Ends all calls that still run, and closes all connections. Idempotent. */
  async close(): Promise<void> {
    await this.#http.close();
  }

  /** As {@link close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #getPart(metadata: PackageMetadata, url: string, request: ReadOptions): ReturnType<HttpClient['getBytes']> {
    return this.#http.getBytes(url, { ...request, ...(await this.#packageAuthorization(url, metadata.address.hostname, request.signal)) });
  }

  async #packageRequest(metadata: PackageMetadata, options: PackageDownloadOptions): Promise<DownloadOptions> {
    const { maxBytes, partial, onProgress, signal } = options;
    signal?.throwIfAborted();
    const authorization = await this.#packageAuthorization(metadata.downloadUrl, metadata.address.hostname, signal);
    return { ...authorization, expectedSha256: metadata.shasum, partial, expectedBytes: announcedSize(metadata), maxBytes, onProgress, signal };
  }

  /** A request for a JSON document of the provider service of the address's host. */
  async #requestTo(address: ProviderAddress, path: readonly string[], signal: AbortSignal | undefined): Promise<ServiceRequest> {
    const services = await this.#discovery(address.hostname, signal);
    const base = services.serviceUrl(SERVICE);
    const { ascii, display } = normalizeHostname(address.hostname);
    const { token, failure } = await lookUpToken(this.#credentials, ascii, signal);
    return {
      // RFC 3986 resolution as in the reference: a base that does not end in "/" loses its last segment.
      url: new URL([address.namespace, address.type, ...path].map(pathSegment).join('/'), base),
      hostname: display,
      token,
      failure,
      options: {
        accept: 'application/json',
        headers: { 'x-terraform-version': this.#clientVersion },
        acceptStatus: [200, 401, 403, 404],
        maxBytes: MAX_JSON_BYTES,
        bearer: token === undefined ? undefined : { token, origins: originsOf(address.hostname, base) },
      },
    };
  }
}

interface ServiceRequest {
  readonly url: URL;
  readonly hostname: string;
  readonly token: string | undefined;
  /** Why nobody can say whether there is one. */
  readonly failure: Error | undefined;
  readonly options: ReadOptions;
}

/** The answer, if it is one. */
function accepted<T extends TextAnswer>(answer: T, { hostname, token, failure }: ServiceRequest, notFound: (cause: Error | undefined) => Error): T {
  // A private registry may hide what it has from whoever shows no token: the failed look-up is the cause then.
  if (answer.status === 404) throw notFound(failure);
  if (answer.status !== 200) throw failure ?? new UnauthorizedError(hostname, token !== undefined);
  return answer;
}

/** Who may see a host's token. */
function originsOf(hostname: string, base: URL): string[] {
  return [discoveryUrl(normalizeHostname(hostname).ascii).origin, base.origin];
}

/** The size that the registry gives, where it is one; what is wrong with it otherwise is for verification to say. */
function announcedSize({ packages, platform }: PackageMetadata): number | undefined {
  const size = packages?.get(String(platform))?.size;
  return size !== undefined && Number.isSafeInteger(size) && size > 0 ? size : undefined;
}
