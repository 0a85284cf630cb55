import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Agent, interceptors, request as bareRequest } from 'undici';
import { InvalidOptionError } from '../../src/errors.ts';
import { FULL_TRUST, headersFor } from '../../src/http/origin-headers.ts';
import { createCertificate } from '../support/certificate.ts';
import { startServer } from '../support/http-server.ts';
import { quickClient, rejectionOf } from './quick-client.ts';

const SECRETS = { 'private-token': 'glpat-1', 'X-API-Key': 'key-2', cookie: 'c=3' };

describe('headers by origin', () => {
  it('reach the first origin and no other, for every kind of redirect; the bare package leaks them', async (t) => {
    for (const status of [301, 302, 303, 307, 308]) {
      const other = await startServer(t, { '/x': { body: 'there' } });
      const first = await startServer(t, { '/a': { status, headers: { location: '/b' } }, '/b': { status, headers: { location: `${other.origin}/x` } } });
      const bare = new Agent().compose(interceptors.redirect({ maxRedirections: 5 }));
      await (await bareRequest(`${first.origin}/a`, { dispatcher: bare, headers: SECRETS })).body.text();
      await bare.destroy();
      assert.equal(other.requests.at(-1)?.headers['private-token'], 'glpat-1');
      assert.equal(other.requests.at(-1)?.headers['x-api-key'], 'key-2');

      const bearer = { token: 'secret', origins: [first.origin] };
      await quickClient(t).getText(`${first.origin}/a`, { headers: SECRETS, bearer, accept: 'text/plain' });
      for (const { headers } of first.requests.slice(-2)) {
        assert.deepEqual([headers['private-token'], headers['x-api-key'], headers.cookie, headers.authorization], ['glpat-1', 'key-2', 'c=3', 'Bearer secret']);
      }
      const { host, connection, ...rest } = other.requests.at(-1)?.headers ?? {};
      assert.deepEqual([host, connection], [`127.0.0.1:${other.port}`, 'keep-alive']);
      assert.deepEqual(rest, { accept: 'text/plain', 'accept-encoding': 'identity', 'user-agent': 'rwx-cache' });
    }
  });

  it('do not come back when a foreign origin leads back', async (t) => {
    const first = await startServer(t, { '/a': (_, response) => response.writeHead(302, { location: `${other.origin}/x` }).end(), '/b': { body: 'back' } });
    const other = await startServer(t, { '/x': { status: 302, headers: { location: `${first.origin}/b` } } });
    await quickClient(t).getText(`${first.origin}/a`, { headers: SECRETS, bearer: { token: 'secret', origins: [first.origin] } });
    const last = first.requests.at(-1);
    assert.equal(last?.path, '/b');
    assert.deepEqual([last.headers['private-token'], last.headers.authorization], [undefined, undefined]);
  });

  it('survive a retry behind a redirect, where the bare package sends their names as values', async (t) => {
    const body = 'x'.repeat(100_000);
    const cut = { body, headers: { etag: '"strong"' }, cutAfter: 50_000 };
    const routes = { '/a': { status: 302, headers: { location: '/b' } }, '/b': [cut, { body, headers: { etag: '"strong"' } }] };
    const forBare = await startServer(t, routes);
    const bare = new Agent().compose(interceptors.retry({ minTimeout: 1 }), interceptors.redirect({ maxRedirections: 5 }));
    await bareRequest(`${forBare.origin}/a`, { dispatcher: bare, headers: { accept: 'text/plain' } }).then((answer) => answer.body.text()).catch(() => undefined);
    await bare.destroy();
    assert.equal(forBare.requests.at(-1)?.path, '/b');
    assert.notEqual(forBare.requests.at(-1)?.headers.accept, 'text/plain');

    const server = await startServer(t, routes);
    assert.equal((await quickClient(t).getText(`${server.origin}/a`, { accept: 'text/plain', headers: { 'x-a': '1' } })).text, body);
    assert.deepEqual(server.requests.map(({ path, headers }) => [path, headers.accept, headers['x-a']]), ['/a', '/b', '/a', '/b'].map((path) => [path, 'text/plain', '1']));
  });
});

