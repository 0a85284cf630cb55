import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Agent, interceptors, request as bareRequest } from 'undici';
import { DownloadIncompleteError, NetworkError, ResponseTooLargeError } from '../../src/errors.ts';
import { startServer } from '../support/http-server.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { quickClient, rejectionOf } from './quick-client.ts';

const KIB = 1024;
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('size limits', () => {
  it('refuse a text of 2 MiB, by its length or as it comes, at the first attempt', async (t) => {
    const body = 'x'.repeat(2 * KIB * KIB);
    for (const framing of ['length', 'chunked', 'close'] as const) {
      const server = await startServer(t, { '/': { body, framing } });
      const error = await rejectionOf(quickClient(t).getText(`${server.origin}/`), ResponseTooLargeError);
      assert.deepEqual([error.limitBytes, server.requests.length], [KIB * KIB, 1]);
      assert.equal((await quickClient(t).getText(`${server.origin}/`, { maxBytes: 2 * KIB * KIB })).text, body);
    }
  });

  it('stop a download that is larger than announced elsewhere, or than allowed', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const endless = await startServer(t, {
      '/': (_, response) => {
        const more = (): void => {
          if (!response.destroyed) response.write(Buffer.alloc(64 * KIB), more);
        };
        more();
      },
    });
    const known = await startServer(t, { '/': { body: Buffer.alloc(100 * KIB) } });
    let number = 0;
    for (const { origin } of [endless, known]) {
      for (const limits of [{ expectedBytes: 10 * KIB }, { maxBytes: 10 * KIB }]) {
        const error = await rejectionOf(quickClient(t).download(`${origin}/`, { path: join(directory, `${number++}`) }, limits), ResponseTooLargeError);
        assert.equal(error.limitBytes, 10 * KIB);
      }
    }
    assert.deepEqual([endless.requests.length, known.requests.length], [2, 2]);
  });
});

