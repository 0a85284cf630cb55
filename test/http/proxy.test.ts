import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { DownloadIncompleteError, HttpStatusError, NetworkError } from '../../src/errors.ts';
import { createDispatchers } from '../../src/http/dispatcher.ts';
import { createHttpClient, type HttpClient, type HttpClientOptions } from '../../src/http/index.ts';
import { resolveSettings } from '../../src/http/settings.ts';
import { createCertificate, type Certificate } from '../support/certificate.ts';
import { startServer, type Route, type TestServer } from '../support/http-server.ts';
import { startProxy, type ProxyBehaviour, type TestProxy } from '../support/proxy.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { quickClient, rejectionOf, settlesWithin, until } from './quick-client.ts';

interface Net {
  readonly client: HttpClient;
  readonly proxy: TestProxy;
  readonly server: TestServer;
  /** `https://registry.test`, or http: a name that nobody but the proxy can find. */
  readonly origin: string;
}

const HOST = 'registry.test';
let shared: Certificate | undefined;

/** One certificate for all; making it takes longer than most tests. */
async function certificateOf(t: TestContext): Promise<Certificate | undefined> {
  shared ??= await createCertificate(t, `DNS:${HOST},IP:127.0.0.1`);
  return shared;
}

/** A server behind a proxy; `undefined` where the test was skipped. */
async function behindProxy(t: TestContext, scheme: 'http' | 'https', routes: Readonly<Record<string, Route>>, behaviour: ProxyBehaviour = {}, options: HttpClientOptions = {}, user = ''): Promise<Net | undefined> {
  const certificate = await certificateOf(t);
  if (certificate === undefined) return undefined;
  const server = await startServer(t, routes, scheme === 'https' ? certificate : undefined);
  const proxy = await startProxy(t, { hosts: { [`${HOST}:443`]: server.port, [`${HOST}:80`]: server.port }, ...behaviour });
  const address = proxy.origin.replace('//', `//${user}`);
  const client = quickClient(t, { ca: certificate.certificate, environment: { [scheme === 'https' ? 'HTTPS_PROXY' : 'HTTP_PROXY']: address }, ...options });
  return { client, proxy, server, origin: `${scheme}://${HOST}` };
}

describe('a proxy', () => {
  it('carries https by CONNECT, one tunnel for many requests, and sees nothing of them', async (t) => {
    const net = await behindProxy(t, 'https', { '/a': { body: 'good' } }, { credentials: 'user:p@ss' }, { connectionsPerHost: 1 }, 'user:p%40ss@');
    if (net === undefined) return;
    const { client, proxy, server, origin } = net;
    const bearer = { token: 'secret', origins: [origin] };
    for (let round = 0; round < 3; round += 1) assert.equal((await client.getText(`${origin}/a?q=secret`, { bearer })).text, 'good');
    assert.deepEqual(proxy.requests.map(({ method, target }) => [method, target]), [['CONNECT', `${HOST}:443`]]);
    assert.deepEqual(proxy.requests.flatMap(({ headers }) => Object.keys(headers)).sort(), ['host', 'proxy-authorization', 'user-agent']);
    assert.equal(server.requests.at(-1)?.headers.authorization, 'Bearer secret');
    assert.equal(server.requests.at(-1)?.headers['proxy-authorization'], undefined);
  });

  it('is asked for http with the whole URL, as Go does', async (t) => {
    const net = await behindProxy(t, 'http', { '/a': { body: 'good' } }, { credentials: 'user:pass' }, {}, 'user:pass@');
    if (net === undefined) return;
    const { client, proxy, server, origin } = net;
    assert.equal((await client.getText(`${origin}/a?q=1`)).text, 'good');
    assert.deepEqual(proxy.requests.map(({ method, target }) => [method, target]), [['GET', `${origin}/a?q=1`]]);
    assert.deepEqual([server.requests[0]?.path, server.requests[0]?.headers.host], ['/a?q=1', HOST]);
  });

  it('is spoken to by TLS where its URL says https', async (t) => {
    for (const scheme of ['https', 'http'] as const) {
      const tls = await certificateOf(t);
      const net = await behindProxy(t, scheme, { '/a': { body: 'x'.repeat(300_000) } }, { tls });
      if (net === undefined) return;
      assert.equal((await net.client.getText(`${net.origin}/a`)).text.length, 300_000);
      assert.equal(net.proxy.requests.length, 1);
    }
  });

  it('keeps out of the way of loopback, and of what NO_PROXY names', async (t) => {
    const certificate = await certificateOf(t);
    if (certificate === undefined) return;
    const server = await startServer(t, { '/a': { body: 'direct' } });
    const net = await behindProxy(t, 'https', { '/go': { status: 302, headers: { location: `https://127.0.0.1:1/` } } }, {}, { retries: 0 });
    if (net === undefined) return;
    const plain = quickClient(t, { environment: { HTTP_PROXY: net.proxy.origin, HTTPS_PROXY: net.proxy.origin } });
    assert.equal((await plain.getText(`${server.origin}/a`)).text, 'direct');
    assert.equal(net.proxy.requests.length, 0);
    const error = await rejectionOf(net.client.getText(`${net.origin}/go`), NetworkError);
    assert.deepEqual([error.phase, error.proxy, net.proxy.requests.length], ['connect', undefined, 1], 'each URL of a chain has its own way');
  });
});