describe('bearer tokens', () => {
  it('go to each of their origins and not to another port', async (t) => {
    const cdn = await startServer(t, { '/': { body: 'zip' } });
    const service = await startServer(t, { '/': { status: 307, headers: { location: `${cdn.origin}/` } } });
    const host = await startServer(t, { '/': { status: 307, headers: { location: `${service.origin}/` } } });
    await quickClient(t).getText(`${host.origin}/`, { bearer: { token: 'secret', origins: [host.origin, service.origin] } });
    assert.deepEqual([host, service, cdn].map((server) => server.requests[0]?.headers.authorization), ['Bearer secret', 'Bearer secret', undefined]);
  });

  it('do not follow to another scheme of the same host', async (t) => {
    const certificate = await createCertificate(t);
    if (certificate === undefined) return;
    const secure = await startServer(t, { '/': { body: 'x' } }, certificate);
    const plain = await startServer(t, { '/': { status: 302, headers: { location: `${secure.origin}/` } } });
    await quickClient(t, { ca: certificate.certificate }).getText(`${plain.origin}/`, { bearer: { token: 'secret', origins: [plain.origin] } });
    assert.equal(plain.requests[0]?.headers.authorization, 'Bearer secret');
    assert.equal(secure.requests[0]?.headers.authorization, undefined);
  });

  const sent = (url: string, origin = new URL(url).origin): Readonly<Record<string, string>> =>
    headersFor(new URL(url), new URL(url), FULL_TRUST, { headers: { 'X-A': '1' }, bearer: { token: 'secret', origins: [origin] } }, 'test').headers;

  it('and headers never go over plain http, except within the machine', () => {
    assert.deepEqual([sent('http://registry.example.com/')['authorization'], sent('http://registry.example.com/')['x-a']], [undefined, undefined]);
    for (const url of ['https://registry.example.com/', 'http://127.0.0.1:8080/', 'http://localhost/', 'http://[::1]/']) {
      assert.deepEqual([sent(url)['authorization'], sent(url)['x-a']], ['Bearer secret', '1']);
    }
  });

  it('need the very origin: host, port and scheme', () => {
    for (const origin of ['https://example.com', 'http://registry.example.com', 'https://registry.example.com:8443', 'https://registry.example.com.evil.test']) {
      assert.equal(sent('https://registry.example.com/', origin)['authorization'], undefined);
    }
  });

  it('stay away from URLs that are signed themselves', () => {
    for (const query of ['X-Amz-Signature=1', 'X-Goog-Signature=1', 'Expires=1&Signature=1&Key-Pair-Id=1', 'se=1&sig=1', 'x-oss-signature=1', 'q-signature=1']) {
      assert.equal(sent(`https://registry.example.com/x.zip?${query}`)['authorization'], undefined);
    }
    assert.equal(sent('https://registry.example.com/x.zip?version=1')['authorization'], 'Bearer secret');
  });

  it('stand above a user and password in the URL, which else are sent as Basic, to the origin they were written for', async (t) => {
    const withBoth = headersFor(new URL('https://me:p%40ss@example.com/'), new URL('https://example.com/'), FULL_TRUST, { bearer: { token: 'secret', origins: ['https://example.com'] } }, 'test');
    assert.equal(withBoth.headers['authorization'], 'Bearer secret');
    const basic = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
    const other = await startServer(t, { '/': { body: 'x' } });
    const server = await startServer(t, { '/a': { status: 302, headers: { location: '/b' } }, '/b': { status: 302, headers: { location: `${other.origin}/` } } });
    await quickClient(t).getText(`http://me:p%40ss@127.0.0.1:${server.port}/a`);
    assert.deepEqual([...server.requests, ...other.requests].map(({ headers }) => headers.authorization), [basic, basic, undefined]);
  });
});

describe('basic credentials', () => {
  const sent = (url: string, more: Partial<Parameters<typeof headersFor>[3]> = {}, origins = [new URL(url).origin]): string | undefined =>
    headersFor(new URL(url), new URL(url), FULL_TRUST, { basic: { login: 'me', password: 'p:ä', origins }, ...more }, 'test').headers['authorization'];
  const basic = `Basic ${Buffer.from('me:p:ä').toString('base64')}`;

  it('go to their own origin over https or loopback, and never with a signed URL', () => {
    for (const url of ['https://files.example.com/a.zip', 'https://files.example.com:8443/a.zip?v=1', 'http://127.0.0.1:8080/']) assert.equal(sent(url), basic);
    for (const url of ['http://files.example.com/a.zip', 'https://files.example.com/a.zip?X-Amz-Signature=1']) assert.equal(sent(url), undefined);
    for (const origin of ['https://files.example.com:8443', 'http://files.example.com', 'https://example.com']) assert.equal(sent('https://files.example.com/', {}, [origin]), undefined);
  });

  it('stand below a bearer token and below what the URL itself says', () => {
    assert.equal(sent('https://files.example.com/', { bearer: { token: 'secret', origins: ['https://files.example.com'] } }), 'Bearer secret');
    assert.equal(sent('https://files.example.com/', { bearer: { token: 'secret', origins: ['https://other.example.com'] } }), basic);
    assert.equal(sent('https://you:else@files.example.com/'), `Basic ${Buffer.from('you:else').toString('base64')}`);
  });

  it('stay behind where a redirect leads away, also on its way back', async (t) => {
    const first = await startServer(t, { '/a': (_, response) => response.writeHead(302, { location: `${other.origin}/x` }).end(), '/b': { body: 'back' } });
    const other = await startServer(t, { '/x': { status: 302, headers: { location: `${first.origin}/b` } } });
    await quickClient(t).getText(`${first.origin}/a`, { basic: { login: 'me', password: 'p:ä', origins: [first.origin] } });
    assert.deepEqual([...first.requests, ...other.requests].map(({ path, headers }) => [path, headers.authorization]), [['/a', basic], ['/b', undefined], ['/x', undefined]]);
  });
});

describe('headers that cannot be sent', () => {
  it('are refused with their name, and without their value', async (t) => {
    const client = quickClient(t);
    for (const options of [{ headers: { 'bad name': 'v' } }, { headers: { 'x-a': 'secret\nx' } }, { bearer: { token: 'secret\n', origins: [] } }, { accept: 'secret\r\n' }]) {
      const error = await rejectionOf(client.getText('http://127.0.0.1:1/', options), InvalidOptionError);
      assert.doesNotMatch(error.message, /secret/u);
    }
  });
});
