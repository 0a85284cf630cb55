/** The embedded registry that other tests rely on: what it serves is right, and its faults are those it was told. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createMessage, readKey, readSignature, verify } from 'openpgp';
import { createSigner, startRegistry, startRegistryProcess, zipName, type EmbeddedRegistry, type RegistryOptions } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';

const ZIP = '/releases/hashicorp/null/3.2.4/linux_amd64.zip';
const RELEASE = { address: 'hashicorp/null', version: '3.2.4' };

async function started(t: TestContext, options: RegistryOptions = {}): Promise<EmbeddedRegistry> {
  const registry = await startRegistry({ providers: [RELEASE], ...options });
  t.after(() => registry.close());
  return registry;
}

async function bytesOf(url: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(url)).arrayBuffer());
}

test('the checksums are those of the zips, and the signature is that of the key in the metadata', async (t) => {
  const registry = await started(t, { providers: [{ ...RELEASE, platforms: ['linux_amd64', 'windows_386'], packages: true }] });
  const metadata = (await (await fetch(`${registry.origin}/v1/providers/hashicorp/null/3.2.4/download/linux/amd64`)).json()) as Record<string, unknown>;
  const zip = await bytesOf(registry.origin + String(metadata['download_url']));
  const sha256 = createHash('sha256').update(zip).digest('hex');
  assert.equal(metadata['shasum'], sha256);
  const sums = await bytesOf(registry.origin + String(metadata['shasums_url']));
  assert.match(sums.toString(), new RegExp(`^${sha256}  ${zipName(RELEASE, 'linux_amd64')}\n[0-9a-f]{64}  ${zipName(RELEASE, 'windows_386')}\n$`, 'u'));
  const { ascii_armor: armoredKey } = (metadata['signing_keys'] as { gpg_public_keys: { ascii_armor: string }[] }).gpg_public_keys[0] ?? { ascii_armor: '' };
  const { signatures } = await verify({
    message: await createMessage({ binary: new Uint8Array(sums) }),
    signature: await readSignature({ binarySignature: new Uint8Array(await bytesOf(registry.origin + String(metadata['shasums_signature_url']))) }),
    verificationKeys: (await readKey({ armoredKey })).toPublic(),
  });
  assert.equal(await signatures[0]?.verified, true);
});

test('every request is written down, with its status', async (t) => {
  const registry = await started(t, { token: 'secret' });
  await fetch(`${registry.origin}/v1/providers/hashicorp/null/versions`);
  await fetch(`${registry.origin}/v1/providers/hashicorp/null/versions?again`, { headers: { authorization: 'Bearer secret' } });
  await bytesOf(registry.origin + ZIP);
  await fetch(`${registry.origin}/elsewhere`);
  assert.deepEqual(registry.requestLog.map(({ route, path, status }) => [route, path, status]), [
    ['versions', '/v1/providers/hashicorp/null/versions', 401],
    ['versions', '/v1/providers/hashicorp/null/versions?again', 200],
    ['zip', ZIP, 200],
    ['unknown', '/elsewhere', 404],
  ]);
  assert.equal(registry.count('versions'), 2);
  assert.equal(registry.count(/\.zip$/u), 1);
});

test('faults strike in order, as often as they are told', async (t) => {
  const registry = await started(t, { faults: [{ on: 'zip', status: 429, headers: { 'retry-after': '7' }, times: 1 }, { on: 'zip', status: 500, times: 2, after: 0 }] });
  const statuses: number[] = [];
  for (let round = 0; round < 4; round += 1) statuses.push((await fetch(registry.origin + ZIP)).status);
  assert.deepEqual(statuses, [429, 500, 500, 200]);
  registry.faults.inject({ on: 'zip', path: '/other/', status: 500 });
  registry.faults.inject({ on: 'zip', status: 503, after: 1 });
  assert.equal((await fetch(registry.origin + ZIP)).status, 200);
  assert.equal((await fetch(registry.origin + ZIP)).status, 503);
  registry.faults.heal();
  assert.equal((await fetch(registry.origin + ZIP)).status, 200);
});

test('bodies are changed as they are told', async (t) => {
  const registry = await started(t);
  const good = await bytesOf(registry.origin + ZIP);
  const faulty = async (fault: Omit<Parameters<typeof registry.faults.inject>[0], 'on'>): Promise<Response> => {
    registry.faults.heal();
    registry.faults.inject({ on: 'zip', ...fault });
    return fetch(registry.origin + ZIP);
  };
  const flipped = Buffer.from(await (await faulty({ flipByteAt: 10 })).arrayBuffer());
  assert.deepEqual([flipped.length, (flipped[10] ?? 0) ^ (good[10] ?? 0), flipped.subarray(11).equals(good.subarray(11))], [good.length, 0xff, true]);
  await assert.rejects((await faulty({ truncateAt: 20 })).arrayBuffer());
  const cut = await faulty({ truncateAt: 20, closeDelimited: true });
  assert.equal(cut.headers.get('content-length'), null);
  assert.equal(cut.headers.get('transfer-encoding'), null);
  assert.equal((await cut.arrayBuffer()).byteLength, 20);
  const packed = await faulty({ gzip: true });
  assert.equal(packed.headers.get('content-encoding'), 'gzip');
  assert.ok(Buffer.from(await packed.arrayBuffer()).equals(good));
  assert.equal(await (await faulty({ body: '<html>', headers: { 'content-type': 'text/html' } })).text(), '<html>');
  await assert.rejects((await faulty({ contentLength: good.length + 1 })).arrayBuffer());
  await assert.rejects(faulty({ destroy: true }));
  assert.equal((await faulty({ redirectTo: '/elsewhere' })).redirected, true);
  const slow = performance.now();
  assert.ok(Buffer.from(await (await faulty({ bytesPerSecond: good.length * 5 })).arrayBuffer()).equals(good));
  assert.ok(performance.now() - slow > 100, 'it took its time');
});

test('a release may be signed by others, or by nobody', async (t) => {
  const [signer, stranger] = [await createSigner('signer'), await createSigner('stranger')];
  const registry = await started(t, { providers: [] });
  const foreign = await registry.publish({ ...RELEASE, signer, signingKeys: [stranger] });
  assert.equal(foreign.keys[0]?.keyId, stranger.keyId);
  assert.ok((foreign.signature?.length ?? 0) > 0);
  const unsigned = await registry.publish({ ...RELEASE, version: '3.2.5', signer: false, sums: 'as told' });
  assert.deepEqual([unsigned.signature, unsigned.keys.length, unsigned.sums.toString()], [undefined, 0, 'as told']);
});

test('a process of its own streams large zips from the disk, counts, and ends with its starter', async (t) => {
  const zipPath = join(await withTemporaryDirectory(t), 'large.zip');
  const content = randomBytes(32 << 20);
  await writeFile(zipPath, content);
  const registry = await startRegistryProcess({ providers: [{ ...RELEASE, zipPath }] });
  t.after(() => registry.close());
  assert.deepEqual(registry.hosts(), { 'registry.opentofu.org': { 'providers.v1': `${registry.origin}/v1/providers/` } });
  assert.ok((await bytesOf(registry.origin + ZIP)).equals(content));
  await registry.setFaults([{ on: 'zip', status: 500 }]);
  assert.equal((await fetch(registry.origin + ZIP)).status, 500);
  await registry.setFaults([]);
  assert.equal(await registry.count('zip'), 2);
  assert.equal(await registry.count(/versions$/u), 0);
  await registry.close();
  await registry.close();
  assert.throws(() => process.kill(registry.pid, 0), { code: 'ESRCH' });
});
