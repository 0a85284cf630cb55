/**
 * Every error that the library throws. Each has a class, a stable `code`, the data that a program needs, and a
 * message that says what happened, where, and what to do. An aborted call rejects with its signal's own reason
 * instead. No message and no field ever holds a token, a header, or the query of a URL.
 */

/** The stable codes, one for each class. */
export type ErrorCode =
  | 'ERR_ACCESS_POLICY'
  | 'ERR_ARCHIVE_INVALID'
  | 'ERR_ARCHIVE_UNSAFE'
  | 'ERR_CACHE_CLOSED'
  | 'ERR_CACHE_FORMAT'
  | 'ERR_CHECKSUM_MISMATCH'
  | 'ERR_CHECKSUMS_INVALID'
  | 'ERR_DISCOVERY'
  | 'ERR_DOWNLOAD_INCOMPLETE'
  | 'ERR_ENTRY_CONFLICT'
  | 'ERR_EXECUTABLE_MISSING'
  | 'ERR_FILE_SYSTEM'
  | 'ERR_HASH_MISMATCH'
  | 'ERR_HASH_UNPROVEN'
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
  | 'ERR_OFFLINE'
  | 'ERR_PLATFORM_NOT_SUPPORTED'
  | 'ERR_PROTOCOL_NOT_SUPPORTED'
  | 'ERR_PROVIDER_NOT_FOUND'
  | 'ERR_READ_ONLY'
  | 'ERR_REDIRECT'
  | 'ERR_REGISTRY_RESPONSE'
  | 'ERR_RESPONSE_TOO_LARGE'
  | 'ERR_SERVICE_NOT_PROVIDED'
  | 'ERR_SIGNATURE_INVALID'
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

function because(given: CausedBy): ErrorOptions {
  return given.cause === undefined ? {} : { cause: given.cause };
}

// ---- what a caller passed in -------------------------------------------------------------------------------------

/** An option or argument that the called function does not take. */
export class InvalidOptionError extends RwxCacheError {
  readonly code = 'ERR_INVALID_OPTION';
  /** The option's name, as the documentation writes it. */
  readonly option: string;

  constructor(option: string, problem: string) {
    super(`Invalid option ${option}: ${problem}`);
    this.option = option;
  }
}

/** A host name that the reference clients refuse as well. */
export class InvalidHostnameError extends RwxCacheError {
  readonly code = 'ERR_INVALID_HOSTNAME';
  /** The text as given. */
  readonly given: string;

  constructor(given: string, problem: string) {
    super(`Invalid host name ${JSON.stringify(given)}: ${problem}`);
    this.given = given;
  }
}

/** A provider source address that the reference clients refuse as well. */
export class InvalidProviderAddressError extends RwxCacheError {
  readonly code = 'ERR_INVALID_PROVIDER_ADDRESS';
  /** The text as given. */
  readonly given: string;

  constructor(given: string, problem: string, cause?: unknown) {
    super(`Invalid provider address ${JSON.stringify(given)}: ${problem}; write it as "namespace/type" or "host/namespace/type"`, because({ cause }));
    this.given = given;
  }
}

/** A version that is not exact and well-formed. */
export class InvalidVersionError extends RwxCacheError {
  readonly code = 'ERR_INVALID_VERSION';
  /** The text as given. */
  readonly given: string;

  constructor(given: string, problem: string) {
    super(`Invalid version ${JSON.stringify(given)}: ${problem}`);
    this.given = given;
  }
}

/** Version constraints that do not parse. */
export class InvalidConstraintsError extends RwxCacheError {
  readonly code = 'ERR_INVALID_CONSTRAINTS';
  /** The text as given. */
  readonly given: string;

  constructor(given: string, problem: string) {
    super(`Invalid version constraints ${JSON.stringify(given)}: ${problem}`);
    this.given = given;
  }
}

/** A platform that is not of the form `os_arch`. */
export class InvalidPlatformError extends RwxCacheError {
  readonly code = 'ERR_INVALID_PLATFORM';
  /** The text as given. */
  readonly given: string;

  constructor(given: string) {
    super(`Invalid platform ${JSON.stringify(given)}: write it as "os_arch", for example "linux_amd64"`);
    this.given = given;
  }
}

// ---- the file system -----------------------------------------------------------------------------------------------

