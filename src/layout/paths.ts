/** Where a package lies in a cache or mirror, and what its executable is called. Pure: no path is looked at. */
import { InvalidPlatformError, InvalidProviderAddressError, InvalidVersionError } from '../errors.ts';
import { parseProviderAddress, type ProviderAddress, type ProviderAddressOptions } from './addresses.ts';
import { parsePlatform, type Platform } from './platforms.ts';
import { parseVersion, type Version } from './versions.ts';

/**
 * The directory of an unpacked package, relative to its cache or mirror and with forward slashes:
 * `registry.opentofu.org/hashicorp/aws/6.0.0/linux_amd64`. The host is in display form with its port, the version
 * canonical: byte for byte where the reference clients look.
 */
export function packagePath(address: ProviderAddress, version: Version, platform: Platform): string {
  return `${address.toString()}/${version.toString()}/${platform.toString()}`;
}

/** What a package's path tells. */
export interface PackagePathParts {
  /** The provider. */
  readonly address: ProviderAddress;
  /** Its version. */
  readonly version: Version;
  /** The platform that the package is for. */
  readonly platform: Platform;
}

/**
 * What a path below a cache or mirror says, or undefined where the reference clients would skip it as no package.
 * Like them it accepts other spellings (`AwesomeCorp`, `1.0`) and answers with the normalised ones: the package
 * stands where the clients write it exactly when {@link packagePath} gives the same text back.
 */
export function parsePackagePath(relative: string, options: ProviderAddressOptions = {}): PackagePathParts | undefined {
  const [hostname, namespace, type, version, platform, ...more] = relative.split('/');
  if (hostname === undefined || namespace === undefined || type === undefined || version === undefined || platform === undefined || more.length > 0) {
    return undefined;
  }
  try {
    return {
      address: parseProviderAddress(`${hostname}/${namespace}/${type}`, options),
      version: parseVersion(version),
      platform: parsePlatform(platform),
    };
  } catch (error) {
    if (error instanceof InvalidProviderAddressError || error instanceof InvalidVersionError || error instanceof InvalidPlatformError) return undefined;
    throw error;
  }
}

/** What the name of a provider's executable begins with: `terraform-provider-aws`. */
export function executableName(type: string): string {
  return `terraform-provider-${type}`;
}

/**
 * Whether the clients take a file in a package's top directory for the plugin: its name is {@link executableName},
 * or begins with that and `_` or `.` (`terraform-provider-aws_v6.0.0_x5.exe`).
 */
export function isPluginExecutable(type: string, filename: string): boolean {
  const name = executableName(type);
  return filename === name || filename.startsWith(`${name}_`) || filename.startsWith(`${name}.`);
}

/** The plugin among the names of the files in a package's top directory: like the clients, the first in byte order. */
export function findPluginExecutable(type: string, filenames: Iterable<string>): string | undefined {
  let first: string | undefined;
  for (const filename of filenames) {
    if (isPluginExecutable(type, filename) && (first === undefined || Buffer.compare(Buffer.from(filename), Buffer.from(first)) < 0)) first = filename;
  }
  return first;
}
