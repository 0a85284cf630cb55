import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SignatureProblem } from '../../src/errors.ts';
import type { ExpiredKeyPolicy } from '../../src/verify/index.ts';
import { createSigner, type ProviderRelease } from '../support/registry/index.ts';
import { buildRelease } from '../support/registry/releases.ts';
import { failsCleanly, recovers, serveInstead, withScene, type ExpectedFailure } from './failure.ts';
import { THING } from './support.ts';

const RELEASE = { address: 'acme/thing', version: '1.2.3' };
const signer = await createSigner();
const stranger = await createSigner('a stranger');

const refused = (reason: SignatureProblem, says: RegExp, keyIds?: readonly string[]): ExpectedFailure => ({
  code: 'ERR_SIGNATURE_INVALID',
  fields: { reason, ...(keyIds === undefined ? {} : { keyIds }) },
  says,
});

describe('checksums that are not signed as they must be', { concurrency: 8 }, () => {
  const cases: readonly (readonly [string, Partial<ProviderRelease>, ExpectedFailure])[] = [
    ['by a key that the registry does not name', { signingKeys: [stranger] }, refused('unknown-key', new RegExp(signer.keyId, 'u'), [signer.keyId])],
    ['over other bytes', { signer: { ...signer, sign: () => signer.sign(Buffer.from('something else')) } }, refused('bad-signature', /signed/u)],
    ['by a stranger who takes the name of the key', { signer: { ...stranger, publicKey: signer.publicKey, keyId: signer.keyId } }, refused('unknown-key', new RegExp(stranger.keyId, 'u'))],
    ['by a signature that is cut short', { signer: { ...signer, sign: async (sums) => (await signer.sign(sums)).slice(0, 40) } }, refused('malformed', /signed/u)],
    ['by no signature at all', { signer: { ...signer, sign: () => Promise.resolve(new Uint8Array()) } }, refused('missing', /the signature is empty/u)],
    ['by HTML', { signer: { ...signer, sign: () => Promise.resolve(Buffer.from('<html>Not found</html>')) } }, refused('malformed', /signed/u)],
    ['with a key that is none', { signingKeys: [{ keyId: signer.keyId, publicKey: 'no key' }] }, refused('malformed', /a key of the registry does not parse/u)],
    ['by nobody: the registry names no key', { signer: false }, refused('no-keys', /registry\.example\.com names no signing key/u)],
  ];
  for (const [name, release, expected] of cases) {
    for (const signature of ['required', 'when-offered'] as const) {
      const offered = release.signer !== false || signature === 'required';
      it(`${name}: ${offered ? 'refused' : 'installed'} with '${signature}'`, async (t) => {
        const scene = await withScene(t, { cache: { verification: { signature } } });
        serveInstead(scene.registry, await buildRelease({ ...RELEASE, signer, ...release }, () => Promise.resolve(signer)));
        if (offered) {
          await failsCleanly(scene, expected);
          assert.equal((await recovers(scene)).provenance.signature.status, 'verified');
        } else {
          const found = await scene.cache.ensure(THING);
          assert.deepEqual([found.outcome, found.provenance.signature], ['installed', { status: 'not-offered' }]);
        }
      });
    }

    it(`${name}: not looked at with 'off'`, async (t) => {
      const { cache, registry } = await withScene(t, { cache: { verification: { signature: 'off' } } });
      serveInstead(registry, await buildRelease({ ...RELEASE, signer, ...release }, () => Promise.resolve(signer)));
      const { outcome, provenance } = await cache.ensure(THING);
      assert.deepEqual([outcome, provenance.checksum, provenance.signature], ['installed', 'registry', { status: 'not-checked' }]);
      assert.equal(registry.count('sums') + registry.count('signature'), 0);
    });
  }

  it('the signature is not there: 404', async (t) => {
    const scene = await withScene(t, { registry: { faults: [{ on: 'signature', status: 404 }] } });
    await failsCleanly(scene, refused('missing', /SHA256SUMS\.sig\?… holds no signature/u));
    await recovers(scene);
  });

  it('the registry says where none is', async (t) => {
    const scene = await withScene(t, { registry: { faults: [{ on: 'metadata', json: (document) => ({ ...document, shasums_signature_url: '' }) }] } });
    await failsCleanly(scene, refused('missing', /holds no signature/u));
    await recovers(scene);
  });

  it('the signature is out of reach: 500', async (t) => {
    const scene = await withScene(t, { registry: { faults: [{ on: 'signature', status: 500 }] } });
    await failsCleanly(scene, { code: 'ERR_HTTP_STATUS', fields: { status: 500, attempts: 4 }, says: /SHA256SUMS\.sig\?… answered 500/u });
    await recovers(scene);
  });
});