/** What to do about a system error, by its name. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'check the owner and mode of the directory',
  EDQUOT: 'the quota is used up: free space or raise it, then call again',
  EIO: 'the storage failed, or the server took the lock away; check it, then call again',
  EMFILE: 'raise the limit of open files (ulimit -n)',
  ENOLCK: 'the mount offers no locks; see probeLocking',
  ENOSPC: 'the file system is full: free space, then call again',
  ENOTDIR: 'something that is not a directory stands in the way; move it aside',
  EPERM: 'check the owner and mode of the directory',
  EROFS: 'the file system is mounted read-only',
  ESTALE: 'another host removed it meanwhile; call again',
  EXDEV: 'source and target lie on different mounts; choose a directory on the same one',
};

/** A system call failed. `systemCode` has its name also where Node has none (ESTALE, EDQUOT, ENOLCK, EDEADLK). */
export class FileSystemError extends RwxCacheError {
  readonly code = 'ERR_FILE_SYSTEM';
  /** The error's symbolic name, for example `'ENOSPC'`. */
  readonly systemCode: string;
  /** What was being done, in words. */
  readonly operation: string;
  /** The path it was done to. */
  readonly path: string;

  constructor(data: { readonly systemCode: string; readonly operation: string; readonly path: string } & CausedBy) {
    const advice = ADVICE[data.systemCode];
    super(`Could not ${data.operation} ${data.path}: ${data.systemCode}${advice === undefined ? '' : `; ${advice}`}`, because(data));
    this.systemCode = data.systemCode;
    this.operation = data.operation;
    this.path = data.path;
  }
}

/** A private staging directory vanished under its owner (swept by another host that took this process for dead). The caches start again by themselves. */
export class StagingLostError extends RwxCacheError {
  readonly code = 'ERR_STAGING_LOST';
  /** The staging directory that is gone. */
  readonly path: string;

  constructor(path: string, cause?: unknown) {
    super(`The staging directory ${path} was removed while it was in use; call again`, because({ cause }));
    this.path = path;
  }
}

/** A directory cannot be hashed: it holds a dangling symlink, a link to a directory, or a name with a line break. */
export class UnreadableDirectoryError extends RwxCacheError {
  readonly code = 'ERR_UNREADABLE_DIRECTORY';
  /** The file that stands in the way. */
  readonly path: string;

  constructor(path: string, problem: string, cause?: unknown) {
    super(`Cannot hash ${path}: ${problem}`, because({ cause }));
    this.path = path;
  }
}

// ---- locks ---------------------------------------------------------------------------------------------------------

/** Who holds a lock, as the holder wrote it down. Its clock is the holder's: show `since`, never compute with it. */
export interface LockHolder {
  /** The holder's host name. */
  readonly host: string;
  /** The holder's process id, in its own PID namespace. */
  readonly pid: number;
  /** When it took the lock, ISO 8601, by its own clock. */
  readonly since: string;
}

function holderText(holder: LockHolder | undefined): string {
  return holder === undefined ? 'a holder that left no name' : `process ${holder.pid} on ${holder.host} (since ${holder.since})`;
}

/** The lock was not to be had within `timeoutMs`. */
export class LockTimeoutError extends RwxCacheError {
  readonly code = 'ERR_LOCK_TIMEOUT';
  /** The lock file. */
  readonly path: string;
  /** How long this call waited, in milliseconds. */
  readonly timeoutMs: number;
  /** Who holds it, where that is known. */
  readonly holder: LockHolder | undefined;

  constructor(path: string, timeoutMs: number, holder: LockHolder | undefined) {
    super(`Lock ${path} was not free within ${timeoutMs} ms: held by ${holderText(holder)}; wait longer (timeoutMs) or look into that process`);
    this.path = path;
    this.timeoutMs = timeoutMs;
    this.holder = holder;
  }
}

/** A lock that was held is not any more: its file was replaced, the server fenced it, or no heartbeat got through. */
export class LockLostError extends RwxCacheError {
  readonly code = 'ERR_LOCK_LOST';
  /** The lock file. */
  readonly path: string;
  /** How the loss was noticed. */
  readonly reason: string;

  constructor(path: string, reason: string, cause?: unknown) {
    super(`Lock ${path} was lost: ${reason}; do not publish what it guarded, acquire it again`, because({ cause }));
    this.path = path;
    this.reason = reason;
  }
}

/** The mount, the platform, or a missing addon gives no lock of the kind asked for. */
export class LockUnsupportedError extends RwxCacheError {
  readonly code = 'ERR_LOCK_UNSUPPORTED';
  /** The lock file or directory. */
  readonly path: string;
  /** Why there is none. */
  readonly reason: string;

