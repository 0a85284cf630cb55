/** The options that say what a package is asked for with, and their check. Pure, and loads nothing else: every opening of a cache comes by here. */
import { InvalidOptionError } from '../errors.ts';

/** What is sent with requests for packages. */
export interface PackageCredentialOptions {
  /**
   * Whether requests for zips, checksums and signatures carry the registry's token: `'none'` (default, as the reference clients), or `'same-origin'`: those on
   * the origin of the registry's discovery document or of its service, for registries that serve packages themselves and behind their own token. It
   * never follows a redirect to another origin, never goes with a signed URL, and never over plain http except to loopback.
   */
  readonly packageCredentials?: 'none' | 'same-origin' | undefined;
  /**
   * Whether requests for zips, checksums and signatures carry a user name and password by `.netrc`: `true` for `$NETRC` or else `~/.netrc` (`_netrc` on Windows), or the
   * path of a file. An entry counts for the host of the URL with its port (unless that is the scheme's own), and `default` for every other host; both under the same
   * rules as the token, which beats them. Terraform 1.11 does so for zips alone, OpenTofu never.
   *
   * Default: false with `packageCredentials: 'none'`, since nothing is sent with packages then, else true.
   */
  readonly netrc?: boolean | string | undefined;
}

/**
 * Checks the options. Nothing is read before the first package.
 * @throws InvalidOptionError
 */
export function checkPackageCredentials(options: PackageCredentialOptions): { readonly sameOrigin: boolean; readonly netrc: boolean | string } {
  const { packageCredentials = 'none' } = options;
  if (!['none', 'same-origin'].includes(packageCredentials)) throw new InvalidOptionError('packageCredentials', 'it is one of none, same-origin');
  const sameOrigin = packageCredentials === 'same-origin';
  const netrc: unknown = options.netrc ?? sameOrigin;
  if (typeof netrc !== 'boolean' && (typeof netrc !== 'string' || netrc === '' || netrc.includes('\0'))) throw new InvalidOptionError('netrc', 'it is true, false, or the path of a file');
  return { sameOrigin, netrc };
}
