import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startSignatureThread } from '../../src/verify/signature-thread.ts';
import { createSigner } from '../support/registry/index.ts';

describe('signatures on a thread of their own', () => {
  it('are judged as on this one, with the same errors', async (t) => {
    const thread = startSignatureThread();
    t.after(() => thread.close());
    const signer = await createSigner();
    const sums = Buffer.from('sums');
    const signature = await signer.sign(sums);
    const verified = await thread.verify({ sums, signature, keys: [signer.publicKey] });
    assert.equal(verified.fingerprint, signer.fingerprint);
    assert.equal(verified.expired, false);
    await assert.rejects(thread.verify({ sums: Buffer.from('other'), signature, keys: [signer.publicKey] }), {
      code: 'ERR_SIGNATURE_INVALID',
      reason: 'bad-signature',
      keyIds: [verified.keyId],
    });
    await assert.rejects(thread.verify({ sums, signature, keys: [] }), { code: 'ERR_SIGNATURE_INVALID', reason: 'no-keys' });
  });

  it('reject when the thread was closed', async () => {
    const thread = startSignatureThread();
    const waiting = thread.verify({ sums: Buffer.from('x'), signature: Buffer.from('y'), keys: ['z'] });
    await thread.close();
    await assert.rejects(waiting, /ended/u);
    assert.equal(thread.running, false);
    await assert.rejects(thread.verify({ sums: Buffer.from('x'), signature: Buffer.from('y'), keys: ['z'] }), /ended/u);
  });
});