  constructor(path: string, reason: string, cause?: unknown) {
    super(`No such lock is to be had at ${path}: ${reason}`, because({ cause }));
    this.path = path;
    this.reason = reason;
  }
}

// ---- the network ---------------------------------------------------------------------------------------------------

/** An answer with a status that is not wanted, after all retries. */
export class HttpStatusError extends RwxCacheError {
  readonly code = 'ERR_HTTP_STATUS';
  /** The final URL, without secrets. */
  readonly url: string;
  /** The status, for example 503. */
  readonly status: number;
  /** How many requests were made. */
  readonly attempts: number;
  /** What `Retry-After` asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(data: { readonly url: string; readonly status: number; readonly attempts: number; readonly retryAfterMs?: number | undefined }) {
    super(`${data.url} answered ${data.status} (${data.attempts} ${data.attempts === 1 ? 'attempt' : 'attempts'})`);
    this.url = data.url;
    this.status = data.status;
    this.attempts = data.attempts;
    this.retryAfterMs = data.retryAfterMs;
  }
}

/** What part of a request failed. */
export type NetworkPhase = 'connect' | 'tls' | 'headers' | 'body';

/** No usable answer: the connection failed, a time limit passed, or a certificate was refused. */
export class NetworkError extends RwxCacheError {
  readonly code = 'ERR_NETWORK';
  /** The URL, without secrets. */
  readonly url: string;
  /** Where it failed. `'tls'` is never retried. */
  readonly phase: NetworkPhase;
  /** How many requests were made. */
  readonly attempts: number;

  constructor(data: { readonly url: string; readonly phase: NetworkPhase; readonly attempts: number; readonly problem: string } & CausedBy) {
    super(`${data.url} could not be read (${data.phase}, ${data.attempts} ${data.attempts === 1 ? 'attempt' : 'attempts'}): ${data.problem}`, because(data));
    this.url = data.url;
    this.phase = data.phase;
    this.attempts = data.attempts;
  }
}

/** A redirect that is not followed. */
export class RedirectError extends RwxCacheError {
  readonly code = 'ERR_REDIRECT';
  /** Where the redirect came from, without secrets. */
  readonly url: string;
  /** Where it led, without secrets. */
  readonly location: string;
  /** Why it was refused. */
  readonly reason: 'downgrade' | 'too-many' | 'invalid';

  constructor(data: { readonly url: string; readonly location: string; readonly reason: 'downgrade' | 'too-many' | 'invalid' }) {
    const why = { downgrade: 'it leads from https to http', 'too-many': 'there were more than 5', invalid: 'its location is missing or not http' }[data.reason];
    super(`${data.url} redirects to ${data.location}, which is not followed: ${why}`);
    this.url = data.url;
    this.location = data.location;
    this.reason = data.reason;
  }
}

/** An answer larger than its limit. */
export class ResponseTooLargeError extends RwxCacheError {
  readonly code = 'ERR_RESPONSE_TOO_LARGE';
  /** The URL, without secrets. */
  readonly url: string;
  /** The limit in bytes. */
  readonly limitBytes: number;

  constructor(url: string, limitBytes: number) {
    super(`${url} sent more than ${limitBytes} bytes`);
    this.url = url;
    this.limitBytes = limitBytes;
  }
}

/** A body that ended before its announced length, after all retries. */
export class DownloadIncompleteError extends RwxCacheError {
  readonly code = 'ERR_DOWNLOAD_INCOMPLETE';
  /** The URL, without secrets. */
  readonly url: string;
  /** The announced length in bytes. */
  readonly expectedBytes: number;
  /** The bytes that came. */
  readonly receivedBytes: number;

  constructor(url: string, expectedBytes: number, receivedBytes: number) {
    super(`${url} ended after ${receivedBytes} of ${expectedBytes} bytes; check the network or the proxy, then call again`);
    this.url = url;
    this.expectedBytes = expectedBytes;
    this.receivedBytes = receivedBytes;
  }
}

/** Plain http, or another scheme, where the policy asks for https. */
export class AccessPolicyError extends RwxCacheError {
  readonly code = 'ERR_ACCESS_POLICY';
  /** The URL, without secrets. */
  readonly url: string;

