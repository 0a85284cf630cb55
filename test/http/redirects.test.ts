import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Agent, interceptors, request as bareRequest } from 'undici';
import { AccessPolicyError, HttpStatusError, RedirectError } from '../../src/errors.ts';
import { checkScheme } from '../../src/http/redirects.ts';
import { createCertificate } from '../support/certificate.ts';
import { startServer } from '../support/http-server.ts';
import { quickClient, rejectionOf } from './quick-client.ts';

describe('redirects', () => {
  it('follows every kind, relative and absolute, and gives the final URL', async (t) => {
    const server = await startServer(t, { '/deep/end': { body: 'there' } });
    for (const status of [301, 302, 303, 307, 308]) {
      for (const location of ['/deep/end?a=1', 'deep/end?a=1', '//{host}/deep/end?a=1', '{origin}/deep/end?a=1']) {
        const to = location.replace('{host}', `127.0.0.1:${server.port}`).replace('{origin}', server.origin);
        const first = await startServer(t, { '/start': { status, headers: { location: location.includes('{') ? to : `${server.origin}/hop` } } });
        const hop = await startServer(t, { '/start': { status, headers: { location: to } }, '/deep/end': { body: 'there' } });
        const origin = location.includes('{') ? first.origin : hop.origin;
        const answer = await quickClient(t).getText(`${origin}/start`);
        assert.equal(answer.text, 'there');
        assert.equal(answer.url, `${location.includes('{') ? server.origin : hop.origin}/deep/end?a=1`);
      }
    }
  });

  it('follows five and refuses the sixth, where the bare package hands out the 302 as an answer', async (t) => {
    const chain = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`/${n}`, { status: 302, headers: { location: `/${n + 1}` } }]));
    const server = await startServer(t, { ...chain, '/10': { body: 'end' } });
    const bare = new Agent().compose(interceptors.redirect({ maxRedirections: 5 }));
    assert.equal((await bareRequest(`${server.origin}/4`, { dispatcher: bare })).statusCode, 302);
    await bare.destroy();

    const client = quickClient(t);
    assert.equal((await client.getText(`${server.origin}/5`)).text, 'end');
    const asked = server.requests.length;
    const error = await rejectionOf(client.getText(`${server.origin}/4`), RedirectError);
    assert.equal(error.reason, 'too-many');
    assert.equal(server.requests.length - asked, 6, 'not retried');
  });

  it('ends a loop', async (t) => {
    const server = await startServer(t, { '/a': { status: 302, headers: { location: '/b' } }, '/b': { status: 302, headers: { location: '/a' } } });
    const error = await rejectionOf(quickClient(t).getText(`${server.origin}/a`), RedirectError);
    assert.equal(error.reason, 'too-many');
    assert.equal(server.requests.length, 6);
  });

  it('never leads from https to http, where the bare package follows', async (t) => {
    const certificate = await createCertificate(t);
    if (certificate === undefined) return;
    const plain = await startServer(t, { '/x': { body: 'plain' } });
    const secure = await startServer(t, { '/': { status: 302, headers: { location: `${plain.origin}/x?token=abc` } } }, certificate);
    const bare = new Agent({ connect: { ca: certificate.certificate } }).compose(interceptors.redirect({ maxRedirections: 5 }));
    assert.equal(await (await bareRequest(`${secure.origin}/`, { dispatcher: bare })).body.text(), 'plain');
    await bare.destroy();

    const error = await rejectionOf(quickClient(t, { ca: certificate.certificate }).getText(`${secure.origin}/`), RedirectError);
    assert.equal(error.reason, 'downgrade');
    assert.equal(error.location, `${plain.origin}/x?…`);
    assert.equal(plain.requests.length, 1, 'only the bare package asked');
  });

  it('leads from http to https', async (t) => {
    const certificate = await createCertificate(t);
    if (certificate === undefined) return;
    const secure = await startServer(t, { '/': { body: 'secure' } }, certificate);
    const plain = await startServer(t, { '/': { status: 308, headers: { location: `${secure.origin}/` } } });
    assert.equal((await quickClient(t, { ca: certificate.certificate }).getText(`${plain.origin}/`)).text, 'secure');
  });

  it('refuses a location that is missing, malformed, or not http', async (t) => {
    for (const location of [undefined, '', 'http://', 'file:///etc/passwd', 'data:text/plain,x']) {
      const server = await startServer(t, { '/': { status: 302, headers: location === undefined ? {} : { location } } });
      const error = await rejectionOf(quickClient(t).getText(`${server.origin}/`), RedirectError);
      assert.equal(error.reason, 'invalid');
    }
  });

  it('takes 300 and 304 for what they are, and a redirect for an answer where the caller does', async (t) => {
    const server = await startServer(t, {
      '/300': { status: 300, headers: { location: '/x' } },
      '/304': { status: 304 },
      '/302': { status: 302, headers: { location: '/x' }, body: 'see there' },
    });
    const client = quickClient(t);
    assert.equal((await rejectionOf(client.getText(`${server.origin}/300`), HttpStatusError)).status, 300);
    assert.equal((await client.getText(`${server.origin}/304`, { acceptStatus: [200, 304] })).status, 304);
    assert.deepEqual((({ status, text }) => ({ status, text }))(await client.getText(`${server.origin}/302`, { acceptStatus: [302] })), { status: 302, text: 'see there' });
  });
});

describe('plain http', () => {
  it('is read from loopback only, where the caller says so, whatever the spelling', () => {
    for (const url of ['http://127.0.0.1:1/', 'http://localhost/', 'http://[::1]:80/', 'http://0x7f.1/', 'https://example.com/']) checkScheme(new URL(url), 'loopback');
    for (const url of ['http://example.com/', 'http://127.0.0.1.example.com/', 'http://10.0.0.1/', 'http://localhost.example/', 'http://[::2]/']) {
      assert.throws(() => { checkScheme(new URL(url), 'loopback'); }, AccessPolicyError);
      checkScheme(new URL(url), 'always');
    }
    assert.throws(() => { checkScheme(new URL('ftp://example.com/'), 'always'); }, AccessPolicyError);
  });

  it('is refused behind a redirect as well, before anything is sent', async (t) => {
    const server = await startServer(t, { '/': { status: 302, headers: { location: 'http://registry.invalid/' } } });
    await rejectionOf(quickClient(t).getText(`${server.origin}/`, { allowHttp: 'loopback' }), AccessPolicyError);
  });
});
