/** Addresses of providers, as `source` arguments, lock files and cache directories write them. Pure. */
import { InvalidHostnameError, InvalidProviderAddressError } from '../errors.ts';
import { normalizeHostname, type NormalizedHostname } from './hostnames.ts';
import { toBothForms } from './idna.ts';

/** The host of an address that names none: OpenTofu's. Terraform's is `registry.terraform.io`. */
export const DEFAULT_REGISTRY_HOST = 'registry.opentofu.org';

/** Stands for "namespace unknown" in addresses from before namespaces; only on the default host. */
const LEGACY_NAMESPACE = '-';

/** The namespace that the clients imply for an address of one part. */
const IMPLIED_NAMESPACE = 'hashicorp';

const BUILT_IN_HOSTS: readonly string[] = ['terraform.io', 'opentofu.org'];

/** A provider's address, normalised and frozen: two are the same provider exactly when their texts are equal. */
export class ProviderAddress {
  /** The registry's host in display (Unicode) form, with its port unless that is 443. */
  readonly hostname: string;
  /** The registry's host in punycode form, with its port unless that is 443: for URLs and credentials. */
  readonly hostnameAscii: string;
  /** The namespace, for example `hashicorp`. */
  readonly namespace: string;
  /** The provider's type, for example `aws`. */
  readonly type: string;

  /** @internal */
  constructor(host: NormalizedHostname, namespace: string, type: string) {
    this.hostname = host.display;
    this.hostnameAscii = host.ascii;
    this.namespace = namespace;
    this.type = type;
    Object.freeze(this);
  }

  /** The full address, as lock files have it: `registry.opentofu.org/hashicorp/aws`. */
  toString(): string {
    return `${this.hostname}/${this.namespace}/${this.type}`;
  }
}

/** What an address means that does not say everything. */
export interface ProviderAddressOptions {
  /** The host of addresses that name none; {@link DEFAULT_REGISTRY_HOST} when left out. */
  readonly defaultHost?: string | undefined;
}

/**
 * Reads a provider source: `host/namespace/type`, `namespace/type` (on the default host), or `type` (in the
 * namespace `hashicorp` there). Each part is normalised like a label of a host name (lower case, NFC).
 * Built-in providers (`terraform.io/builtin/terraform`) parse too; see {@link isBuiltInProvider}.
 *
 * @throws InvalidProviderAddressError when the clients refuse the address too; where its host is at fault,
 * the cause is an InvalidHostnameError.
 * @throws InvalidHostnameError when `defaultHost` is invalid.
 */
export function parseProviderAddress(source: string, options: ProviderAddressOptions = {}): ProviderAddress {
  const defaultHost = normalizeHostname(options.defaultHost ?? DEFAULT_REGISTRY_HOST);
  const parts = source.split('/');
  if (parts.length > 3) throw new InvalidProviderAddressError(source, 'it has more than three parts');
  if (parts.includes('')) throw new InvalidProviderAddressError(source, 'it has an empty part');

  const [givenType = '', givenNamespace = IMPLIED_NAMESPACE, givenHost] = parts.reverse();
  const host = givenHost === undefined ? defaultHost : parseHost(source, givenHost);
  const type = parsePart(source, 'type', givenType);
  if (givenNamespace === LEGACY_NAMESPACE && host.ascii !== defaultHost.ascii) {
    throw new InvalidProviderAddressError(source, `the legacy namespace "-" exists only on ${defaultHost.display}`);
  }
  const namespace = givenNamespace === LEGACY_NAMESPACE ? LEGACY_NAMESPACE : parsePart(source, 'namespace', givenNamespace);

  const redundant = /^(?:terraform|opentofu)-(?:provider-)?/u.exec(type)?.[0];
  if (redundant !== undefined) throw new InvalidProviderAddressError(source, `its type may not begin with ${JSON.stringify(redundant)}`);
  return new ProviderAddress(host, namespace, type);
}

/** Whether the clients carry this provider in themselves and never install it (`terraform.io/builtin/…`, `opentofu.org/builtin/…`). */
export function isBuiltInProvider(address: ProviderAddress): boolean {
  return address.namespace === 'builtin' && BUILT_IN_HOSTS.includes(address.hostnameAscii);
}

/** The address as the clients show it to people: without its host where that is the default one. */
export function shortProviderAddress(address: ProviderAddress, options: ProviderAddressOptions = {}): string {
  const defaultHost = normalizeHostname(options.defaultHost ?? DEFAULT_REGISTRY_HOST);
  return address.hostnameAscii === defaultHost.ascii ? `${address.namespace}/${address.type}` : address.toString();
}

function parseHost(source: string, given: string): NormalizedHostname {
  try {
    return normalizeHostname(given);
  } catch (error) {
    if (error instanceof InvalidHostnameError) throw new InvalidProviderAddressError(source, error.message, error);
    throw error;
  }
}

/**
 * The normalised form of a namespace or a type. `source` is what it stands in, for the message.
 * @throws InvalidProviderAddressError
 */
export function parsePart(source: string, what: 'namespace' | 'type', given: string): string {
  const forms = toBothForms(given);
  if (forms.problem !== undefined) throw new InvalidProviderAddressError(source, `its ${what} is not valid: ${forms.problem}`);
  if (forms.display.includes('.')) throw new InvalidProviderAddressError(source, `its ${what} has a dot`);
  if (given.includes('--') || forms.display.includes('--')) throw new InvalidProviderAddressError(source, `its ${what} has two hyphens in a row`);
  return forms.display;
}