  constructor(url: string, problem: string) {
    super(`${url} is not read: ${problem}`);
    this.url = url;
  }
}

// ---- the registry --------------------------------------------------------------------------------------------------

/** Service discovery of a host failed (network, status, content type, size, or a malformed document). */
export class DiscoveryError extends RwxCacheError {
  readonly code = 'ERR_DISCOVERY';
  /** The host, in display form. */
  readonly hostname: string;

  constructor(hostname: string, problem: string, cause?: unknown) {
    super(`Service discovery of ${hostname} failed: ${problem}`, because({ cause }));
    this.hostname = hostname;
  }
}

/** The host offers no service of the kind, or only another version of it. */
export class ServiceNotProvidedError extends RwxCacheError {
  readonly code = 'ERR_SERVICE_NOT_PROVIDED';
  /** The host, in display form. */
  readonly hostname: string;
  /** The service asked for, for example `'providers.v1'`. */
  readonly service: string;
  /** Other versions of it that the host does offer. */
  readonly otherVersions: readonly string[];

  constructor(hostname: string, service: string, otherVersions: readonly string[]) {
    super(`${hostname} does not offer ${service}${otherVersions.length === 0 ? '; is it a provider registry?' : `, only ${otherVersions.join(', ')}`}`);
    this.hostname = hostname;
    this.service = service;
    this.otherVersions = otherVersions;
  }
}

/** The registry wants credentials, or refuses those it got. */
export class UnauthorizedError extends RwxCacheError {
  readonly code = 'ERR_UNAUTHORIZED';
  /** The host, in display form. */
  readonly hostname: string;
  /** Whether credentials were sent. */
  readonly hadCredentials: boolean;

  constructor(hostname: string, hadCredentials: boolean, cause?: unknown) {
    super(
      hadCredentials
        ? `${hostname} refused the credentials it was given; renew the token`
        : `${hostname} asks for credentials; give a token (credentials, or TF_TOKEN_…)`,
      because({ cause }),
    );
    this.hostname = hostname;
    this.hadCredentials = hadCredentials;
  }
}

/** The registry does not know the provider. */
export class ProviderNotFoundError extends RwxCacheError {
  readonly code = 'ERR_PROVIDER_NOT_FOUND';
  /** The provider's address. */
  readonly address: string;

  constructor(address: string, cause?: unknown) {
    super(`The registry has no provider ${address}; check the source address`, because({ cause }));
    this.address = address;
  }
}

/** No version of the provider meets the constraints. */
export class VersionNotFoundError extends RwxCacheError {
  readonly code = 'ERR_VERSION_NOT_FOUND';
  /** The provider's address. */
  readonly address: string;
  /** The constraints or version asked for. */
  readonly constraints: string;
  /** The newest versions there are (up to ten). */
  readonly available: readonly string[];

  constructor(address: string, constraints: string, available: readonly string[]) {
    super(`No version of ${address} matches ${JSON.stringify(constraints)}; ${available.length === 0 ? 'there is none at all' : `the newest are ${available.join(', ')}`}`);
    this.address = address;
    this.constraints = constraints;
    this.available = available;
  }
}

/** The registry has the version, but not for the platform (or not the version at all: the protocol answers both with 404). */
export class PlatformNotSupportedError extends RwxCacheError {
  readonly code = 'ERR_PLATFORM_NOT_SUPPORTED';
  /** The provider's address. */
  readonly address: string;
  /** The version. */
  readonly version: string;
  /** The platform, `os_arch`. */
  readonly platform: string;

  constructor(address: string, version: string, platform: string, cause?: unknown) {
    super(`${address} ${version} is not offered for ${platform}; check the version, or ask the provider's authors for that platform`, because({ cause }));
    this.address = address;
    this.version = version;
    this.platform = platform;
  }
}

/** The provider speaks no plugin protocol that the clients understand (5 or 6). */
export class ProtocolNotSupportedError extends RwxCacheError {
  readonly code = 'ERR_PROTOCOL_NOT_SUPPORTED';
  /** The provider's address. */
  readonly address: string;
  /** The version. */
  readonly version: string;
  /** The protocols that it speaks. */
  readonly protocols: readonly string[];
  /** The closest version that would do. */
  readonly closest: string | undefined;