describe('a proxy that refuses', () => {
  it('wants credentials, or others: said once, and without them', async (t) => {
    for (const scheme of ['https', 'http'] as const) {
      for (const user of ['', 'user:wrong-secret@']) {
        const net = await behindProxy(t, scheme, {}, { credentials: 'user:right-secret' }, {}, user);
        if (net === undefined) return;
        const error = await rejectionOf(net.client.getText(`${net.origin}/a`), NetworkError);
        assert.deepEqual([error.phase, error.proxyStatus, error.attempts, error.proxy, net.proxy.requests.length], ['proxy', 407, 1, net.proxy.origin, 1]);
        assert.match(error.message, user === '' ? /it wants credentials \(407\); put them into HTTPS?_PROXY/u : /does not take the credentials of HTTPS?_PROXY/u);
        assert.ok(!JSON.stringify([error.message, error.stack, error, String(error.cause)]).includes('secret'));
      }
    }
  });

  it('by rule is not asked again, and one that cannot reach the host is', async (t) => {
    for (const [status, attempts] of [[403, 1], [404, 1], [501, 1], [429, 4], [502, 4], [503, 4]] as const) {
      const net = await behindProxy(t, 'https', {}, { faults: Array.from({ length: 4 }, () => status) });
      if (net === undefined) return;
      const error = await rejectionOf(net.client.getText(`${net.origin}/a`), NetworkError);
      assert.deepEqual([error.phase, error.proxyStatus, error.attempts, net.proxy.requests.length], ['proxy', status, attempts, attempts]);
      assert.match(error.message, new RegExp(`by way of ${net.proxy.origin}.*it answered ${status} Refused to CONNECT`, 'u'));
    }
    const net = await behindProxy(t, 'https', { '/a': { body: 'good' } }, { faults: [503, 'end', 502] });
    if (net !== undefined) assert.equal((await net.client.getText(`${net.origin}/a`)).text, 'good');
  });

  it('to forward has a status like any server', async (t) => {
    const net = await behindProxy(t, 'http', { '/a': { body: 'good' } }, { faults: [403, 503] });
    if (net === undefined) return;
    assert.equal((await rejectionOf(net.client.getText(`${net.origin}/a`), HttpStatusError)).status, 403);
    assert.equal((await net.client.getText(`${net.origin}/a`)).text, 'good');
  });

  it('is not there', async (t) => {
    for (const scheme of ['https', 'http'] as const) {
      const environment = { HTTP_PROXY: 'user:secret@127.0.0.1:1', HTTPS_PROXY: 'user:secret@127.0.0.1:1' };
      const error = await rejectionOf(quickClient(t, { environment }).getText(`${scheme}://${HOST}/`), NetworkError);
      assert.deepEqual([error.phase, error.proxy, error.attempts], ['proxy', 'http://127.0.0.1:1', 4]);
      assert.match(error.message, /ECONNREFUSED/u);
      assert.ok(!error.message.includes('secret'));
    }
  });

  it('is of a kind that is not supported', async (t) => {
    const client = quickClient(t, { environment: { HTTPS_PROXY: 'socks5://proxy.test' } });
    const error = await rejectionOf(client.getText(`https://${HOST}/`), NetworkError);
    assert.deepEqual([error.phase, error.attempts], ['proxy', 1]);
    assert.match(error.message, /socks5/u);
  });

  it('has a certificate that nobody vouches for', async (t) => {
    for (const scheme of ['https', 'http'] as const) {
      const net = await behindProxy(t, scheme, { '/a': { body: 'secret' } }, { tls: await certificateOf(t) }, { ca: undefined });
      if (net === undefined) return;
      const error = await rejectionOf(net.client.getText(`${net.origin}/a`), NetworkError);
      assert.deepEqual([error.phase, error.attempts, error.proxyStatus], ['proxy', 1, undefined]);
      assert.match(error.message, /self-signed certificate/u);
    }
  });

  it('breaks TLS open is found out as the server\'s certificate, at the first attempt', async (t) => {
    const net = await behindProxy(t, 'https', { '/a': { body: 'secret' } }, {}, { ca: undefined });
    if (net === undefined) return;
    const error = await rejectionOf(net.client.getText(`${net.origin}/a`), NetworkError);
    assert.deepEqual([error.phase, error.attempts, error.proxy], ['tls', 1, net.proxy.origin]);
  });
});

