import assert from 'node:assert/strict';
import { pbkdf2, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { startChild } from '../support/child.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { quickClient } from './quick-client.ts';

const KIB = 1024;

/** A server that answers each connection with these bytes and ends it. */
async function startRawServer(t: TestContext, head: string, body: Uint8Array, finish: (socket: Socket) => void = (socket) => socket.end()): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`);
      socket.write(body, () => { finish(socket); });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe('a connection that ends while nobody reads', () => {
  async function inChild(t: TestContext, how: 'bare' | 'ours', url: string): Promise<unknown> {
    const child = startChild(t, new URL('./fixtures/paused-end.js', import.meta.url), [how, url], { silent: true });
    return child.message().catch(async () => (await child.ended).code);
  }

  it('delivers its whole body, where the bare package ends the process', async (t) => {
    const body = randomBytes(64 * KIB);
    for (const head of [`Content-Length: ${body.length}\r\nConnection: close`, 'Connection: close']) {
      const url = await startRawServer(t, head, body);
      assert.equal(await inChild(t, 'bare', url), 1, 'exit code of an uncaught exception');
      assert.equal(await inChild(t, 'ours', url), body.length);
    }
  });

  it('is an error when the body was cut or the connection reset', async (t) => {
    const body = randomBytes(64 * KIB);
    const head = `Content-Length: ${body.length + 1}\r\nConnection: close`;
    assert.equal(await inChild(t, 'ours', await startRawServer(t, head, body)), 'failed');
    const reset = await startRawServer(t, head, body, (socket) => setTimeout(() => socket.resetAndDestroy(), 100));
    assert.equal(await inChild(t, 'ours', reset), 'failed');
  });

  it('does no harm to a download whose disk is slow', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (let size = 512 * KIB; size <= 1024 * KIB; size += 64 * KIB) {
      const body = randomBytes(size);
      const url = await startRawServer(t, 'Connection: close', body);
      // Writes wait while all threads of libuv's pool compute something else.
      const busy = Promise.all(Array.from({ length: 4 }, () => promisify(pbkdf2)('', '', 50_000, 32, 'sha256')));
      const path = join(directory, `${size}`);
      assert.equal((await quickClient(t).download(url, { path }, { expectedBytes: size })).bytes, size);
      assert.ok((await readFile(path)).equals(body));
      await busy;
    }
  });
});
