import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { InvalidOptionError, NetworkError } from '../../src/errors.ts';
import { createCertificate } from '../support/certificate.ts';
import { startServer } from '../support/http-server.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { quickClient, rejectionOf } from './quick-client.ts';

describe('a client certificate', () => {
  it('is shown to a server that asks, and its key to nobody', async (t) => {
    const [own, client] = [await createCertificate(t), await createCertificate(t)];
    if (own === undefined || client === undefined) return;
    const server = createServer({ key: own.key, cert: own.certificate, ca: client.certificate, requestCert: true, rejectUnauthorized: true }, (_request, response) => response.end('welcome'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => { server.close(); });
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const ca = own.certificate;
    const passphrase = 'pass-secret';
    const locked = createPrivateKey(client.key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase });
    for (const clientCertificate of [{ cert: client.certificate, key: client.key }, { cert: Buffer.from(client.certificate), key: locked, passphrase }]) {
      assert.equal((await quickClient(t, { ca, clientCertificate }).getText(url)).text, 'welcome');
    }
    await rejectionOf(quickClient(t, { ca }).getText(url), NetworkError); // Node's server says no word before it hangs up

    const wrong = [{ cert: client.certificate, key: own.key }, { cert: client.certificate, key: locked, passphrase: 'wrong-secret' }, { cert: 'none', key: client.key }];
    for (const clientCertificate of wrong) {
      const error = await rejectionOf(quickClient(t, { ca, clientCertificate }).getText(url), InvalidOptionError);
      assert.equal(error.option, 'clientCertificate');
      assert.ok(!/secret|PRIVATE|BEGIN/u.test(`${error.message} ${String(error.stack)}`));
    }
  });
});

describe('SSL_CERT_FILE and SSL_CERT_DIR', () => {
  it('stand in for the roots, as Go reads them', async (t) => {
    const [own, other] = [await createCertificate(t), await createCertificate(t)];
    if (own === undefined || other === undefined) return;
    const directory = await withTemporaryDirectory(t);
    const [empty, certificates] = [join(directory, 'empty'), join(directory, 'certificates')];
    await Promise.all([mkdir(empty), mkdir(certificates)]);
    const bundle = join(directory, 'bundle.pem');
    const junk = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    await writeFile(bundle, `# a comment\n${junk}${other.certificate}\n${own.certificate}`);
    await writeFile(join(certificates, 'own.pem'), own.certificate);
    await writeFile(join(certificates, 'note.txt'), 'no certificate');
    await symlink('own.pem', join(certificates, '0a1b2c3d.0'));
    await writeFile(join(directory, 'other.pem'), other.certificate);
    const server = await startServer(t, { '/': { body: 'hello' } }, own);
    const read = async (environment: Record<string, string>): Promise<string> => (await quickClient(t, { environment }).getText(`${server.origin}/`)).text;

    assert.equal(await read({ SSL_CERT_FILE: bundle, SSL_CERT_DIR: empty }), 'hello');
    assert.equal(await read({ SSL_CERT_FILE: join(directory, 'other.pem'), SSL_CERT_DIR: `${empty}:${certificates}` }), 'hello');
    assert.equal(await read({ SSL_CERT_FILE: join(directory, 'missing.pem'), SSL_CERT_DIR: certificates }), 'hello');
    const error = await rejectionOf(read({ SSL_CERT_FILE: join(directory, 'other.pem'), SSL_CERT_DIR: empty }), NetworkError);
    assert.deepEqual([error.phase, error.attempts], ['tls', 1]);
    assert.equal((await rejectionOf(read({ SSL_CERT_FILE: join(directory, 'missing.pem'), SSL_CERT_DIR: empty }), InvalidOptionError)).option, 'SSL_CERT_FILE');
    const added = quickClient(t, { ca: own.certificate, environment: { SSL_CERT_FILE: join(directory, 'other.pem'), SSL_CERT_DIR: empty } });
    assert.equal((await added.getText(`${server.origin}/`)).text, 'hello', 'ca is added to what stands in');
  });

  it('and ca: what holds no certificate is an error, not silence', async (t) => {
    const error = await rejectionOf(quickClient(t, { ca: '/etc/ssl/certs/own.pem' }).getText('https://127.0.0.1:1/'), InvalidOptionError);
    assert.equal(error.option, 'ca');
  });
});