describe('a proxy that fails', () => {
  it('before it has answered CONNECT is asked again', async (t) => {
    const net = await behindProxy(t, 'https', { '/a': { body: 'good' } }, { faults: ['end', 'hang', 'end'] }, { connectTimeoutMs: 2000 });
    if (net === undefined) return;
    assert.equal((await net.client.getText(`${net.origin}/a`)).text, 'good');
    const silent = await behindProxy(t, 'https', {}, { faults: ['hang', 'hang'] }, { connectTimeoutMs: 100, retries: 1 });
    const error = await rejectionOf((silent ?? net).client.getText(`${net.origin}/a`), NetworkError);
    assert.deepEqual([error.phase, error.attempts], ['proxy', 2]);
    assert.match(error.message, /within connectTimeoutMs/u);
  });

  it('with what is no HTTP is not', async (t) => {
    const net = await behindProxy(t, 'https', {}, { faults: ['junk'] });
    if (net === undefined) return;
    const error = await rejectionOf(net.client.getText(`${net.origin}/a`), NetworkError);
    assert.deepEqual([error.phase, error.attempts], ['proxy', 1]);
    assert.match(error.message, /not HTTP/u);
  });

  it('in the middle of a download has it tried again', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const body = randomBytes(400_000);
    for (const scheme of ['https', 'http'] as const) {
      const net = await behindProxy(t, scheme, { '/zip': { body } }, { faults: [{ cutAfter: 100_000 }, { cutAfter: 5000 }] });
      if (net === undefined) return;
      assert.equal((await net.client.download(`${net.origin}/zip`, { path: join(directory, scheme) })).bytes, body.length);
      assert.equal(net.proxy.requests.length, 3);
      const cut = await behindProxy(t, scheme, { '/zip': { body } }, { faults: [{ cutAfter: 100_000 }] }, { retries: 0 });
      await rejectionOf((cut ?? net).client.download(`${net.origin}/zip`, { path: join(directory, `${scheme}-cut`) }), DownloadIncompleteError);
    }
  });

  it('by falling silent is given up after idleTimeoutMs', async (t) => {
    for (const scheme of ['https', 'http'] as const) {
      const net = await behindProxy(t, scheme, { '/a': { body: 'x'.repeat(400_000) } }, { faults: [{ stallAfter: 50_000 }, { stallAfter: 50_000 }] }, { idleTimeoutMs: 200, retries: 1 });
      if (net === undefined) return;
      const error = await rejectionOf(net.client.getText(`${net.origin}/a`), NetworkError);
      assert.deepEqual([error.phase, error.attempts, error.proxy], ['body', 2, net.proxy.origin]);
      assert.match(error.message, /idleTimeoutMs/u);
    }
  });
});

