/** What a registry says, or says in a way that the protocol does not know. */
import { because, RwxCacheError } from './base.ts';

/** Service discovery of a host failed (network, status, content type, size, or a malformed document). */
export class DiscoveryError extends RwxCacheError {
  readonly code = 'ERR_DISCOVERY';
  /** The host, in display form. */
  readonly hostname: string;

  constructor(hostname: string, problem: string, cause?: unknown) {
    super(`Service discovery of ${hostname} failed: ${problem}`, because({ cause }));
    this.hostname = hostname;
  }
}

/** The host offers no service of the kind, or only another version of it. */
export class ServiceNotProvidedError extends RwxCacheError {
  readonly code = 'ERR_SERVICE_NOT_PROVIDED';
  /** The host, in display form. */
  readonly hostname: string;
  /** The service asked for, for example `'providers.v1'`. */
  readonly service: string;
  /** Other versions of it that the host does offer. */
  readonly otherVersions: readonly string[];

  constructor(hostname: string, service: string, otherVersions: readonly string[]) {
    super(`${hostname} does not offer ${service}${otherVersions.length === 0 ? '; is it a provider registry?' : `, only ${otherVersions.join(', ')}`}`);
    this.hostname = hostname;
    this.service = service;
    this.otherVersions = otherVersions;
  }
}

/** The registry wants credentials, or refuses those it got. */
export class UnauthorizedError extends RwxCacheError {
  readonly code = 'ERR_UNAUTHORIZED';
  /** The host, in display form. */
  readonly hostname: string;
  /** Whether credentials were sent. */
  readonly hadCredentials: boolean;

  constructor(hostname: string, hadCredentials: boolean, cause?: unknown) {
    super(
      hadCredentials
        ? `${hostname} refused the credentials it was given; renew the token`
        : `${hostname} asks for credentials; give a token (credentials, or TF_TOKEN_…)`,
      because({ cause }),
    );
    this.hostname = hostname;
    this.hadCredentials = hadCredentials;
  }
}

/** The registry, or the mirror, does not know the provider. */
export class ProviderNotFoundError extends RwxCacheError {
  readonly code = 'ERR_PROVIDER_NOT_FOUND';
  /** The provider's address. */
  readonly address: string;

  constructor(address: string, cause?: unknown, where = 'The registry') {
    super(`${where} has no provider ${address}; check the source address`, because({ cause }));
    this.address = address;
  }
}

/** No version of the provider meets the constraints. */
export class VersionNotFoundError extends RwxCacheError {
  readonly code = 'ERR_VERSION_NOT_FOUND';
  /** The provider's address. */
  readonly address: string;
  /** The constraints or version asked for. */
  readonly constraints: string;
  /** The newest versions there are (up to ten). */
  readonly available: readonly string[];

  constructor(address: string, constraints: string, available: readonly string[]) {
    super(`No version of ${address} matches ${JSON.stringify(constraints)}; ${available.length === 0 ? 'there is none at all' : `the newest are ${available.join(', ')}`}`);
    this.address = address;
    this.constraints = constraints;
    this.available = available;
  }
}

/** The registry, or the mirror, has the version, but not for the platform (or not the version at all: the protocol answers both with 404). */
export class PlatformNotSupportedError extends RwxCacheError {
  readonly code = 'ERR_PLATFORM_NOT_SUPPORTED';
  /** The provider's address. */
  readonly address: string;
  /** The version. */
  readonly version: string;
  /** The platform, `os_arch`. */
  readonly platform: string;

  constructor(address: string, version: string, platform: string, cause?: unknown, where = 'The registry') {
    super(`${where} has no package of ${address} ${version} for ${platform}; check all three: it answers the same whichever of them it does not know`, because({ cause }));
    this.address = address;
    this.version = version;
    this.platform = platform;
  }
}

/** The provider speaks no plugin protocol that the clients understand (5 or 6). */
export class ProtocolNotSupportedError extends RwxCacheError {
  readonly code = 'ERR_PROTOCOL_NOT_SUPPORTED';
  /** The provider's address. */
  readonly address: string;
  /** The version. */
  readonly version: string;
  /** The protocols that it speaks. */
  readonly protocols: readonly string[];
  /** The closest version that would do. */
  readonly closest: string | undefined;

  constructor(data: { readonly address: string; readonly version: string; readonly protocols: readonly string[]; readonly closest: string | undefined }) {
    super(`${data.address} ${data.version} speaks plugin protocol ${data.protocols.join(', ')}, and 5 or 6 is needed; ${data.closest === undefined ? 'no version has it' : `version ${data.closest} has it`}`);
    this.address = data.address;
    this.version = data.version;
    this.protocols = data.protocols;
    this.closest = data.closest;
  }
}

/** The registry's answer is not what the protocol says. */
export class RegistryResponseError extends RwxCacheError {
  readonly code = 'ERR_REGISTRY_RESPONSE';
  /** The URL, without secrets. */
  readonly url: string;
  /** The field at fault, as a path (`'versions[3].version'`), or the whole document (`''`). */
  readonly field: string;

  constructor(url: string, field: string, problem: string, cause?: unknown) {
    super(`${url} sent an answer that is not of the protocol: ${field === '' ? '' : `${field}: `}${problem}`, because({ cause }));
    this.url = url;
    this.field = field;
  }
}

/** `offline` forbids what would be needed from the network. */
export class OfflineError extends RwxCacheError {
  readonly code = 'ERR_OFFLINE';
  /** What is missing, for example `registry.opentofu.org/hashicorp/null 3.2.4 linux_amd64`. */
  readonly missing: string;

  constructor(missing: string, cause?: unknown) {
    super(`${missing} is not in the cache, and offline is set; fill the cache first, or go online`, because({ cause }));
    this.missing = missing;
  }
}
