/**
 * The detached OpenPGP signature of a SHA256SUMS document, judged as OpenTofu judges it (`package_authentication.go`
 * over ProtonMail's go-crypto), with one named exception: what is cryptographically weak is refused. `openpgp` is loaded on the first
 * call. Pure but for that; expiry is judged here and not by `openpgp`, which knows no "signed after its key expired, accepted all the same".
 */
import type { Key, SignaturePacket } from 'openpgp';
import { SignatureInvalidError, type SignatureProblem } from '../errors.ts';

/**
 * What becomes of a signature whose key or whose own term has expired:
 * - `'warn'`: accepted with `expired: true`, as OpenTofu does, whenever it was made.
 * - `'accept-signed-before'`: accepted with `expired: true` when it was made before its key expired, by the time that the
 *   signature itself states (whoever has the key can state any).
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
  /** The time that expiry is judged at; now. A signature from the future is judged at its own time, since the clock that is wrong may be ours. */
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
  /** The signature was made before its key expired, by the time that it states, and has not expired itself: what `'accept-signed-before'` asks for. */
  readonly signedBeforeExpiry: boolean;
}

type OpenPgp = typeof import('openpgp');

/** What was found for one signature and the key that it names. */
interface Judgement extends VerifiedSignature {
  /** Why the policy does not let it pass, although the signature is good. */
  readonly refusal: SignatureInvalidError | undefined;
}

interface Context {
  readonly openpgp: OpenPgp;
  readonly sums: Uint8Array;
  readonly now: Date;
  readonly policy: ExpiredKeyPolicy;
}

/** `openpgp` takes null for "at no time in particular" throughout and checks everything but times; its types say so for one function only. */
const AT_NO_TIME = null as unknown as Date;

/**
 * Verifies that one of `keys` signed `sums`. The keys are tried in order. One that did not issue the signature is passed
 * over; one whose signature has expired is remembered while a better one is looked for; anything else that is wrong ends
 * the search at once, as in the reference. Subkeys count, when they are bound to their primary key in both directions.
 * Of several concatenated signatures the first that a key issued decides for that key.
 *
 * Revoked keys, SHA-1 and MD5, DSA, and RSA below 2047 bits are refused under every policy.
 *
 * @throws SignatureInvalidError - its `reason` says which of these it is
 */
export async function verifyChecksumsSignature(check: SignatureCheck): Promise<VerifiedSignature> {
  if (check.signature.length === 0) throw new SignatureInvalidError('missing', 'the signature is empty');
  if (check.keys.length === 0) throw new SignatureInvalidError('no-keys', 'the registry names no key that could have signed them');
  const openpgp = await import('openpgp');
  const context: Context = { openpgp, sums: check.sums, now: check.now ?? new Date(), policy: check.expiredKeys ?? 'warn' };
  const signatures = await readSignatures(openpgp, check.signature);
  let expired: Judgement | undefined;
  for (const armored of check.keys) {
    const judgement = await judgeByKeys(await readKeys(openpgp, armored), signatures, context);
    if (judgement === undefined) continue;
    if (!judgement.expired) return withoutRefusal(judgement);
    // The first that may pass, else the first that may not.
    if (expired === undefined || (expired.refusal !== undefined && judgement.refusal === undefined)) expired = judgement;
  }
  if (expired?.refusal !== undefined) throw expired.refusal;
  if (expired !== undefined) return withoutRefusal(expired);
  const keyIds = signatures.map((signature) => hex(signature.issuerKeyID));
  throw new SignatureInvalidError('unknown-key', `none of the ${check.keys.length} given keys issued the signature of ${keyIds.join(', ')}`, keyIds);
}

async function readSignatures(openpgp: OpenPgp, binarySignature: Uint8Array): Promise<SignaturePacket[]> {
  let packets: unknown[];
  try {
    packets = [...(await openpgp.readSignature({ binarySignature })).packets];
  } catch (error) {
    throw new SignatureInvalidError('malformed', `the signature does not parse: ${(error as Error).message}`, [], error);
  }
  const signatures = packets.filter((packet): packet is SignaturePacket => packet instanceof openpgp.SignaturePacket);
  if (signatures.length === 0) throw new SignatureInvalidError('malformed', 'no signature of a known kind is in it');
  return signatures;
}

async function readKeys(openpgp: OpenPgp, armoredKeys: string): Promise<Key[]> {
  try {
    return await openpgp.readKeys({ armoredKeys });
  } catch (error) {
    throw new SignatureInvalidError('malformed', `a key of the registry does not parse: ${(error as Error).message}`, [], error);
  }
}

