/**
 * Host names, provider addresses, versions, constraints, platforms and paths, exactly as the reference clients have
 * them. Pure: nothing here touches a file, the network or a clock.
 *
 * @packageDocumentation
 */
export { normalizeHostname, type NormalizedHostname } from './hostnames.ts';
export { hostFromTokenVariable } from './token-variables.ts';
export {
  DEFAULT_REGISTRY_HOST,
  isBuiltInProvider,
  parseProviderAddress,
  shortProviderAddress,
  type ProviderAddress,
  type ProviderAddressOptions,
} from './addresses.ts';
export { compareVersions, parseVersion, type Version } from './versions.ts';
export { exactVersion, newestMatching, parseConstraints, type Constraints } from './constraints.ts';
export { currentPlatform, parsePlatform, type Platform } from './platforms.ts';
export { executableName, findPluginExecutable, isPluginExecutable, packagePath, parsePackagePath, type PackagePathParts } from './paths.ts';
