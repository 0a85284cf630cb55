import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { DownloadIncompleteError, HttpStatusError } from '../../src/errors.ts';
import type { DownloadOptions, DownloadProgress, DownloadResult, HttpClientOptions } from '../../src/http/index.ts';
import { LEAST_PROGRESS_BYTES } from '../../src/http/transfer.ts';
import { startServer, type TestServer } from '../support/http-server.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { quickClient, rejectionOf } from './quick-client.ts';

const KIB = 1024;
const BODY = randomBytes(2048 * KIB);
const OTHER = randomBytes(2048 * KIB);
const TAG = '"one"';

/** How one request is answered; by default as a server does that knows ranges. */
interface Turn {
  readonly body?: Buffer;
  /** `''`: none. */
  readonly etag?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The connection ends after so many bytes of the answer. */
  readonly cut?: number;
  /** Nothing more comes after so many. */
  readonly stall?: number;
  /** Answers with the whole, whatever is asked for. */
  readonly whole?: boolean;
  /** Answers with the range, whatever tag it was asked under. */
  readonly careless?: boolean;
  /** The Content-Range instead of the right one. */
  readonly contentRange?: (from: number, size: number) => string;
  readonly status?: number;
  readonly chunked?: boolean;
}

/** Answers each request by its turn, the last one again and again. */
function turns(...script: readonly Turn[]): (request: IncomingMessage, response: ServerResponse) => void {
  let count = 0;
  return (request, response) => {
    const turn = script[Math.min(count, script.length - 1)] ?? {};
    count += 1;
    const { body = BODY, etag = TAG, contentRange = (from: number, size: number) => `bytes ${from}-${size - 1}/${size}` } = turn;
    if (turn.status !== undefined) {
      response.writeHead(turn.status, { ...(etag === '' ? {} : { etag }), ...turn.headers }).end();
      return;
    }
    const asked = /^bytes=(\d+)-$/u.exec(request.headers.range ?? '')?.[1];
    const from = asked !== undefined && turn.whole !== true && (turn.careless === true || request.headers['if-range'] === etag) ? Number(asked) : undefined;
    const bytes = body.subarray(from ?? 0);
    response.writeHead(from === undefined ? 200 : 206, {
      ...(etag === '' ? {} : { etag }),
      ...(turn.chunked === true ? {} : { 'content-length': bytes.length }),
      ...(from === undefined ? {} : { 'content-range': contentRange(from, body.length) }),
      ...turn.headers,
    });
    if (turn.cut !== undefined) response.write(bytes.subarray(0, turn.cut), () => response.socket?.destroySoon());
    else if (turn.stall !== undefined) response.write(bytes.subarray(0, turn.stall));
    else response.end(bytes);
  };
}

interface Downloaded {
  readonly result: Promise<DownloadResult>;
  readonly server: TestServer;
  readonly path: string;
  readonly progress: DownloadProgress[];
  /** The first byte that each request asked for. */
  readonly asked: () => number[];
}

