/**
 * Provider registries: service discovery and the provider registry protocol v1. Nothing that comes from here is verified:
 * see `rwx-cache/verify`.
 *
 * @packageDocumentation
 */
export type { ClientCertificate, DownloadProgress, DownloadResult, HttpClientOptions, OpenDownload, ProxyOptions } from '../http/index.ts';
export type { OpenFile } from '../atomic/index.ts';
export { impliedSources } from './cli-config/implied-sources.ts';
export type { ImpliedSourcesOptions } from './cli-config/implied-sources.ts';
export { loadCliConfig } from './cli-config/load.ts';
export { renderCliConfig } from './cli-config/render.ts';
export type { RenderCliConfigOptions } from './cli-config/render.ts';
export type { CliConfig, CliConfigWarning, CliHelper, CliTool, LoadCliConfigOptions, RegistryProtocolSettings } from './cli-config/types.ts';
export { RegistryClient } from './client.ts';
export type { ChecksumsDocument, PackageDownloadOptions, RegistryCallOptions, RegistryClientOptions, VersionsOptions } from './client.ts';
export type { CredentialsByHost, Environment, HostCredentials } from './credentials.ts';
export type { ServicesByHost } from './discovery.ts';
export type { HostServices } from './host-services.ts';
export type { PackageCredentialOptions } from './package-credential-options.ts';
export type { FetchedDocument, MetadataAnswer, MetadataDocument, MetadataOptions, MetadataQuery, MetadataStore, Validators } from './metadata-store.ts';
export type { PackageMetadata, PlatformHashes, SigningKey } from './package-metadata.ts';
export type { DirectSource, FilesystemMirrorSource, NetworkMirrorSource, OciMirrorSource, ProviderSource, SourceFallback, SourcePatterns } from './sources/types.ts';
export type { AvailableVersion, VersionList } from './version-list.ts';
