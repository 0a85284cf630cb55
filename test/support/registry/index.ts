/** The embedded registry for tests, the demo and benchmarks. */
export type { Fault } from './faults.ts';
export { startRegistry } from './registry.ts';
export type { EmbeddedRegistry, RegistryOptions } from './registry.ts';
export { zipName } from './releases.ts';
export type { BuiltRelease, ProviderRelease } from './releases.ts';
export { createSigner } from './signer.ts';
export { startRegistryProcess } from './process.ts';
export type { RegistryProcess } from './process.ts';
