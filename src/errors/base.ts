/** What all errors of the library have in common. The classes are in the files beside this one, by subject. */

/** The stable codes, one for each class. */
export type ErrorCode =
  | 'ERR_ACCESS_POLICY'
  | 'ERR_ARCHIVE_INVALID'
  | 'ERR_ARCHIVE_UNSAFE'
  | 'ERR_CACHE_CLOSED'
  | 'ERR_CACHE_FORMAT'
  | 'ERR_CHECKSUM_MISMATCH'
  | 'ERR_CHECKSUMS_INVALID'
  | 'ERR_CLI_CONFIG'
  | 'ERR_CREDENTIALS_HELPER'
  | 'ERR_DEPENDENCY_LOCKS'
  | 'ERR_DISCOVERY'
  | 'ERR_DOWNLOAD_INCOMPLETE'
  | 'ERR_ENSURE_ALL'
  | 'ERR_ENTRY_CONFLICT'
  | 'ERR_EXECUTABLE_MISSING'
  | 'ERR_FILE_SYSTEM'
  | 'ERR_HASH_MISMATCH'
  | 'ERR_HASH_UNPROVEN'
  | 'ERR_HCL_SYNTAX'
  | 'ERR_HTTP_STATUS'
  | 'ERR_INVALID_CONSTRAINTS'
  | 'ERR_INVALID_HOSTNAME'
  | 'ERR_INVALID_OPTION'
  | 'ERR_INVALID_PLATFORM'
  | 'ERR_INVALID_PROVIDER_ADDRESS'
  | 'ERR_INVALID_VERSION'
  | 'ERR_LOCK_LOST'
  | 'ERR_LOCK_TIMEOUT'
  | 'ERR_LOCK_UNSUPPORTED'
  | 'ERR_NETWORK'
  | 'ERR_NO_SOURCE'
  | 'ERR_OFFLINE'
  | 'ERR_PACKAGE_MISSING'
  | 'ERR_PLATFORM_NOT_SUPPORTED'
  | 'ERR_PROTOCOL_NOT_SUPPORTED'
  | 'ERR_PROVIDER_NOT_FOUND'
  | 'ERR_READ_ONLY'
  | 'ERR_REDIRECT'
  | 'ERR_REGISTRY_RESPONSE'
  | 'ERR_RESPONSE_TOO_LARGE'
  | 'ERR_SERVICE_NOT_PROVIDED'
  | 'ERR_SIGNATURE_INVALID'
  | 'ERR_SOURCE_UNAVAILABLE'
  | 'ERR_STAGING_LOST'
  | 'ERR_UNAUTHORIZED'
  | 'ERR_UNREADABLE_DIRECTORY'
  | 'ERR_VERSION_NOT_FOUND';

/** The base of all errors of this library: catch it to catch them all, and branch on `code`. */
export abstract class RwxCacheError extends Error {
  /** Stable across releases; branch on this, not on the message. */
  abstract readonly code: ErrorCode;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Options of every error that wraps another one. */
export interface CausedBy {
  /** The error underneath, where there is one. */
  readonly cause?: unknown;
}

/** @internal */
export function because(given: CausedBy): ErrorOptions {
  return given.cause === undefined ? {} : { cause: given.cause };
}
