/**
 * Which credentials a zip, its checksums and their signature are asked for with. The clients send none (registries hand out signed URLs,
 * or files that are open to all), but for `.netrc`, which Terraform 1.11 and later honours for zips.
 */
import type { RequestOptions } from '../http/index.ts';
import { normalizeHostname } from '../layout/index.ts';
import { lookUpToken, type CredentialSource, type Environment } from './credentials.ts';
import { netrcPlace, readNetrc, type NetrcLookup } from './netrc.ts';
import { checkPackageCredentials, type PackageCredentialOptions } from './package-credential-options.ts';

/** What a request for a part of a package carries. `origins` are those that may see the host's token; default: those of a registry. */
export type PackageAuthorization = (url: string, hostname: string, signal: AbortSignal | undefined, origins?: readonly string[]) => Promise<Pick<RequestOptions, 'bearer' | 'basic'>>;

/** What it is made of. */
export interface PackageAuthorizationParts {
  readonly credentials: CredentialSource;
  readonly environment: Environment;
  /** The origins that a registry's token may be shown to. */
  readonly originsOf: (hostname: string, signal: AbortSignal | undefined) => Promise<readonly string[]>;
}

/**
 * Makes it. The file is read with the first package, once, and again after a failure.
 * @throws InvalidOptionError
 */
export function packageAuthorization(options: PackageCredentialOptions, { credentials, environment, originsOf }: PackageAuthorizationParts): PackageAuthorization {
  const { sameOrigin, netrc } = checkPackageCredentials(options);
  let entries: Promise<NetrcLookup> | undefined;

  async function lookUp(host: string): Promise<ReturnType<NetrcLookup>> {
    entries ??= readNetrc(netrcPlace(typeof netrc === 'string' ? netrc : undefined, environment));
    try {
      return (await entries)(host);
    } catch (error) {
      entries = undefined;
      throw error;
    }
  }

  return async (url, hostname, signal, given) => {
    const { origin, host } = new URL(url);
    if (sameOrigin) {
      const origins = given ?? (await originsOf(hostname, signal));
      if (origins.includes(origin)) {
        const { token } = await lookUpToken(credentials, normalizeHostname(hostname).ascii, signal);
        if (token !== undefined) return { bearer: { token, origins } };
      }
    }
    const entry = netrc === false ? undefined : await lookUp(host);
    return entry === undefined ? {} : { basic: { ...entry, origins: [origin] } };
  };
}