async function download(t: TestContext, script: readonly Turn[], options: { readonly client?: HttpClientOptions; readonly request?: DownloadOptions } = {}): Promise<Downloaded> {
  const server = await startServer(t, { '/': turns(...script) });
  const path = join(await withTemporaryDirectory(t), 'zip');
  const progress: DownloadProgress[] = [];
  const result = quickClient(t, options.client).download(`${server.origin}/`, { path }, { onProgress: (event) => progress.push(event), ...options.request });
  return { result, server, path, progress, asked: () => server.requests.map(({ headers }) => Number(/^bytes=(\d+)-$/u.exec(headers.range ?? '')?.[1] ?? 0)) };
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function assertIs({ result, path }: Downloaded, body = BODY): Promise<void> {
  const { bytes, sha256: digest } = await result;
  assert.deepEqual([bytes, digest], [body.length, sha256(body)]);
  assert.ok((await readFile(path)).equals(body));
}

const NO_RETRY = { client: { retries: 0 } };

describe('a body that breaks off', () => {
  it('goes on where it broke off, under its strong tag, with hash, file and progress', async (t) => {
    const run = await download(t, [{ cut: 700 * KIB + 5 }, { cut: 700 * KIB + 5 }, {}], NO_RETRY);
    await assertIs(run);
    const [first, second = 0, third = 0, ...more] = run.asked();
    assert.deepEqual([first, more.length], [0, 0]);
    assert.ok(second > 500 * KIB && second <= 700 * KIB + 5 && third > second, `${second}, ${third}`);
    assert.deepEqual(run.server.requests.map(({ headers }) => headers['if-range']), [undefined, TAG, TAG]);
    const received = run.progress.map(({ receivedBytes }) => receivedBytes);
    assert.deepEqual(received, [...received].sort((a, b) => a - b), 'it never starts again');
    assert.ok(run.progress.every(({ totalBytes }) => totalBytes === BODY.length));
    assert.equal(received.at(-1), BODY.length);
  });

  it('goes on after silence, too, and where its length was not announced', async (t) => {
    const silent = await download(t, [{ stall: 500 * KIB }, {}], { client: { retries: 0, idleTimeoutMs: 200 } });
    await assertIs(silent);
    assert.ok((silent.asked()[1] ?? 0) > 0);
    const chunked = await download(t, [{ cut: 500 * KIB, chunked: true }, { chunked: true }], NO_RETRY);
    await assertIs(chunked);
    assert.ok((chunked.asked()[1] ?? 0) > 0);
  });

  it('follows its redirects anew, since a signed URL expires, and asks every origin for the range', async (t) => {
    const store = await startServer(t, { '*': turns({ cut: 500 * KIB }, {}) });
    let signed = 0;
    const front = await startServer(t, { '/': (_request, response) => response.writeHead(302, { location: `${store.origin}/zip?signature=${(signed += 1)}` }).end() });
    const path = join(await withTemporaryDirectory(t), 'zip');
    assert.equal((await quickClient(t).download(`${front.origin}/`, { path })).sha256, sha256(BODY));
    assert.deepEqual(store.requests.map((request) => request.path), ['/zip?signature=1', '/zip?signature=2']);
    assert.match(store.requests[1]?.headers.range ?? '', /^bytes=\d+-$/u);
  });

  for (const [name, etag, headers] of [
    ['a weak tag', 'W/"one"', {}],
    ['no tag', '', {}],
    ['a time stamp', '', { 'last-modified': 'Mon, 01 Jan 2024 00:00:00 GMT', date: 'Wed, 01 Jan 2025 00:00:00 GMT' }],
    ['a tag without quotes', 'one', {}],
    ['a tag, and no ranges by its own words', TAG, { 'accept-ranges': 'none' }],
  ] as const) {
    it(`starts again under ${name}`, async (t) => {
      const run = await download(t, [{ etag, headers, cut: 700 * KIB }, { etag, headers }]);
      await assertIs(run);
      assert.deepEqual(run.asked(), [0, 0]);
      assert.equal(run.progress.filter(({ receivedBytes }) => receivedBytes === 0).length, 2);
    });
  }
});

describe('a range', () => {
  it('that is answered by the whole (200) starts again from that answer', async (t) => {
    const run = await download(t, [{ cut: 700 * KIB }, { whole: true }], NO_RETRY);
    await assertIs(run);
    assert.equal(run.server.requests.length, 2);
    assert.equal(run.progress.filter(({ receivedBytes }) => receivedBytes === 0).length, 2);
  });

  it('whose tag has changed brings the other one from its start, and goes on under the new tag', async (t) => {
    const changed = { body: OTHER, etag: '"two"' };
    const run = await download(t, [{ cut: 700 * KIB }, { ...changed, cut: 900 * KIB }, changed], NO_RETRY);
    await assertIs(run, OTHER);
    assert.deepEqual(run.server.requests.map(({ headers }) => headers['if-range']), [undefined, TAG, '"two"']);
  });

  const wrong: readonly (readonly [string, Turn])[] = [
    ['from another byte', { contentRange: (from, size) => `bytes ${from - 1}-${size - 1}/${size}` }],
    ['of a larger whole', { chunked: true, contentRange: (from, size) => `bytes ${from}-${size}/${size + 1}` }],
    ['without the last byte', { contentRange: (from, size) => `bytes ${from}-${size - 2}/${size}` }],
    ['of unknown size', { contentRange: (from, size) => `bytes ${from}-${size - 1}/*` }],
    ['in other units', { contentRange: (from, size) => `pages ${from}-${size - 1}/${size}` }],
    ['in parts', { headers: { 'content-type': 'multipart/byteranges; boundary=x' }, contentRange: () => '' }],
    ['of another length', { headers: { 'content-length': '1000' } }],
    ['with a changed tag', { careless: true, etag: '"two"', body: OTHER }],
    ['with a weak tag', { careless: true, etag: 'W/"one"' }],
    ['without a tag', { careless: true, etag: '' }],
    ['that is not there (416)', { status: 416, headers: { 'content-range': `bytes */${BODY.length}` } }],
  ];
  for (const [name, turn] of wrong) {
    it(`${name} is not joined: everything again, and no more ranges`, async (t) => {
      const run = await download(t, [{ cut: 700 * KIB }, turn, { cut: 900 * KIB }, {}], { client: { retries: 1 } });
      await assertIs(run);
      assert.deepEqual(run.asked().map((from) => from > 0), [false, true, false, false]);
    });
  }

  it('that brings other bytes is found out by the digest: from scratch, once, by itself', async (t) => {
    const lying = { careless: true, body: OTHER };
    const run = await download(t, [{ cut: 700 * KIB }, lying, { cut: 900 * KIB }, {}], { client: { retries: 0 }, request: { expectedSha256: sha256(BODY) } });
    await assertIs(run);
    assert.deepEqual(run.asked().map((from) => from > 0), [false, true, false, true]);

    const always = await download(t, [{ cut: 700 * KIB }, lying, { cut: 700 * KIB }, lying], { client: { retries: 0 }, request: { expectedSha256: sha256(BODY) } });
    assert.notEqual((await always.result).sha256, sha256(BODY));
    assert.equal(always.server.requests.length, 4);

    const unjoined = await download(t, [{ body: OTHER }], { request: { expectedSha256: sha256(BODY) } });
    assert.equal((await unjoined.result).sha256, sha256(OTHER));
    assert.equal(unjoined.server.requests.length, 1);
  });
});

describe('an attempt that made progress', () => {
  it('uses up no retry, however many there are', async (t) => {
    const run = await download(t, [{ cut: 160 * KIB }], NO_RETRY);
    await assertIs(run);
    assert.ok(run.server.requests.length >= 10, `${run.server.requests.length} requests`);
  });

  it('is one that went further than all before: a server that starts at 0 each time and cuts is given up', async (t) => {
    const run = await download(t, [{ whole: true, cut: 700 * KIB }], { client: { retries: 2 } });
    const error = await rejectionOf(run.result, DownloadIncompleteError);
    assert.equal(error.expectedBytes, BODY.length);
    // Where the end overtakes some bytes, an attempt may get a little further than the first.
    const { length } = run.server.requests;
    assert.ok(length >= 4 && length <= 8, `${length} requests`);
  });

  it('is not one that brought some bytes only', async (t) => {
    const run = await download(t, [{ cut: LEAST_PROGRESS_BYTES - 1 }], { client: { retries: 2 } });
    await rejectionOf(run.result, DownloadIncompleteError);
    assert.equal(run.server.requests.length, 3);
  });

  it('is not one that was refused: that uses one up, and the next goes on at the same byte', async (t) => {
    const run = await download(t, [{ cut: 700 * KIB }, { status: 503 }, {}], { client: { retries: 1 } });
    await assertIs(run);
    const [, second = 0, third] = run.asked();
    assert.ok(second > 0);
    assert.equal(third, second);
    const refused = await download(t, [{ cut: 700 * KIB }, { status: 503 }], { client: { retries: 1 } });
    await rejectionOf(refused.result, HttpStatusError);
    assert.equal(refused.server.requests.length, 3);
  });
});
