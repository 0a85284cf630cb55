/**
 * A cache of Terraform and OpenTofu provider packages that any number of processes and hosts share through one
 * directory. The parts it is made of are subpaths of their own: `rwx-cache/lock`, `rwx-cache/atomic`, `rwx-cache/verify`,
 * `rwx-cache/registry`, `rwx-cache/archive`, `rwx-cache/layout`, and every error in `rwx-cache/errors`.
 *
 * @packageDocumentation
 */
export { ProviderCache } from './cache/provider-cache.ts';
export type { EnsureOptions, ListOptions, LookupOptions, PinOptions } from './cache/call-options.ts';
export type { EnsureAllOptions, EnsureAllRequest } from './cache/ensure-all.ts';
export type { EnsureLockFileOptions } from './cache/ensure-lock-file.ts';
export type { CacheLockStrategy } from './cache/entry-lock.ts';
export type { LinkMethod, LinkOptions } from './cache/link.ts';
export type { ProviderCacheOptions } from './cache/options.ts';
export type { PreparedDirectory, PrepareOptions } from './cache/prepare.ts';
export type { Pin } from './cache/pins.ts';
export type { DownloadingEvent, OverallEvent, OverallListener, ProgressEvent, ProgressListener, SettlingEvent, StepEvent, UnpackingEvent, WaitingEvent } from './cache/progress.ts';
export type { Outcome, PackageIdentity, ProviderPackage } from './cache/provider-package.ts';
export type { PruneCandidate, PruneFailure, PrunePolicy, PruneResult } from './cache/prune-policy.ts';
export type { Provenance, SignatureProvenance, UnsignedProvenance, VerifiedProvenance } from './cache/record-format.ts';
export type { ProviderRequest } from './cache/requests.ts';
export type { HostVerification, SignaturePolicy, VerificationOptions } from './cache/verification-policy.ts';
export type { DirectSource, FilesystemMirrorSource, NetworkMirrorSource, OciMirrorSource, ProviderSource, SourceFallback, SourcePatterns } from './registry/index.ts';
export { EnsureAllError, RwxCacheError } from './errors.ts';
export type { EnsureFailure, ErrorCode, LockHolder, SourceAnswer, SourceDescription } from './errors.ts';
