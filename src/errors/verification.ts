/** What does not have the checksum, the hash or the signature that it must have. */
import { because, RwxCacheError } from './base.ts';

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
  /** What is wrong with it, in words. */
  readonly problem: string;
  /** The key ids that the signature names, in upper-case hex. */
  readonly keyIds: readonly string[];

  constructor(reason: SignatureProblem, problem: string, keyIds: readonly string[] = [], cause?: unknown) {
    super(`The checksums are not signed as they must be (${reason}): ${problem}`, because({ cause }));
    this.reason = reason;
    this.problem = problem;
    this.keyIds = keyIds;
  }
}

/** A package has none of the hashes that the caller expects (usually those of a dependency lock file), or that a mirror says it has. */
export class HashMismatchError extends RwxCacheError {
  readonly code = 'ERR_HASH_MISMATCH';
  /** What was checked: a package or a path. */
  readonly subject: string;
  /** The hashes that were expected, with their schemes. */
  readonly expected: readonly string[];
  /** The hashes that it has, with their schemes. */
  readonly actual: readonly string[];

  constructor(subject: string, expected: readonly string[], actual: readonly string[], advice = "if the lock file is from another platform, add this platform's hashes to it") {
    super(`${subject} has ${actual.join(', ')}, and expected is one of ${expected.join(', ')}; ${advice}`);
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