describe('connections through a proxy', () => {
  it('are no more to one host than allowed', async (t) => {
    for (const scheme of ['https', 'http'] as const) {
      const net = await behindProxy(t, scheme, { '*': (_request, response) => { setTimeout(() => response.end('x'), 5); } }, {}, { connectionsPerHost: 3 });
      if (net === undefined) return;
      await Promise.all(Array.from({ length: 20 }, (_, index) => net.client.getText(`${net.origin}/${index}`)));
      assert.deepEqual([net.proxy.mostConnections(), net.server.requests.length], [3, 20]);
    }
  });

  it('that are not open yet end with an abort, and with the client', async (t) => {
    const proxy = await startProxy(t, { faults: ['hang', 'hang'] });
    const client = createHttpClient({ environment: { HTTPS_PROXY: proxy.origin } });
    const controller = new AbortController();
    const aborted = client.getText(`https://${HOST}/`, { signal: controller.signal });
    await until(() => proxy.requests.length === 1, 'the tunnel is asked for');
    controller.abort();
    assert.ok(await settlesWithin(aborted, 1000));
    await assert.rejects(aborted, { name: 'AbortError' });
    const closed = rejectionOf(client.getText('https://other.test/'), NetworkError);
    await until(() => proxy.requests.length === 2, 'the other tunnel is asked for');
    await client.close();
    assert.match((await closed).message, /closed/u);
    await until(() => proxy.openConnections() === 0, 'all connections are closed');
  });

  it('may end while nobody reads', async (t) => {
    const certificate = await certificateOf(t);
    if (certificate === undefined) return;
    const body = randomBytes(256 * 1024);
    let gone = false;
    const server = await startServer(t, {
      '/': (request, response) => {
        request.socket.on('close', () => { gone = true; });
        response.writeHead(200, { connection: 'close' }).end(body);
      },
    }, certificate);
    const proxy = await startProxy(t, { hosts: { [`${HOST}:443`]: server.port } });
    const dispatchers = createDispatchers(resolveSettings({ ca: certificate.certificate, proxy: { https: proxy.origin } }));
    t.after(() => dispatchers.destroy());
    const { dispatcher, origin, path } = await dispatchers.route(new URL(`https://${HOST}/`));
    const answer = await dispatcher.request({ origin, path, method: 'GET' });
    await until(() => gone, 'the server has closed the connection');
    await new Promise((resolve) => setTimeout(resolve, 100)); // long enough for the end to arrive
    assert.ok(Buffer.from(await answer.body.bytes()).equals(body));
  });

  it('take a proxy that sends the first bytes of the tunnel with its answer', async (t) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined).once('data', () => { socket.end('HTTP/1.1 200 OK\r\n\r\nthis is not TLS'); });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const client = quickClient(t, { environment: { HTTPS_PROXY: `127.0.0.1:${(server.address() as AddressInfo).port}` } });
    const error = await rejectionOf(client.getText(`https://${HOST}/`), NetworkError);
    assert.deepEqual([error.phase, error.attempts], ['tls', 1]);
  });
});
