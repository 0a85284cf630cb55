/** The provider's own registry as a source among others. */
import type { SourceDescription } from '../../errors.ts';
import type { RegistryClient } from '../client.ts';
import type { PackageSource } from './source.ts';

/** The registries, asked through `registry`. */
export function directSource(source: SourceDescription, registry: RegistryClient): PackageSource {
  return {
    versions: (address, options) => registry.versions(address, options),
    offer: async ({ address, version, platform }, options) => ({ kind: 'registry', source, metadata: await registry.package(address, version, platform, options) }),
  };
}