describe('checksums signed by a key that has expired', { concurrency: 8 }, () => {
  const created = new Date('2020-01-01T00:00:00Z');
  const expires = new Date('2021-01-01T00:00:00Z');
  const verdicts: readonly (readonly [string, Date, Readonly<Record<ExpiredKeyPolicy, 'good' | 'refused'>>])[] = [
    ['before it did', new Date('2020-06-01T00:00:00Z'), { warn: 'good', 'accept-signed-before': 'good', reject: 'refused' }],
    ['after it had', new Date('2021-06-01T00:00:00Z'), { warn: 'good', 'accept-signed-before': 'refused', reject: 'refused' }],
  ];
  for (const [when, signsAt, byPolicy] of verdicts) {
    for (const [expiredKeys, verdict] of Object.entries(byPolicy) as [ExpiredKeyPolicy, 'good' | 'refused'][]) {
      it(`${when}: ${verdict} with '${expiredKeys}'`, async (t) => {
        const late = await createSigner('a late one', { created, expires, signsAt });
        const scene = await withScene(t, { cache: { verification: { expiredKeys } } });
        serveInstead(scene.registry, await buildRelease({ ...RELEASE, signer: late }, () => Promise.resolve(late)));
        if (verdict === 'refused') {
          await failsCleanly(scene, refused('expired-key', new RegExp(late.keyId, 'u'), [late.keyId]));
          await recovers(scene);
        } else {
          const { outcome, provenance } = await scene.cache.ensure(THING);
          assert.equal(outcome, 'installed');
          assert.deepEqual(provenance.signature, {
            status: 'verified',
            fingerprint: late.fingerprint,
            keyId: late.keyId,
            expired: true,
            signedBeforeExpiry: signsAt < expires,
          });
        }
      });
    }
  }
});

describe('checksums that are signed in another good way', { concurrency: 8 }, () => {
  it('by a subkey: installed, and the primary key is the signer', async (t) => {
    const team = await createSigner('a team', { subkey: true });
    const { cache } = await withScene(t, { registry: { signer: team } });
    const { provenance } = await cache.ensure(THING);
    assert.ok(provenance.signature.status === 'verified');
    assert.equal(provenance.signature.fingerprint, team.fingerprint);
    assert.notEqual(provenance.signature.keyId, team.keyId);
    assert.equal(provenance.checksum, 'sums');
  });

  it('by the second of the keys that the registry names: installed', async (t) => {
    const { cache } = await withScene(t, { registry: { providers: [{ ...RELEASE, signer, signingKeys: [stranger, signer] }] } });
    const { provenance } = await cache.ensure(THING);
    assert.ok(provenance.signature.status === 'verified');
    assert.equal(provenance.signature.fingerprint, signer.fingerprint);
  });

  it('by several, of whom the registry names one: installed', async (t) => {
    const both = { ...signer, sign: async (sums: Uint8Array) => Buffer.concat([await stranger.sign(sums), await signer.sign(sums)]) };
    const { cache } = await withScene(t, { registry: { providers: [{ ...RELEASE, signer: both }] } });
    assert.equal((await cache.ensure(THING)).outcome, 'installed');
  });
});
