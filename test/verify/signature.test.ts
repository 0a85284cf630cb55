import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SignatureInvalidError, type SignatureProblem } from '../../src/errors.ts';
import { verifyChecksumsSignature, type ExpiredKeyPolicy, type VerifiedSignature } from '../../src/verify/index.ts';
import { EXPIRY, testSigner, type SignerKind, type SignOptions } from '../support/openpgp-keys.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

const SUMS = Buffer.from(`${'a'.repeat(64)}  terraform-provider-null_3.2.4_linux_amd64.zip\n`);
const BEFORE = new Date(EXPIRY.getTime() - 86_400_000);
const AFTER = new Date(EXPIRY.getTime() + 86_400_000);

async function verify(kind: SignerKind, options: SignOptions & { expiredKeys?: ExpiredKeyPolicy; now?: Date } = {}): Promise<VerifiedSignature> {
  const signer = await testSigner(kind);
  return verifyChecksumsSignature({ sums: SUMS, signature: await signer.sign(SUMS, options), keys: [signer.armored], expiredKeys: options.expiredKeys, now: options.now });
}

async function refused(work: Promise<unknown>, reason: SignatureProblem): Promise<SignatureInvalidError> {
  const error: unknown = await work.then(
    () => assert.fail(`accepted, and ${reason} was expected`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof SignatureInvalidError, String(error));
  assert.equal(error.reason, reason, error.message);
  return error;
}

describe('a good signature', () => {
  it('names the signer', async () => {
    for (const kind of ['good', 'rsa', 'subkey', 'flagless'] as const) {
      const { fingerprint, signingFingerprint, keyId } = await testSigner(kind);
      assert.deepEqual(await verify(kind), { fingerprint, signingFingerprint, keyId, expired: false, signedBeforeExpiry: true });
    }
  });

  it('by a subkey names the primary key, too', async () => {
    const { fingerprint, signingFingerprint } = await verify('subkey');
    assert.notEqual(fingerprint, signingFingerprint);
    assert.match(fingerprint, /^[0-9A-F]{40}$/u);
  });

  it('counts for any of several keys, in one armor or in several', async () => {
    const [good, other, rsa] = [await testSigner('good'), await testSigner('other'), await testSigner('rsa')];
    const signature = await good.sign(SUMS);
    const result = await verifyChecksumsSignature({ sums: SUMS, signature, keys: [other.armored, rsa.armored, good.armored] });
    assert.equal(result.fingerprint, good.fingerprint);
  });

  it('counts beside others that were concatenated with it', async () => {
    const [good, other] = [await testSigner('good'), await testSigner('other')];
    const signature = Buffer.concat([await other.sign(SUMS), await good.sign(SUMS)]);
    assert.equal((await verifyChecksumsSignature({ sums: SUMS, signature, keys: [good.armored] })).fingerprint, good.fingerprint);
  });

  it('from the future is judged at its own time: our clock may be the wrong one', async () => {
    assert.equal((await verify('good', { now: new Date('2020-06-01T00:00:00Z') })).expired, false);
  });
});

describe('a bad signature', () => {
  it('over other bytes is refused', async () => {
    const good = await testSigner('good');
    const signature = await good.sign('other bytes');
    const error = await refused(verifyChecksumsSignature({ sums: SUMS, signature, keys: [good.armored] }), 'bad-signature');
    assert.deepEqual(error.keyIds, [good.keyId]);
  });

  it('ends the search at once, even where a later key would do', async () => {
    const [good, other] = [await testSigner('good'), await testSigner('other')];
    const signature = Buffer.concat([await good.sign('other bytes'), await other.sign(SUMS)]);
    await refused(verifyChecksumsSignature({ sums: SUMS, signature, keys: [good.armored, other.armored] }), 'bad-signature');
  });

  it('by a key that was not given is refused, and its key id named', async () => {
    const [good, other] = [await testSigner('good'), await testSigner('other')];
    const error = await refused(verifyChecksumsSignature({ sums: SUMS, signature: await other.sign(SUMS), keys: [good.armored] }), 'unknown-key');
    assert.deepEqual(error.keyIds, [other.keyId]);
  });

  it('is missing, or there are no keys', async () => {
    const good = await testSigner('good');
    await refused(verifyChecksumsSignature({ sums: SUMS, signature: new Uint8Array(), keys: [good.armored] }), 'missing');
    await refused(verifyChecksumsSignature({ sums: SUMS, signature: await good.sign(SUMS), keys: [] }), 'no-keys');
  });

  it('does not parse: cut at every byte, HTML, or armored', async () => {
    const good = await testSigner('good');
    const signature = await good.sign(SUMS);
    for (let length = 1; length < signature.length; length += 1) {
      await refused(verifyChecksumsSignature({ sums: SUMS, signature: signature.subarray(0, length), keys: [good.armored] }), 'malformed');
    }
    await refused(verifyChecksumsSignature({ sums: SUMS, signature: Buffer.from('<html>not found</html>'), keys: [good.armored] }), 'malformed');
    await refused(verifyChecksumsSignature({ sums: SUMS, signature: Buffer.from('-----BEGIN PGP SIGNATURE-----\n'), keys: [good.armored] }), 'malformed');
  });

  it('cannot be judged by a key that does not parse, even where a later key would do', async () => {
    const good = await testSigner('good');
    for (const broken of ['', 'no armor', '-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n']) {
      await refused(verifyChecksumsSignature({ sums: SUMS, signature: await good.sign(SUMS), keys: [broken, good.armored] }), 'malformed');
    }
  });

  it('with any one byte changed is not accepted', async () => {
    const good = await testSigner('good');
    const signature = await good.sign(SUMS);
    let accepted = 0;
    for (let at = 0; at < signature.length; at += 1) {
      const changed = Buffer.from(signature);
      changed.writeUInt8((changed.readUInt8(at) ^ 0x10) & 0xff, at);
      await verifyChecksumsSignature({ sums: SUMS, signature: changed, keys: [good.armored] }).then(
        () => (accepted += 1),
        (error: unknown) => {
          assert.ok(error instanceof SignatureInvalidError, `byte ${at}: ${String(error)}`);
        },
      );
    }
    // Parts that are not signed (the unhashed issuer) do not matter for who signed; this signature has none that go unnoticed.
    assert.equal(accepted, 0);
  });

  it('rests on SHA-1', async () => {
    await refused(verify('rsa', { hash: 'sha1' }), 'weak');
  });

  it('is by a weak key', async () => {
    await refused(verify('weak'), 'weak');
  });

  it('is by a revoked key or subkey, whenever it was made', async () => {
    for (const kind of ['revoked', 'revoked-subkey'] as const) {
      for (const date of [BEFORE, AFTER]) await refused(verify(kind, { date }), 'revoked-key');
    }
  });

  it('is by a subkey that never agreed to its primary key', async () => {
    await refused(verify('unbound-subkey'), 'unknown-key');
  });
});

describe('an expired key', () => {
  it("passes under 'warn', whenever it signed, and says so", async () => {
    for (const date of [BEFORE, AFTER]) {
      const { expired, signedBeforeExpiry } = await verify('expired', { date });
      assert.deepEqual({ expired, signedBeforeExpiry }, { expired: true, signedBeforeExpiry: date === BEFORE });
    }
  });

  it('is not yet expired before its expiry', async () => {
    assert.equal((await verify('expired', { date: BEFORE, now: BEFORE, expiredKeys: 'reject' })).expired, false);
  });

  it("passes under 'accept-signed-before' by when it signed", async () => {
    assert.equal((await verify('expired', { date: BEFORE, expiredKeys: 'accept-signed-before' })).expired, true);
    await refused(verify('expired', { date: AFTER, expiredKeys: 'accept-signed-before' }), 'expired-key');
  });

  it("is refused under 'reject'", async () => {
    for (const date of [BEFORE, AFTER]) await refused(verify('expired', { date, expiredKeys: 'reject' }), 'expired-key');
  });

  it('may be a subkey alone', async () => {
    assert.equal((await verify('expired-subkey', { date: BEFORE })).expired, true);
    assert.equal((await verify('expired-subkey', { date: BEFORE, expiredKeys: 'accept-signed-before' })).expired, true);
    await refused(verify('expired-subkey', { date: AFTER, expiredKeys: 'accept-signed-before' }), 'expired-key');
  });

  it('does not hide a forgery', async () => {
    const expired = await testSigner('expired');
    await refused(verifyChecksumsSignature({ sums: SUMS, signature: await expired.sign('other bytes'), keys: [expired.armored] }), 'bad-signature');
  });

  it('yields to a good key that comes later', async () => {
    const [expired, good] = [await testSigner('expired'), await testSigner('good')];
    const signature = Buffer.concat([await expired.sign(SUMS), await good.sign(SUMS)]);
    for (const expiredKeys of ['warn', 'reject'] as const) {
      const result = await verifyChecksumsSignature({ sums: SUMS, signature, keys: [expired.armored, good.armored], expiredKeys });
      assert.deepEqual([result.fingerprint, result.expired], [good.fingerprint, false]);
    }
  });
});

describe('an expired signature', () => {
  it("passes under 'warn' only", async () => {
    const options = { date: BEFORE, seconds: 60 };
    assert.equal((await verify('good', options)).expired, true);
    await refused(verify('good', { ...options, expiredKeys: 'accept-signed-before' }), 'expired-signature');
    await refused(verify('good', { ...options, expiredKeys: 'reject' }), 'expired-signature');
  });
});

describe('beside gpgv', () => {
  const gpgv = spawnSync('gpgv', ['--version']).status === 0;

  it('the verdicts agree, but for what is weak', { skip: gpgv ? false : 'gpgv is not installed' }, async (t) => {
    const directory = await withTemporaryDirectory(t);
    const cases: readonly [SignerKind, SignOptions, status: string, ours: string][] = [
      ['good', {}, 'GOODSIG', 'good'],
      ['rsa', {}, 'GOODSIG', 'good'],
      ['subkey', {}, 'GOODSIG', 'good'],
      ['expired', { date: BEFORE }, 'EXPKEYSIG', 'expired'],
      ['expired', { date: AFTER }, 'EXPKEYSIG', 'expired'],
      ['good', { date: BEFORE, seconds: 60 }, 'EXPSIG', 'expired'],
      ['revoked', {}, 'REVKEYSIG', 'revoked-key'],
      ['weak', {}, 'GOODSIG', 'weak'],
    ];
    for (const [index, [kind, options, status, ours]] of cases.entries()) {
      const signer = await testSigner(kind);
      const files = ['key', 'sig', 'sums'].map((name) => join(directory, `${index}.${name}`)) as [string, string, string];
      const { readKey } = await import('openpgp');
      await writeFile(files[0], (await readKey({ armoredKey: signer.armored })).write());
      await writeFile(files[1], await signer.sign(SUMS, options));
      await writeFile(files[2], SUMS);
      // Its exit code says little: 0 for a revoked key, 1 for an expired signature.
      const output = spawnSync('gpgv', ['--status-fd', '1', '--homedir', directory, '--keyring', files[0], files[1], files[2]], { encoding: 'utf8' }).stdout;
      assert.match(output, new RegExp(`\\[GNUPG:\\] ${status} `, 'u'), `${kind}: ${output}`);
      const verdict = await verify(kind, options).then(
        ({ expired }) => (expired ? 'expired' : 'good'),
        (error: unknown) => (error instanceof SignatureInvalidError ? error.reason : String(error)),
      );
      assert.equal(verdict, ours, kind);
    }
  });
});
