import assert from 'node:assert/strict';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Agent, request as bareRequest } from 'undici';
import { NetworkError } from '../../src/errors.ts';
import { startServer } from '../support/http-server.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { openFiles, quickClient, rejectionOf, settlesWithin, until } from './quick-client.ts';

/** A port that accepts connections and never says a word: a TLS handshake with it does not end. */
async function startSilentPort(t: TestContext): Promise<{ readonly port: number; readonly sockets: readonly Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

/** An abort promises 100 ms; a loaded machine gets more, and still far less than any limit or wait in these tests. */
const PROMPT_MS = 1000;

describe('an abort', () => {
  async function endsAtOnce(controller: AbortController, work: Promise<unknown>): Promise<void> {
    const reason = new Error('changed my mind');
    controller.abort(reason);
    assert.ok(await settlesWithin(work, PROMPT_MS), 'still waiting');
    await assert.rejects(work, (error) => error === reason);
  }

  it('before the call sends nothing', async (t) => {
    const server = await startServer(t, { '/': { body: 'x' } });
    const reason = new Error('never mind');
    await assert.rejects(quickClient(t).getText(`${server.origin}/`, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
    assert.equal(server.requests.length, 0);
  });

  it('ends a call while it connects', async (t) => {
    const silent = await startSilentPort(t);
    const controller = new AbortController();
    const work = quickClient(t).getText(`https://127.0.0.1:${silent.port}/`, { signal: controller.signal });
    await until(() => silent.sockets.length === 1, 'it connects');
    await endsAtOnce(controller, work);
  });

  it('ends a call that waits for headers', async (t) => {
    const server = await startServer(t, { '/': { stallAfter: -1 } });
    const controller = new AbortController();
    const work = quickClient(t).getText(`${server.origin}/`, { signal: controller.signal });
    await until(() => server.requests.length === 1, 'it asked');
    await endsAtOnce(controller, work);
    await until(() => server.openConnections() === 0, 'its connection is closed');
  });

  it('ends a call behind a redirect', async (t) => {
    const server = await startServer(t, { '/': { status: 302, headers: { location: '/next' } }, '/next': { stallAfter: -1 } });
    const controller = new AbortController();
    const work = quickClient(t).getText(`${server.origin}/`, { signal: controller.signal });
    await until(() => server.requests.length === 2, 'it was redirected');
    await endsAtOnce(controller, work);
  });

  it('ends a call within a body, and leaves the file of a download closed', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const path = join(directory, 'zip');
    const server = await startServer(t, { '/': { body: Buffer.alloc(3_000_000), stallAfter: 2_500_000 } });
    const controller = new AbortController();
    let received = 0;
    const work = quickClient(t).download(`${server.origin}/`, { path }, { signal: controller.signal, onProgress: (progress) => { received = progress.receivedBytes; } });
    await until(() => received > 2_000_000, 'most has arrived');
    await endsAtOnce(controller, work);
    assert.ok(!(await openFiles()).includes(path));
    await stat(path);
    await until(() => server.openConnections() === 0, 'its connection is closed');
  });

  it('ends a call that waits behind a busy connection, where the bare package waits on', async (t) => {
    const server = await startServer(t, { '/busy': { body: 'x'.repeat(10), stallAfter: 5 }, '/': { body: 'x' } });
    const bare = new Agent({ connections: 1 });
    t.after(() => bare.destroy());
    const busy = await bareRequest(`${server.origin}/busy`, { dispatcher: bare });
    busy.body.on('error', () => undefined);
    const bareController = new AbortController();
    const bareWork = bareRequest(`${server.origin}/`, { dispatcher: bare, signal: bareController.signal });
    bareWork.catch(() => undefined);
    bareController.abort();
    assert.equal(await settlesWithin(bareWork, 300), false);

    const client = quickClient(t, { connectionsPerHost: 1 });
    const first = client.getText(`${server.origin}/busy`);
    first.catch(() => undefined);
    await until(() => server.requests.length === 2, 'the connection is busy');
    const controller = new AbortController();
    const work = client.getText(`${server.origin}/`, { signal: controller.signal });
    await new Promise((resolve) => setImmediate(resolve));
    await endsAtOnce(controller, work);
    assert.equal(server.requests.length, 2, 'it was never sent');
  });

  it('of one caller leaves the others alone', async (t) => {
    const server = await startServer(t, { '/': (_, response) => setTimeout(() => response.end('x'), 50) });
    const client = quickClient(t);
    const controller = new AbortController();
    const [aborted, other] = [client.getText(`${server.origin}/`, { signal: controller.signal }), client.getText(`${server.origin}/`)];
    await endsAtOnce(controller, aborted);
    assert.equal((await other).text, 'x');
  });

  it('signal may be shared by many calls without a warning', async (t) => {
    const warnings: Error[] = [];
    const listener = (warning: Error): number => warnings.push(warning);
    process.on('warning', listener);
    t.after(() => process.off('warning', listener));
    const server = await startServer(t, { '/': { body: 'x' } });
    const client = quickClient(t);
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 40 }, () => client.getText(`${server.origin}/`, { signal })));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(warnings, []);
  });
});

