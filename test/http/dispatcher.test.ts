import assert from 'node:assert/strict';
import { execFile, fork } from 'node:child_process';
import { readdirSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { request as bareRequest } from 'undici';
import { NetworkError } from '../../src/errors.ts';
import { createHttpClient } from '../../src/http/index.ts';
import { createCertificate } from '../support/certificate.ts';
import { startServer } from '../support/http-server.ts';
import { quickClient, rejectionOf, until } from './quick-client.ts';

describe('loading undici', () => {
  async function inChild(how: 'bare' | 'ours' | 'after-fetch', url: string): Promise<unknown> {
    const child = fork(new URL('./fixtures/global-dispatcher.js', import.meta.url), [how, url]);
    return new Promise((resolve, reject) => {
      child.once('message', resolve).once('exit', (code) => {
        reject(new Error(`the child ended with ${code}`));
      });
    });
  }

  it('leaves the application its own fetch, which a bare import takes over', async (t) => {
    const server = await startServer(t, { '/': { body: 'hello' } });
    const url = `${server.origin}/`;
    const good = { namesUnchanged: true, fetchWorks: true, fetchRunsOnOurs: false };
    assert.deepEqual(await inChild('bare', url), { ...good, setBefore: false, sameAsBefore: false, fetchRunsOnOurs: true });
    assert.deepEqual(await inChild('ours', url), { ...good, setBefore: false, sameAsBefore: true });
    assert.deepEqual(await inChild('after-fetch', url), { ...good, setBefore: true, sameAsBefore: true });
  });

  it('does not happen on import, nor before the first request', async () => {
    const program = `
      const { createHttpClient } = await import(${JSON.stringify(new URL('../../src/http/index.js', import.meta.url).href)});
      createHttpClient();
      process.stdout.write(String(Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1'))));`;
    assert.equal((await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])).stdout, 'undefined');
  });
});

describe('certificates', () => {
  it('refuses one that nobody vouches for, at the first attempt', async (t) => {
    const certificate = await createCertificate(t);
    if (certificate === undefined) return;
    const server = await startServer(t, { '/': { body: 'secret' } }, certificate);
    const error = await rejectionOf(quickClient(t).getText(`${server.origin}/`), NetworkError);
    assert.equal(error.phase, 'tls');
    assert.equal(error.attempts, 1);
    assert.match(error.message, /self-signed certificate/u);
  });

  it('trusts those given as ca, in every form', async (t) => {
    const certificate = await createCertificate(t);
    if (certificate === undefined) return;
    const server = await startServer(t, { '/': { body: 'hello' } }, certificate);
    for (const ca of [certificate.certificate, Buffer.from(certificate.certificate), [certificate.certificate]]) {
      assert.equal((await quickClient(t, { ca }).getText(`${server.origin}/`)).text, 'hello');
    }
  });

  it('refuses one for another host, at the first attempt', async (t) => {
    const certificate = await createCertificate(t, 'DNS:elsewhere.test');
    if (certificate === undefined) return;
    const server = await startServer(t, { '/': { body: 'secret' } }, certificate);
    const error = await rejectionOf(quickClient(t, { ca: certificate.certificate }).getText(`${server.origin}/`), NetworkError);
    assert.deepEqual([error.phase, error.attempts], ['tls', 1]);
  });

  it('does not try again to speak TLS with a port that does not', async (t) => {
    const server = await startServer(t, { '/': { body: 'hello' } });
    const error = await rejectionOf(quickClient(t).getText(`https://127.0.0.1:${server.port}/`), NetworkError);
    assert.deepEqual([error.phase, error.attempts], ['tls', 1]);
  });
});

describe('connections', () => {
  it('opens no more to one origin than allowed, and serves the rest as they come free', async (t) => {
    let open = 0;
    let most = 0;
    const server = await startServer(t, {
      '/': (_request, response) => {
        open += 1;
        most = Math.max(most, open);
        setTimeout(() => {
          open -= 1;
          response.end('x');
        }, 5);
      },
    });
    const client = quickClient(t, { connectionsPerHost: 3 });
    await Promise.all(Array.from({ length: 20 }, () => client.getText(`${server.origin}/`)));
    assert.equal(most, 3);
  });

  it('keeps one for the next request, also after a redirect and an error whose bodies come late', async (t) => {
    const ports = new Set<number | undefined>();
    let asked = 0;
    const late = (request: IncomingMessage, response: ServerResponse, status: number): void => {
      ports.add(request.socket.remotePort);
      response.writeHead(status, { location: '/b' }).flushHeaders();
      setTimeout(() => response.end(status === 200 ? 'good' : 'something else'), 20);
    };
    const server = await startServer(t, {
      '/a': (request, response) => { late(request, response, 302); },
      '/b': (request, response) => { late(request, response, (asked += 1) === 1 ? 500 : 200); },
    });
    const client = quickClient(t, { connectionsPerHost: 1 });
    assert.equal((await client.getText(`${server.origin}/a`)).text, 'good');
    assert.deepEqual([server.requests.length, ports.size], [4, 1]);
  });

  it('gives one up, with a body that is too long to be read to its end', async (t) => {
    const server = await startServer(t, { '/large': { body: 'x'.repeat(5_000_000) }, '/missing': { status: 404, body: 'x'.repeat(5_000_000) } });
    const client = quickClient(t);
    await assert.rejects(client.getText(`${server.origin}/large`));
    await assert.rejects(client.getText(`${server.origin}/missing`));
    await until(() => server.openConnections() === 0, 'both connections are closed');
  });

  it('returns every descriptor when the client is closed, after failures of all kinds', async (t) => {
    const server = await startServer(t, {
      '/good': { body: 'x' },
      '/missing': { status: 404, body: 'x'.repeat(100_000) },
      '/cut': { body: 'x'.repeat(1000), cutAfter: 10 },
      '/stalled': { body: 'x'.repeat(1000), stallAfter: 10 },
      '/silent': { stallAfter: -1 },
      '/large': { body: 'x'.repeat(200_000) },
      '/loop': { status: 302, headers: { location: '/loop' } },
      '/gzip': { body: 'x', headers: { 'content-encoding': 'gzip' } },
    });
    await (await bareRequest(`${server.origin}/good`, { headers: { connection: 'close' } })).body.text();
    await until(() => server.openConnections() === 0, 'the first connection is closed');
    const descriptors = (): number => readdirSync('/proc/self/fd').length;
    const before = descriptors();
    const client = createHttpClient({ backoffMs: 1, retries: 1, headersTimeoutMs: 100, idleTimeoutMs: 100 });
    const paths = ['good', 'missing', 'cut', 'stalled', 'silent', 'large', 'loop', 'gzip'];
    const outcomes = await Promise.allSettled(paths.map((path) => client.getText(`${server.origin}/${path}`, { maxBytes: 100_000 })));
    assert.deepEqual(outcomes.map((outcome) => outcome.status), ['fulfilled', ...Array.from({ length: 7 }, () => 'rejected')]);
    await client.close();
    await until(() => server.openConnections() === 0 && descriptors() <= before, 'all descriptors are back');
  });
});
