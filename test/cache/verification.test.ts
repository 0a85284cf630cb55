/** What was verified, and who may be content with it. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { hashDirectory } from '../../src/verify/index.ts';
import { DEFAULT_REGISTRY_HOST } from '../../src/layout/index.ts';
import { satisfiesRules, verificationRules } from '../../src/cache/verification-policy.ts';
import type { Provenance } from '../../src/index.ts';
import { until } from '../lock/fixtures/until.ts';
import { HOST, leftovers, openCache, THING, withCache } from './support.ts';

describe('the signature policy', () => {
  it('makes an entry that was installed with signature off no hit for required', async (t) => {
    const { cache, directory, registry } = await withCache(t, { cache: { verification: { signature: 'off' } } });
    const lax = await cache.ensure(THING);
    assert.deepEqual(lax.provenance.signature, { status: 'not-checked' });
    assert.equal(registry.count('sums'), 0);
    const strict = await openCache(t, registry, { directory });
    assert.equal(await strict.lookup(THING), undefined);
    const proved = await strict.ensure(THING);
    assert.equal(proved.outcome, 'adopted');
    assert.equal(proved.provenance.signature.status, 'verified');
    assert.equal(proved.path, lax.path);
    assert.equal((await strict.ensure(THING)).outcome, 'hit');
    assert.equal((await readdir(join(directory, 'state/records'))).length, 1);
    // A process that opens the cache now finds the stronger record at once.
    const later = await openCache(t, undefined, { directory, offline: true });
    assert.equal((await later.ensure(THING)).provenance.signature.status, 'verified');
  });

  it('does not let a bad release pass for required because it was let in with off', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: { providers: [{ address: 'acme/thing', version: '1.2.3', signer: false }] }, cache: { verification: { signature: 'off' } } });
    await cache.ensure(THING);
    const strict = await openCache(t, registry, { directory });
    await assert.rejects(strict.ensure(THING), { code: 'ERR_SIGNATURE_INVALID', reason: 'no-keys' });
    assert.equal((await cache.ensure(THING)).outcome, 'hit');
  });

  it('takes a registry that offers no key with when-offered only', async (t) => {
    const unsigned = { providers: [{ address: 'acme/thing', version: '1.2.3', signer: false as const }] };
    const { cache, directory, registry } = await withCache(t, { registry: unsigned });
    await assert.rejects(cache.ensure(THING), { code: 'ERR_SIGNATURE_INVALID', reason: 'no-keys' });
    assert.deepEqual(await leftovers(directory), []);
    const lenient = await openCache(t, registry, { directory, verification: { hosts: { [HOST]: { signature: 'when-offered' } } } });
    assert.deepEqual((await lenient.ensure(THING)).provenance.signature, { status: 'not-offered' });
    assert.equal(await cache.lookup(THING), undefined);
  });

  it('is required by default, and when-offered for OpenTofu’s own registry', () => {
    const rules = verificationRules();
    assert.deepEqual(rules(HOST), { signature: 'required', expiredKeys: 'warn' });
    assert.deepEqual(rules(DEFAULT_REGISTRY_HOST), { signature: 'when-offered', expiredKeys: 'warn' });
    assert.throws(() => verificationRules({ signature: 'sometimes' as 'off' }), { code: 'ERR_INVALID_OPTION' });
    assert.throws(() => verificationRules({ hosts: { x: { expiredKeys: 'no' as 'warn' } } }), { code: 'ERR_INVALID_OPTION' });
  });

  it('asks the same of what is known as of what is new', () => {
    const known = (signature: Provenance['signature']): Provenance => ({ provedBy: 'archive', source: { type: 'direct', location: undefined }, url: undefined, archiveBytes: 1, checksum: 'sums', signature, installedAt: '' });
    const signed = (expired: boolean, signedBeforeExpiry: boolean): Provenance => known({ status: 'verified', fingerprint: 'F', keyId: 'K', expired, signedBeforeExpiry });
    const table: [Provenance, Record<string, boolean>][] = [
      [known({ status: 'not-checked' }), { required: false, 'when-offered': false, off: true }],
      [known({ status: 'not-offered' }), { required: false, 'when-offered': true, off: true }],
      [signed(false, true), { required: true, 'when-offered': true, off: true }],
    ];
    for (const [provenance, expected] of table) {
      for (const signature of ['required', 'when-offered', 'off'] as const) assert.equal(satisfiesRules({ signature, expiredKeys: 'warn' }, provenance), expected[signature]);
    }
    const expiry = (provenance: Provenance): boolean[] => (['warn', 'accept-signed-before', 'reject'] as const).map((expiredKeys) => satisfiesRules({ signature: 'required', expiredKeys }, provenance));
    assert.deepEqual(expiry(signed(true, true)), [true, true, false]);
    assert.deepEqual(expiry(signed(true, false)), [true, false, false]);
  });
});

describe('expected hashes', () => {
  it('hold on an installation: h1 or zh is enough, and another is refused with nothing left', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    const zh = `zh:${String(registry.releases[0]?.packages.get('linux_amd64')?.sha256)}`;
    await assert.rejects(cache.ensure(THING, { expectedHashes: ['h1:AAAA', `zh:${'0'.repeat(64)}`] }), { code: 'ERR_HASH_MISMATCH' });
    assert.deepEqual(await leftovers(directory), []);
    const found = await cache.ensure(THING, { expectedHashes: ['h1:AAAA', zh] });
    assert.equal(found.outcome, 'installed');
    assert.equal((await cache.ensure(THING, { expectedHashes: [zh] })).outcome, 'hit');
    assert.equal((await cache.ensure(THING, { expectedHashes: [await hashDirectory(found.path)] })).outcome, 'hit');
  });

  it('hold on a hit and on a joined call', async (t) => {
    const { cache, registry } = await withCache(t);
    const wrong = { expectedHashes: ['h1:AAAA', `zh:${'0'.repeat(64)}`] };
    let serve: () => void = () => undefined;
    registry.faults.inject({ on: 'zip', until: new Promise<void>((resolve) => (serve = resolve)) });
    const good = cache.ensure(THING);
    await until(() => registry.count('zip') === 1, 'the first call downloads');
    let waits = false;
    const bad = assert.rejects(cache.ensure(THING, { ...wrong, onProgress: ({ phase }) => (waits ||= phase === 'waiting') }), { code: 'ERR_HASH_MISMATCH' });
    await until(() => waits, 'the second call waits for it');
    serve();
    await good;
    await bad;
    await assert.rejects(cache.ensure(THING, wrong), { code: 'ERR_HASH_MISMATCH', expected: wrong.expectedHashes });
    assert.equal(registry.count('zip'), 1);
  });

  it('that only the zip can prove fetch it, and offline say so', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    const zh = `zh:${String(registry.releases[0]?.packages.get('linux_amd64')?.sha256)}`;
    const { path, hashes } = await cache.ensure(THING);
    // Forget where it came from, and adopt it by its h1 alone.
    for (const name of await readdir(join(directory, 'state/records'))) {
      const { rm } = await import('node:fs/promises');
      await rm(join(directory, 'state/records', name));
    }
    const h1 = String(hashes[0]);
    const adopting = await openCache(t, registry, { directory });
    assert.equal((await adopting.ensure(THING, { expectedHashes: [h1] })).outcome, 'adopted');
    const offline = await openCache(t, undefined, { directory, offline: true });
    await assert.rejects(offline.ensure(THING, { expectedHashes: [zh] }), { code: 'ERR_HASH_UNPROVEN', expected: [zh] });
    await assert.rejects(offline.ensure(THING), { code: 'ERR_HASH_UNPROVEN' });
    const proved = await adopting.ensure(THING, { expectedHashes: [zh] });
    assert.equal(proved.outcome, 'adopted');
    assert.equal(proved.path, path);
    assert.deepEqual(proved.hashes, [h1, zh]);
    assert.equal((await offline.ensure(THING, { expectedHashes: [zh] })).outcome, 'hit');
  });
});

describe('offline and readOnly', () => {
  it('say what is missing, ask nobody and write nothing', async (t) => {
    const { directory, registry } = await withCache(t);
    const offline = await openCache(t, registry, { directory, offline: true });
    await assert.rejects(offline.ensure(THING), { code: 'ERR_OFFLINE', missing: `${HOST}/acme/thing/1.2.3/linux_amd64` });
    await assert.rejects(offline.ensure({ ...THING, version: '~> 1.0' }), { code: 'ERR_OFFLINE' });
    const readOnly = await openCache(t, registry, { directory: join(directory, 'not/there'), readOnly: true });
    await assert.rejects(readOnly.ensure(THING), { code: 'ERR_READ_ONLY' });
    await assert.rejects(readOnly.ensure({ ...THING, version: '~> 1.0' }), { code: 'ERR_READ_ONLY' });
    await assert.rejects(readdir(join(directory, 'not')), { code: 'ENOENT' });
    assert.equal(registry.requestLog.length, 0);
  });

  it('serve what is there', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    await cache.ensure(THING);
    const requests = registry.requestLog.length;
    for (const options of [{ offline: true }, { readOnly: true }]) {
      const other = await openCache(t, registry, { directory, ...options });
      assert.equal((await other.ensure(THING)).outcome, 'hit');
      assert.equal((await other.ensure({ ...THING, version: '~> 1.0' })).outcome, 'hit');
    }
    assert.equal(registry.requestLog.length, requests);
  });
});