describe('a limit', () => {
  it('ends an attempt that does not connect', async (t) => {
    const silent = await startSilentPort(t);
    const error = await rejectionOf(quickClient(t, { connectTimeoutMs: 50, retries: 1 }).getText(`https://127.0.0.1:${silent.port}/`), NetworkError);
    assert.deepEqual([error.phase, error.attempts, silent.sockets.length], ['connect', 2, 2]);
    assert.match(error.message, /connectTimeoutMs/u);
  });

  it('ends an attempt without headers, and the next one may be good', async (t) => {
    const server = await startServer(t, { '/': [{ stallAfter: -1 }, { body: 'good' }], '/never': { stallAfter: -1 } });
    const client = quickClient(t, { headersTimeoutMs: 50, retries: 1 });
    assert.equal((await client.getText(`${server.origin}/`)).text, 'good');
    const error = await rejectionOf(client.getText(`${server.origin}/never`), NetworkError);
    assert.deepEqual([error.phase, error.attempts], ['headers', 2]);
  });

  it('ends a call as a whole, where one is given, also between its attempts', async (t) => {
    const server = await startServer(t, { '/stalled': { body: 'xx', stallAfter: 1 }, '/busy': { status: 503, headers: { 'retry-after': '30' } } });
    const client = quickClient(t, { totalTimeoutMs: 100 });
    const stalled = await rejectionOf(client.getText(`${server.origin}/stalled`), NetworkError);
    assert.deepEqual([stalled.phase, stalled.attempts], ['body', 1]);
    const busy = await rejectionOf(client.getText(`${server.origin}/busy`), NetworkError);
    assert.match(busy.message, /totalTimeoutMs/u);
  });
});

describe('connection failures', () => {
  it('are retried, and named', async (t) => {
    const server = await startServer(t, {});
    await server.close();
    const error = await rejectionOf(quickClient(t, { retries: 2 }).getText(`${server.origin}/`), NetworkError);
    assert.deepEqual([error.phase, error.attempts], ['connect', 3]);
    assert.match(error.message, /ECONNREFUSED/u);
    assert.equal((error.cause as NodeJS.ErrnoException).code, 'ECONNREFUSED');
  });

  it('before the headers are retried', async (t) => {
    let asked = 0;
    const server = await startServer(t, {
      '/': (request, response) => {
        asked += 1;
        if (asked < 3) request.socket.resetAndDestroy();
        else response.end('good');
      },
    });
    assert.equal((await quickClient(t).getText(`${server.origin}/`)).text, 'good');
    assert.equal(asked, 3);
  });

  it('of name resolution are connection failures', async (t) => {
    const error = await rejectionOf(quickClient(t, { retries: 1, connectTimeoutMs: 2000 }).getText('http://registry.invalid/'), NetworkError);
    assert.deepEqual([error.phase, error.attempts], ['connect', 2]);
  });
});
