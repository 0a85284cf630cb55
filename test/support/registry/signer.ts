/** A real OpenPGP key that signs checksums as a provider's release tool does: detached, binary. */
import { createMessage, generateKey, sign } from 'openpgp';

/** Who signs the checksums of a release. */
export interface Signer {
  /** The public key, ASCII-armored, as the registry hands it out. */
  readonly publicKey: string;
  /** Its key id, 16 upper-case hex digits. */
  readonly keyId: string;
  /** The detached signature over the bytes, not armored. */
  sign(data: Uint8Array): Promise<Uint8Array>;
}

/** A new key, good for signing now and for ever. */
export async function createSigner(name = 'rwx-cache tests'): Promise<Signer> {
  const { privateKey } = await generateKey({ type: 'ecc', curve: 'ed25519Legacy', userIDs: [{ name }], format: 'object' });
  return {
    publicKey: privateKey.toPublic().armor(),
    keyId: privateKey.getKeyID().toHex().toUpperCase(),
    sign: async (data) => {
      const message = await createMessage({ binary: data });
      return (await sign({ message, signingKeys: privateKey, detached: true, format: 'binary' })) as Uint8Array;
    },
  };
}