  constructor(data: { readonly address: string; readonly version: string; readonly protocols: readonly string[]; readonly closest: string | undefined }) {
    super(`${data.address} ${data.version} speaks plugin protocol ${data.protocols.join(', ')}, and 5 or 6 is needed; ${data.closest === undefined ? 'no version has it' : `version ${data.closest} has it`}`);
    this.address = data.address;
    this.version = data.version;
    this.protocols = data.protocols;
    this.closest = data.closest;
  }
}

/** The registry's answer is not what the protocol says. */
export class RegistryResponseError extends RwxCacheError {
  readonly code = 'ERR_REGISTRY_RESPONSE';
  /** The URL, without secrets. */
  readonly url: string;
  /** The field at fault, as a path (`'versions[3].version'`), or the whole document (`''`). */
  readonly field: string;

  constructor(url: string, field: string, problem: string, cause?: unknown) {
    super(`${url} sent an answer that is not of the protocol: ${field === '' ? '' : `${field}: `}${problem}`, because({ cause }));
    this.url = url;
    this.field = field;
  }
}

/** `offline` forbids what would be needed from the network. */
export class OfflineError extends RwxCacheError {
  readonly code = 'ERR_OFFLINE';
  /** What is missing, for example `registry.opentofu.org/hashicorp/null 3.2.4 linux_amd64`. */
  readonly missing: string;

  constructor(missing: string) {
    super(`${missing} is not in the cache, and offline is set; fill the cache first, or go online`);
    this.missing = missing;
  }
}

// ---- verification --------------------------------------------------------------------------------------------------

/** A SHA256SUMS document that does not parse, or does not name the file. */
export class ChecksumsInvalidError extends RwxCacheError {
  readonly code = 'ERR_CHECKSUMS_INVALID';
  /** The file that was looked for. */
  readonly filename: string;

  constructor(filename: string, problem: string) {
    super(`The checksums document is of no use for ${filename}: ${problem}`);
    this.filename = filename;
  }
}

/** Bytes or a statement about them do not have the checksum that was promised. */
export class ChecksumMismatchError extends RwxCacheError {
  readonly code = 'ERR_CHECKSUM_MISMATCH';
  /** What was checked, for example the URL of the zip, without secrets. */
  readonly subject: string;
  /** The SHA-256 that was promised, in hex. */
  readonly expected: string;
  /** The SHA-256 that was found, in hex. */
  readonly actual: string;

  constructor(data: { readonly subject: string; readonly expected: string; readonly actual: string; readonly detail?: string | undefined }) {
    super(
      `${data.subject} has SHA-256 ${data.actual}, and ${data.expected} was promised${data.detail === undefined ? '' : ` (${data.detail})`}; nothing was installed. A proxy that rewrites downloads does this, too`,
    );
    this.subject = data.subject;
    this.expected = data.expected;
    this.actual = data.actual;
  }
}

/** Why a signature was refused. */
export type SignatureProblem = 'missing' | 'malformed' | 'unknown-key' | 'bad-signature' | 'expired-key' | 'expired-signature' | 'revoked-key' | 'weak' | 'no-keys';

/** The SHA256SUMS document is not signed as the policy asks. */
export class SignatureInvalidError extends RwxCacheError {
  readonly code = 'ERR_SIGNATURE_INVALID';
  /** Why it was refused. */
  readonly reason: SignatureProblem;
  /** The key ids that the signature names, in upper-case hex. */
  readonly keyIds: readonly string[];

  constructor(reason: SignatureProblem, problem: string, keyIds: readonly string[] = [], cause?: unknown) {
    super(`The checksums are not signed as they must be (${reason}): ${problem}`, because({ cause }));
    this.reason = reason;
    this.keyIds = keyIds;
  }
}

/** A package has none of the hashes that the caller expects (usually those of a dependency lock file). */
export class HashMismatchError extends RwxCacheError {
  readonly code = 'ERR_HASH_MISMATCH';
  /** What was checked: a package or a path. */
  readonly subject: string;
  /** The hashes that were expected, with their schemes. */
  readonly expected: readonly string[];
  /** The hashes that it has, with their schemes. */
  readonly actual: readonly string[];

  constructor(subject: string, expected: readonly string[], actual: readonly string[]) {
    super(`${subject} has ${actual.join(', ')}, and expected is one of ${expected.join(', ')}; if the lock file is from another platform, add this platform's hashes to it`);
    this.subject = subject;
    this.expected = expected;
    this.actual = actual;
  }
}

/** The expected hashes can only be proved by the package's zip, and `offline` forbids fetching it. */
export class HashUnprovenError extends RwxCacheError {
  readonly code = 'ERR_HASH_UNPROVEN';
  /** What was checked: a package or a path. */
  readonly subject: string;
  /** The hashes that were expected, with their schemes. */
  readonly expected: readonly string[];

