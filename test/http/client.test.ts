import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import { describe, it } from 'node:test';
import { format, inspect } from 'node:util';
import createDebug from 'debug';
import { AccessPolicyError, InvalidOptionError, NetworkError } from '../../src/errors.ts';
import { createHttpClient, type HttpClientOptions } from '../../src/http/index.ts';
import { startServer } from '../support/http-server.ts';
import { quickClient, rejectionOf, settlesWithin, until } from './quick-client.ts';

describe('a client', () => {
  it('reads text and bytes with status, final URL and headers', async (t) => {
    const server = await startServer(t, { '/': { body: '\uFEFFgrüße', headers: { 'Content-Type': 'text/plain', ETag: '"1"', 'X-Many': ['a', 'b'] } } });
    const client = quickClient(t, { userAgent: 'wrapper/1.0' });
    const { status, url, headers, text } = await client.getText(new URL(`${server.origin}/?q=1`));
    assert.deepEqual([status, url, headers['content-type'], headers['etag'], headers['x-many'], text], [200, `${server.origin}/?q=1`, 'text/plain', '"1"', 'a, b', 'grüße']);
    assert.deepEqual(Buffer.from((await client.getBytes(`${server.origin}/`)).bytes), Buffer.from('\uFEFFgrüße'));
    assert.deepEqual(server.requests.map((request) => [request.path, request.headers['user-agent']]), [['/?q=1', 'wrapper/1.0'], ['/', 'wrapper/1.0']]);
  });

  it('refuses what is no URL, or none of http, without telling it', async (t) => {
    const client = quickClient(t);
    await rejectionOf(client.getText('registry.example.com/secret'), InvalidOptionError);
    await rejectionOf(client.getText('file:///etc/passwd'), AccessPolicyError);
  });

  it('refuses options that make no sense', () => {
    const bad: HttpClientOptions[] = [{ retries: -1 }, { retries: 1.5 }, { connectTimeoutMs: 0 }, { headersTimeoutMs: Number.NaN }, { totalTimeoutMs: Infinity }, { connectionsPerHost: 0 }, { idleTimeoutMs: 2 ** 31 }];
    for (const options of bad) assert.throws(() => createHttpClient(options), InvalidOptionError);
  });

  it('ends its calls when it is closed, and takes no more', async (t) => {
    const server = await startServer(t, { '/silent': { stallAfter: -1 }, '/stalled': { body: 'xx', stallAfter: 1 } });
    const client = createHttpClient();
    const work = ['silent', 'stalled'].map((path) => rejectionOf(client.getText(`${server.origin}/${path}`), NetworkError));
    await until(() => server.requests.length === 2, 'both have asked');
    await client.close();
    for (const error of await Promise.all(work)) assert.match(error.message, /closed/u);
    await rejectionOf(client.getText(`${server.origin}/silent`), NetworkError);
    await client.close();
    assert.equal(server.requests.length, 2);
    await until(() => server.openConnections() === 0, 'all connections are closed');
  });

  it('ends the wait between two attempts as well', async (t) => {
    const server = await startServer(t, { '/busy': { status: 503, headers: { 'retry-after': '30' } } });
    const answered = new Promise((resolve) => { subscribe('rwx-cache:http:slow-down', resolve); });
    const client = createHttpClient();
    const work = rejectionOf(client.getText(`${server.origin}/busy`), NetworkError);
    await answered;
    await client.close();
    assert.ok(await settlesWithin(work, 10_000));
    assert.match((await work).message, /closed/u);
  });
});

describe('secrets', () => {
  it('stand in no error and in no line of the log', async (t) => {
    const lines: string[] = [];
    const log = createDebug.log;
    createDebug.log = (...given: unknown[]): void => {
      lines.push(format(...given));
    };
    createDebug.enable('rwx-cache:http');
    t.after(() => {
      createDebug.disable();
      createDebug.log = log;
    });
    const server = await startServer(t, {
      '/404': { status: 404 },
      '/500': { status: 500 },
      '/cut': { body: 'xx', cutAfter: 1 },
      '/large': { body: 'x'.repeat(100) },
      '/gzip': { body: 'x', headers: { 'content-encoding': 'gzip' } },
      '/loop': { status: 302, headers: { location: '/loop?again=hunter2' } },
      '/scheme': { status: 302, headers: { location: 'ftp://hunter2:hunter2@x.test/?hunter2' } },
      '/bad': { status: 302, headers: { location: 'http://hunter2:hunter2' } },
      '/http': { status: 302, headers: { location: 'http://u:hunter2@registry.invalid/?hunter2' } },
      '/garbage': (request, response) => response.socket?.end(`HTTP/1.1 200 OK\r\n\0${String(request.headers.authorization)}: ${String(request.headers['x-a'])}\r\n\r\n`),
    });
    const client = quickClient(t, { retries: 1 });
    const paths = ['404', '500', 'cut', 'large', 'gzip', 'loop', 'scheme', 'bad', 'http', 'garbage'];
    const targets = [...paths.map((path) => `http://u:hunter2@127.0.0.1:${server.port}/${path}?sig=hunter2`), `https://127.0.0.1:${server.port}/?hunter2`, 'http://127.0.0.1:1/?hunter2'];
    for (const target of targets) {
      const options = { headers: { 'x-a': 'hunter2' }, bearer: { token: 'hunter2', origins: [server.origin] }, maxBytes: 10, allowHttp: 'loopback' } as const;
      const error = await rejectionOf(client.getText(target, options), Error);
      assert.doesNotMatch(inspect(error, { depth: Infinity, showHidden: true }), /hunter2/u, target);
    }
    assert.ok(lines.length >= targets.length, 'one line for each attempt');
    assert.doesNotMatch(lines.join('\n'), /hunter2/u);
    assert.match(lines.join('\n'), /\/500\?…, attempt 2 of 2: .* answered 500/u);
  });
});