/** `undefined` when none of the keys issued any of the signatures. */
async function judgeByKeys(keys: readonly Key[], signatures: readonly SignaturePacket[], context: Context): Promise<Judgement | undefined> {
  for (const signature of signatures) {
    const issuers = keys.filter((key) => key.getKeys(signature.issuerKeyID).length > 0);
    let failure: unknown;
    // More than one only where two keys share an id, which can be made on purpose.
    for (const issuer of issuers) {
      try {
        return await judge(signature, issuer, context);
      } catch (error) {
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure as Error;
  }
  return undefined;
}

async function judge(signature: SignaturePacket, key: Key, context: Context): Promise<Judgement> {
  const { openpgp } = context;
  const keyId = hex(signature.issuerKeyID);
  const refuse = (reason: SignatureProblem, problem: string, cause?: unknown): SignatureInvalidError => new SignatureInvalidError(reason, problem, [keyId], cause);

  const { signatureType, hashAlgorithm } = signature;
  if (signatureType !== openpgp.enums.signature.binary && signatureType !== openpgp.enums.signature.text) throw refuse('malformed', 'it is no signature of a document');
  if (hashAlgorithm === null || openpgp.config.rejectMessageHashAlgorithms.has(hashAlgorithm)) throw refuse('weak', 'it rests on a broken hash (MD5, RIPEMD or SHA-1)');

  const signer = await usableSigner(signature, key, context, refuse);
  const [document] = (await openpgp.createMessage({ binary: context.sums })).packets;
  if (document === undefined) throw refuse('malformed', 'there is nothing to verify');
  try {
    await signature.verify(signer.keyPacket, signatureType, document, AT_NO_TIME, true);
  } catch (error) {
    throw refuse('bad-signature', `it does not fit these bytes: ${(error as Error).message}`, error);
  }
  const identity = { fingerprint: key.getFingerprint().toUpperCase(), signingFingerprint: signer.getFingerprint().toUpperCase(), keyId };
  return { ...identity, ...(await judgeTimes(signature, key, signer, context, refuse)) };
}

type Signer = Awaited<ReturnType<Key['getSigningKey']>>;
type Refuse = (reason: SignatureProblem, problem: string, cause?: unknown) => SignatureInvalidError;

/** The key or subkey that the signature names, if it is fit for signing at any time at all: bound, meant for it, not revoked, not weak. */
async function usableSigner(signature: SignaturePacket, key: Key, context: Context, refuse: Refuse): Promise<Signer> {
  const { openpgp } = context;
  // go-crypto, and so the reference, takes old keys that do not say what they are for.
  const config = { ...openpgp.config, allowMissingKeyFlags: true };
  try {
    return await key.getSigningKey(signature.issuerKeyID, AT_NO_TIME, undefined, config);
  } catch (error) {
    if (await isRevoked(signature, key)) throw refuse('revoked-key', `key ${key.getFingerprint().toUpperCase()} was revoked`, error);
    try {
      await key.getSigningKey(signature.issuerKeyID, AT_NO_TIME, undefined, { ...config, minRSABits: 0, rejectPublicKeyAlgorithms: new Set(), rejectCurves: new Set() });
    } catch {
      throw refuse('unknown-key', `key ${hex(signature.issuerKeyID)} may not sign: ${(error as Error).message}`, error);
    }
    throw refuse('weak', `key ${key.getFingerprint().toUpperCase()} is too weak: ${(error as Error).message}`, error);
  }
}

async function isRevoked(signature: SignaturePacket, key: Key): Promise<boolean> {
  if (await key.isRevoked(undefined, undefined, AT_NO_TIME)) return true;
  const subkeys = key.getSubkeys(signature.issuerKeyID).flatMap((subkey) => subkey.bindingSignatures.map((binding) => subkey.isRevoked(binding, key.keyPacket, AT_NO_TIME)));
  return (await Promise.all(subkeys)).includes(true);
}

async function judgeTimes(
  signature: SignaturePacket,
  key: Key,
  signer: Signer,
  context: Context,
  refuse: Refuse,
): Promise<Pick<Judgement, 'expired' | 'signedBeforeExpiry' | 'refusal'>> {
  const created = signature.created?.getTime() ?? 0;
  const at = Math.max(context.now.getTime(), created);
  // A primary key that has expired takes its subkeys along.
  const expiries = [await key.getExpirationTime(), ...(signer instanceof context.openpgp.Subkey ? [await signer.getExpirationTime(AT_NO_TIME)] : [])];
  const keyExpiry = Math.min(...expiries.map((time) => (time === null ? -Infinity : Number(time))));
  const signatureExpired = Number(signature.getExpirationTime()) <= at;
  const keyExpired = keyExpiry <= at;
  const signedBeforeExpiry = !signatureExpired && created < keyExpiry;
  if (!signatureExpired && !keyExpired) return { expired: false, signedBeforeExpiry, refusal: undefined };
  const accepted = context.policy === 'warn' || (context.policy === 'accept-signed-before' && signedBeforeExpiry);
  if (accepted) return { expired: true, signedBeforeExpiry, refusal: undefined };
  const refusal = keyExpired
    ? refuse('expired-key', `key ${key.getFingerprint().toUpperCase()} expired ${dateText(keyExpiry)}, and the signature is of ${dateText(created)}; set expiredKeys to accept it`)
    : refuse('expired-signature', `it expired ${dateText(Number(signature.getExpirationTime()))}; set expiredKeys to accept it`);
  return { expired: true, signedBeforeExpiry, refusal };
}

function withoutRefusal({ fingerprint, signingFingerprint, keyId, expired, signedBeforeExpiry }: Judgement): VerifiedSignature {
  return { fingerprint, signingFingerprint, keyId, expired, signedBeforeExpiry };
}

function hex(keyId: { toHex(): string }): string {
  return keyId.toHex().toUpperCase();
}

function dateText(time: number): string {
  return Number.isFinite(time) ? new Date(time).toISOString() : 'at an unknown time';
}