describe('a body that breaks off', () => {
  const body = randomBytes(KIB * KIB);

  it('at any 64 KiB is noticed, and never an answer', async (t) => {
    const directory = await withTemporaryDirectory(t);
    for (let cut = 0; cut < body.length; cut += 64 * KIB) {
      for (const framing of ['length', 'chunked', 'close'] as const) {
        const server = await startServer(t, { '/': { body, cutAfter: cut, framing } });
        const work = quickClient(t, { retries: 1 }).download(`${server.origin}/`, { path: join(directory, `${framing}-${cut}`) }, { expectedBytes: body.length });
        const error = await rejectionOf(work, DownloadIncompleteError);
        assert.deepEqual([error.expectedBytes, server.requests.length], [body.length, 2]);
        assert.ok(error.receivedBytes <= cut, `${error.receivedBytes} of ${cut}`);
      }
    }
  });

  it('starts again at its first byte, with hash, file and progress', async (t) => {
    const path = join(await withTemporaryDirectory(t), 'zip');
    const other = randomBytes(5 * KIB * KIB);
    const server = await startServer(t, { '/': [{ body: other, cutAfter: 3 * KIB * KIB + 5 }, { body: other, stallAfter: 2 * KIB * KIB }, { body }] });
    const seen: number[] = [];
    const result = await quickClient(t, { idleTimeoutMs: 100 }).download(`${server.origin}/`, { path }, { onProgress: ({ receivedBytes }) => seen.push(receivedBytes) });
    assert.deepEqual([result.bytes, result.sha256, server.requests.length], [body.length, sha256(body), 3]);
    assert.ok((await readFile(path)).equals(body), 'nothing of the longer body is left');
    assert.equal(seen.filter((bytes) => bytes === 0).length, 3);
    assert.equal(seen.at(-1), body.length);
  });

  it('is never joined with another one, as the bare package does', async (t) => {
    const [a, b] = ['A', 'B'].map((letter) => letter.repeat(100_000)) as [string, string];
    const served = (): ((request: IncomingMessage, response: ServerResponse) => void) => {
      let asked = 0;
      return (request, response) => {
        asked += 1;
        if (asked === 1) {
          response.writeHead(200, { 'content-length': a.length });
          response.write(a.slice(0, 50_000), () => response.socket?.destroySoon());
          return;
        }
        const from = /^bytes=(\d+)-/u.exec(request.headers.range ?? '')?.[1];
        if (from === undefined) response.end(b);
        else response.writeHead(206, { 'content-range': `bytes ${from}-${b.length - 1}/${b.length}`, 'content-length': b.length - Number(from) }).end(b.slice(Number(from)));
      };
    };
    const bare = new Agent().compose(interceptors.retry({ minTimeout: 1 }));
    const forBare = await startServer(t, { '/': served() });
    const spliced = await (await bareRequest(`${forBare.origin}/`, { dispatcher: bare })).body.text();
    await bare.destroy();
    assert.ok(spliced.includes('A') && spliced.includes('B'));
    const server = await startServer(t, { '/': served() });
    assert.equal((await quickClient(t).getText(`${server.origin}/`)).text, b);
  });

  it('by a reset is one that breaks off', async (t) => {
    const server = await startServer(t, {
      '/': (_, response) => {
        response.writeHead(200, { 'content-length': 1000 });
        response.write('x', () => setTimeout(() => response.socket?.resetAndDestroy(), 20));
      },
    });
    const error = await rejectionOf(quickClient(t, { retries: 1 }).getText(`${server.origin}/`), DownloadIncompleteError);
    assert.deepEqual([error.expectedBytes, error.receivedBytes, server.requests.length], [1000, 1, 2]);
  });

  it('at the end of its connection is only noticed by expectedBytes; the bare package resolves', async (t) => {
    const server = await startServer(t, { '/': { body, framing: 'close', cutAfter: 500_000 } });
    assert.equal((await (await bareRequest(`${server.origin}/`)).body.bytes()).length, 500_000);
    const path = join(await withTemporaryDirectory(t), 'zip');
    await rejectionOf(quickClient(t, { retries: 1 }).download(`${server.origin}/`, { path }, { expectedBytes: body.length }), DownloadIncompleteError);
  });

  it('of a length that is complete and still not the expected one is not asked for again', async (t) => {
    const server = await startServer(t, { '/': { body: '<html>Please log in</html>' } });
    const path = join(await withTemporaryDirectory(t), 'zip');
    const error = await rejectionOf(quickClient(t).download(`${server.origin}/`, { path }, { expectedBytes: 1000 }), DownloadIncompleteError);
    assert.deepEqual([error.receivedBytes, server.requests.length], [26, 1]);
  });

  it('by falling silent is retried, where the bare package gives up', async (t) => {
    const route = [{ body: 'x'.repeat(100), stallAfter: 10 }, { body: 'good' }];
    const forBare = await startServer(t, { '/': route });
    const agent = new Agent({ bodyTimeout: 100 });
    await assert.rejects(bareRequest(`${forBare.origin}/`, { dispatcher: agent.compose(interceptors.retry({ minTimeout: 1 })) }).then((answer) => answer.body.text()));
    await agent.destroy();
    assert.equal(forBare.requests.length, 1);

    const server = await startServer(t, { '/': route, '/never': { body: 'x'.repeat(100), stallAfter: 10 } });
    const client = quickClient(t, { idleTimeoutMs: 100, retries: 1 });
    assert.equal((await client.getText(`${server.origin}/`)).text, 'good');
    const error = await rejectionOf(client.getText(`${server.origin}/never`), NetworkError);
    assert.deepEqual([error.phase, error.attempts], ['body', 2]);
  });
});

describe('an encoded body', () => {
  it('is refused, and not hashed as something that it is not; the bare package hands out the compressed bytes', async (t) => {
    const server = await startServer(t, { '/': { body: gzipSync('hello'), headers: { 'content-encoding': 'gzip' } }, '/identity': { body: 'hello', headers: { 'content-encoding': 'Identity' } } });
    assert.equal((await (await bareRequest(`${server.origin}/`)).body.bytes())[0], 0x1f);
    const client = quickClient(t);
    const path = join(await withTemporaryDirectory(t), 'zip');
    for (const call of [() => client.download(`${server.origin}/`, { path }), () => client.getText(`${server.origin}/`)]) {
      const error = await rejectionOf<NetworkError>(call(), NetworkError);
      assert.deepEqual([error.phase, error.attempts], ['body', 1]);
      assert.match(error.message, /"gzip"/u);
    }
    assert.equal(server.requests.at(-1)?.headers['accept-encoding'], 'identity');
    assert.equal((await client.getText(`${server.origin}/identity`)).text, 'hello');
  });
});
