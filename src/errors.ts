/**
 * Every error that the library throws. Each has a class, a stable `code`, the data that a program needs, and a
 * message that says what happened, where, and what to do. An aborted call rejects with its signal's own reason
 * instead. No message and no field ever holds a token, a header, or the query of a URL.
 */
export { RwxCacheError } from './errors/base.ts';
export type { CausedBy, ErrorCode } from './errors/base.ts';
export { InvalidConstraintsError, InvalidHostnameError, InvalidOptionError, InvalidPlatformError, InvalidProviderAddressError, InvalidVersionError } from './errors/input.ts';
export { CliConfigError } from './errors/cli-config.ts';
export { CredentialsHelperError } from './errors/credentials.ts';
export { FileSystemError, StagingLostError, UnreadableDirectoryError } from './errors/file-system.ts';
export { LockLostError, LockTimeoutError, LockUnsupportedError } from './errors/lock.ts';
export type { LockHolder } from './errors/lock.ts';
export { AccessPolicyError, DownloadIncompleteError, HttpStatusError, NetworkError, RedirectError, ResponseTooLargeError } from './errors/network.ts';
export type { NetworkErrorData, NetworkPhase } from './errors/network.ts';
export { DiscoveryError, OfflineError, PlatformNotSupportedError, ProtocolNotSupportedError, ProviderNotFoundError, RegistryResponseError, ServiceNotProvidedError, UnauthorizedError, VersionNotFoundError } from './errors/registry.ts';
export { ChecksumMismatchError, ChecksumsInvalidError, HashMismatchError, HashUnprovenError, SignatureInvalidError } from './errors/verification.ts';
export type { SignatureProblem } from './errors/verification.ts';
export { InvalidArchiveError, UnsafeArchiveError } from './errors/archive.ts';
export type { ArchiveRule } from './errors/archive.ts';
export { CacheClosedError, CacheFormatError, EnsureAllError, EntryConflictError, ExecutableMissingError, PackageMissingError, ReadOnlyError } from './errors/cache.ts';
export type { EnsureFailure } from './errors/cache.ts';
export { DependencyLocksError, HclSyntaxError } from './errors/configuration.ts';
export { NoSourceError, SourceUnavailableError } from './errors/sources.ts';
export type { SourceAnswer, SourceDescription } from './errors/sources.ts';
