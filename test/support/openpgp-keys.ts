/**
 * OpenPGP keys and detached binary signatures, made in the process by `openpgp`. A key is made once for each process: RSA takes
 * half a second, the others milliseconds. They are of the kinds that `gpgv` 2.2 knows, so that it can be asked as well.
 */
import * as openpgp from 'openpgp';

/** Who can sign. */
export interface TestSigner {
  /** The public key as a registry hands it out. */
  readonly armored: string;
  /** Of the primary key, upper-case hex. */
  readonly fingerprint: string;
  /** Of the key that signs, upper-case hex. */
  readonly signingFingerprint: string;
  /** Of the key that signs, 16 upper-case hex digits. */
  readonly keyId: string;
  sign(data: Uint8Array | string, options?: SignOptions): Promise<Uint8Array>;
}

export interface SignOptions {
  /** When the signature says that it was made; a minute ago. */
  readonly date?: Date | undefined;
  readonly hash?: 'sha1' | 'sha256' | 'sha512' | undefined;
  /** How long the signature says that it holds; for ever. */
  readonly seconds?: number | undefined;
}

/**
 * - `good`, `other`: Ed25519; `rsa`: RSA 3072, as providers have it.
 * - `subkey`: signs by a subkey. `expired-subkey`: the same, and only the subkey has expired, at {@link EXPIRY}.
 * - `expired`: the key expired at {@link EXPIRY}; it still signs, with any date.
 * - `revoked`, `revoked-subkey`; `weak`: RSA 1024.
 * - `flagless`: an old key, which does not say what it is for.
 * - `unbound-subkey`: signs by a subkey of another key, put beside its primary without that other key's consent.
 */
export type SignerKind = 'good' | 'other' | 'rsa' | 'subkey' | 'expired-subkey' | 'expired' | 'revoked' | 'revoked-subkey' | 'weak' | 'flagless' | 'unbound-subkey';

/** When the keys here were created. */
export const CREATED: Date = new Date('2020-01-01T00:00:00Z');
/** When the expired ones did. */
export const EXPIRY: Date = new Date('2021-01-01T00:00:00Z');
const VALID_SECONDS = (EXPIRY.getTime() - CREATED.getTime()) / 1000;

const signers = new Map<SignerKind, Promise<TestSigner>>();

/** The signer of this kind; the same one throughout the process. */
export function testSigner(kind: SignerKind = 'good'): Promise<TestSigner> {
  const there = signers.get(kind);
  if (there !== undefined) return there;
  const made = makers[kind]();
  signers.set(kind, made);
  return made;
}

const makers: Readonly<Record<SignerKind, () => Promise<TestSigner>>> = {
  good: async () => signerOf(await generate({})),
  other: async () => signerOf(await generate({})),
  rsa: async () => signerOf(await generate({ type: 'rsa', rsaBits: 3072 })),
  weak: async () => signerOf(await generate({ type: 'rsa', rsaBits: 1024, config: { minRSABits: 1024 } })),
  subkey: async () => signerOf(await generate({ subkeys: [{ sign: true }] })),
  'expired-subkey': async () => signerOf(await generate({ subkeys: [{ sign: true, keyExpirationTime: VALID_SECONDS }] })),
  expired: async () => {
    const key = await generate({});
    const userIDs = [{ name: 'Test', email: 'test@example.com' }];
    const expiring = await openpgp.reformatKey({ privateKey: key, userIDs, keyExpirationTime: VALID_SECONDS, date: CREATED, format: 'object' });
    return signerOf(key, expiring.publicKey);
  },
  revoked: async () => {
    const key = await generate({});
    const revoked = await openpgp.revokeKey({ key, format: 'object', date: EXPIRY });
    return signerOf(key, revoked.publicKey);
  },
  'revoked-subkey': async () => {
    const key = await generate({ subkeys: [{ sign: true }] });
    const [subkey] = key.subkeys;
    if (subkey === undefined || !(key.keyPacket instanceof openpgp.SecretKeyPacket)) throw new Error('no subkey');
    const revoked = await subkey.revoke(key.keyPacket, { flag: openpgp.enums.reasonForRevocation.keyCompromised }, EXPIRY);
    key.subkeys = [revoked];
    return signerOf(key);
  },
  flagless: async () => {
    const key = await generate({});
    const [user] = key.users;
    const [certification] = user?.selfCertifications ?? [];
    if (user === undefined || certification === undefined || !(key.keyPacket instanceof openpgp.SecretKeyPacket)) throw new Error('no user');
    certification.keyFlags = null;
    await signPacket(certification, key.keyPacket, { userID: user.userID, key: key.keyPacket }, CREATED, false);
    return signerOf(key);
  },
  'unbound-subkey': async () => {
    const [victim, thief] = [await generate({ subkeys: [{ sign: true }] }), await generate({})];
    const stolen = thief.toPublic();
    stolen.subkeys = victim.toPublic().subkeys;
    return signerOf(victim, stolen);
  },
};

async function generate(options: Partial<Parameters<typeof openpgp.generateKey>[0]>): Promise<openpgp.PrivateKey> {
  const { privateKey } = await openpgp.generateKey({
    type: 'ecc',
    curve: 'curve25519Legacy',
    userIDs: [{ name: 'Test', email: 'test@example.com' }],
    date: CREATED,
    subkeys: [],
    ...options,
    format: 'object',
  });
  return privateKey;
}

function signerOf(key: openpgp.PrivateKey, shown: Pick<openpgp.Key, 'armor' | 'getFingerprint'> = key.toPublic()): TestSigner {
  const signing = key.subkeys[0] ?? key;
  return {
    armored: shown.armor(),
    fingerprint: shown.getFingerprint().toUpperCase(),
    signingFingerprint: signing.getFingerprint().toUpperCase(),
    keyId: signing.getKeyID().toHex().toUpperCase(),
    sign: (data, options = {}) => sign(signing.keyPacket, Buffer.from(data), options),
  };
}

/** Packet by packet: `openpgp.sign` would refuse most of what tests want. */
async function sign(key: object, data: Uint8Array, options: SignOptions): Promise<Uint8Array> {
  if (!(key instanceof openpgp.SecretKeyPacket || key instanceof openpgp.SecretSubkeyPacket)) throw new Error('not a secret key');
  const packet = new openpgp.SignaturePacket();
  packet.signatureType = openpgp.enums.signature.binary;
  packet.publicKeyAlgorithm = key.algorithm;
  packet.hashAlgorithm = openpgp.enums.hash[options.hash ?? 'sha512'];
  if (options.seconds !== undefined) {
    packet.signatureExpirationTime = options.seconds;
    packet.signatureNeverExpires = false;
  }
  const [document] = (await openpgp.createMessage({ binary: data })).packets;
  await signPacket(packet, key, document, options.date ?? new Date(Date.now() - 60_000), true);
  const packets = new openpgp.PacketList<openpgp.SignaturePacket>();
  packets.push(packet);
  return new openpgp.Signature(packets).write() as Uint8Array;
}

async function signPacket(packet: openpgp.SignaturePacket, key: openpgp.AnySecretKeyPacket, subject: unknown, date: Date, detached: boolean): Promise<void> {
  // The types lack the last argument, and take bytes only.
  const signWith = packet.sign.bind(packet) as (...args: unknown[]) => Promise<void>;
  await signWith(key, subject, date, detached, { ...openpgp.config, nonDeterministicSignaturesViaNotation: false });
}
