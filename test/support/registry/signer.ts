/** A real OpenPGP key that signs checksums as a provider's release tool does: detached, binary. */
import { createMessage, generateKey, reformatKey, sign } from 'openpgp';

/** Who signs the checksums of a release. */
export interface Signer {
  /** The public key, ASCII-armored, as the registry hands it out. */
  readonly publicKey: string;
  /** Its key id, 16 upper-case hex digits. */
  readonly keyId: string;
  /** The fingerprint of its primary key, upper-case hex. */
  readonly fingerprint: string;
  /** The detached signature over the bytes, not armored. */
  sign(data: Uint8Array): Promise<Uint8Array>;
}

/** What is special about a signer. */
export interface SignerOptions {
  /** When the key was made; now. */
  readonly created?: Date | undefined;
  /** When it expires, as its public key says; never. */
  readonly expires?: Date | undefined;
  /** When it says that it signs, before the key's expiry or after it; now. */
  readonly signsAt?: Date | undefined;
  /** Signs with a subkey. */
  readonly subkey?: boolean | undefined;
}

/** A new key; good for signing now and for ever, unless the options say otherwise. */
export async function createSigner(name = 'rwx-cache tests', options: SignerOptions = {}): Promise<Signer> {
  const { created = new Date(), expires, signsAt } = options;
  const userIDs = [{ name }];
  const subkeys = options.subkey === true ? [{ sign: true }] : [];
  const { privateKey } = await generateKey({ type: 'ecc', curve: 'ed25519Legacy', userIDs, date: created, subkeys, format: 'object' });
  // Nobody signs with an expired key by openpgp: so the key that signs never expires, and the one that is handed out does.
  const told =
    expires === undefined
      ? privateKey
      : (await reformatKey({ privateKey, userIDs, date: created, keyExpirationTime: (expires.getTime() - created.getTime()) / 1000, format: 'object' })).privateKey;
  return {
    publicKey: told.toPublic().armor(),
    keyId: privateKey.getKeyID().toHex().toUpperCase(),
    fingerprint: privateKey.getFingerprint().toUpperCase(),
    sign: async (data) => {
      const message = await createMessage({ binary: data });
      return (await sign({ message, signingKeys: privateKey, detached: true, format: 'binary', ...(signsAt === undefined ? {} : { date: signsAt }) })) as Uint8Array;
    },
  };
}