  constructor(subject: string, expected: readonly string[]) {
    super(`${subject} is there, but nothing here proves ${expected.length === 0 ? 'where it came from' : `that it has one of ${expected.join(', ')}`}: that takes its zip, and offline is set`);
    this.subject = subject;
    this.expected = expected;
  }
}

// ---- archives ------------------------------------------------------------------------------------------------------

/** The file is no archive of its kind, or a damaged one. */
export class InvalidArchiveError extends RwxCacheError {
  readonly code = 'ERR_ARCHIVE_INVALID';
  /** The archive. */
  readonly archive: string;
  /** The entry at fault, where it is one. */
  readonly entry: string | undefined;
  /** What is wrong with it, in words. */
  readonly problem: string;

  constructor(archive: string, problem: string, entry?: string, cause?: unknown) {
    super(`${archive} is not a good archive${entry === undefined ? '' : ` (entry ${JSON.stringify(entry)})`}: ${problem}`, because({ cause }));
    this.archive = archive;
    this.entry = entry;
    this.problem = problem;
  }
}

/** Which rule an archive broke. */
export type ArchiveRule = 'name' | 'type' | 'duplicate' | 'overlap' | 'header' | 'encrypted' | 'entries' | 'bytes' | 'ratio';

/** An archive that is refused for what it would do, not for damage. */
export class UnsafeArchiveError extends RwxCacheError {
  readonly code = 'ERR_ARCHIVE_UNSAFE';
  /** The archive. */
  readonly archive: string;
  /** The entry's name as it stands in the archive. */
  readonly entry: string;
  /** The rule that it broke. */
  readonly rule: ArchiveRule;
  /** How it broke it, in words. */
  readonly problem: string;

  constructor(archive: string, entry: string, rule: ArchiveRule, problem: string) {
    super(`${archive} is refused, entry ${JSON.stringify(entry)}: ${problem}`);
    this.archive = archive;
    this.entry = entry;
    this.rule = rule;
    this.problem = problem;
  }
}

// ---- the caches ----------------------------------------------------------------------------------------------------

/** An entry stands in the cache that is not the package it should be, and `onConflict: 'error'` was asked for. */
export class EntryConflictError extends RwxCacheError {
  readonly code = 'ERR_ENTRY_CONFLICT';
  /** The entry's path. */
  readonly path: string;
  /** The hash that the package has. */
  readonly expected: string;
  /** The hash of what stands there, or what is wrong with it. */
  readonly actual: string;

  constructor(path: string, expected: string, actual: string) {
    super(`${path} is not the package that it should be: it has ${actual}, the package has ${expected}; open the cache with onConflict: 'repair', or move it aside`);
    this.path = path;
    this.expected = expected;
    this.actual = actual;
  }
}

/** A package without its plugin executable. */
export class ExecutableMissingError extends RwxCacheError {
  readonly code = 'ERR_EXECUTABLE_MISSING';
  /** The package, or its path. */
  readonly subject: string;

  constructor(subject: string, executable: string) {
    super(`${subject} holds no executable that starts with ${executable}; the release is broken, tell its authors`);
    this.subject = subject;
  }
}

/** The directory was written by another format of this library. */
export class CacheFormatError extends RwxCacheError {
  readonly code = 'ERR_CACHE_FORMAT';
  /** The cache's directory. */
  readonly directory: string;
  /** The format that was found. */
  readonly found: string;

  constructor(directory: string, found: string, supported: string) {
    super(`${directory} has the state format ${JSON.stringify(found)}, this version reads ${supported}; use another directory, or the version that made it`);
    this.directory = directory;
    this.found = found;
  }
}

/** The cache was closed. */
export class CacheClosedError extends RwxCacheError {
  readonly code = 'ERR_CACHE_CLOSED';
  /** The cache's directory. */
  readonly directory: string;

  constructor(directory: string) {
    super(`The cache in ${directory} was closed; open it again`);
    this.directory = directory;
  }
}

/** A package would have to be installed, and the cache was opened `readOnly`. */
export class ReadOnlyError extends RwxCacheError {
  readonly code = 'ERR_READ_ONLY';
  /** What is missing. */
  readonly missing: string;

  constructor(missing: string) {
    super(`${missing} would have to be written, and the cache was opened readOnly; fill it from a process that may write`);
    this.missing = missing;
  }
}
