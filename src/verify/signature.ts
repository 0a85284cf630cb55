/**
 * What becomes of a signature whose key or whose own term has expired:
 * - `'warn'`: accepted with `expired: true`, as OpenTofu does, whenever it was made.
 * - `'accept-signed-before'`: accepted with `expired: true` when it was made before its key expired.
 * - `'reject'`: refused.
 */
export type ExpiredKeyPolicy = 'warn' | 'accept-signed-before' | 'reject';

/** What {@link verifyChecksumsSignature} is given. */
export interface SignatureCheck {
  /** The signed bytes, exactly as they came. */
  readonly sums: Uint8Array;
  /** The detached signature: binary OpenPGP packets, one or several. */
  readonly signature: Uint8Array;
  /** Public keys of which one has to have signed, ASCII-armored; each may hold several. */
  readonly keys: readonly string[];
  /** What becomes of expired keys and signatures; `'warn'`. */
  readonly expiredKeys?: ExpiredKeyPolicy | undefined;
  /** The time that expiry is judged at; now. */
  readonly now?: Date | undefined;
}

/** Who signed. */
export interface VerifiedSignature {
  /** Fingerprint of the signer's primary key, upper-case hex: what to compare and to record. */
  readonly fingerprint: string;
  /** Fingerprint of the key that made the signature: the primary key's, or that of one of its subkeys. */
  readonly signingFingerprint: string;
  /** Key id of the key that made the signature, 16 upper-case hex digits. */
  readonly keyId: string;
  /** The key or the signature had expired at `now`, and the policy let it pass. */
  readonly expired: boolean;
  /** The signature was made before its key expired (true as well where neither has expired). */
  readonly signedBeforeExpiry: boolean;
}

export async function verifyChecksumsSignature(check: SignatureCheck): Promise<VerifiedSignature> {
  await Promise.resolve();
  throw new Error(`Not written yet: ${check.keys.length}`);
}
