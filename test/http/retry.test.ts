import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Agent, interceptors, request as bareRequest } from 'undici';
import { HttpStatusError } from '../../src/errors.ts';
import { parseRetryAfter, waitBefore } from '../../src/http/retry.ts';
import { startServer } from '../support/http-server.ts';
import { quickClient, rejectionOf, settlesWithin, until } from './quick-client.ts';

describe('statuses', () => {
  it('408, 429 and 5xx are tried again, others and 501 are not', async (t) => {
    for (const [status, attempts] of [[400, 1], [401, 1], [403, 1], [404, 1], [408, 4], [410, 1], [429, 4], [500, 4], [501, 1], [502, 4], [503, 4], [504, 4], [599, 4]] as const) {
      const server = await startServer(t, { '/': { status, body: 'no' } });
      const error = await rejectionOf(quickClient(t).getText(`${server.origin}/`), HttpStatusError);
      assert.deepEqual([error.status, error.attempts, server.requests.length], [status, attempts, attempts]);
    }
  });

  it('429 and then good, and 500 twice and then good, are good', async (t) => {
    const server = await startServer(t, {
      '/429': [{ status: 429, headers: { 'retry-after': '0' } }, { body: 'good' }],
      '/500': [{ status: 500 }, { status: 500, body: 'x'.repeat(100_000) }, { body: 'good' }],
    });
    for (const path of ['429', '500']) assert.equal((await quickClient(t).getText(`${server.origin}/${path}`)).text, 'good');
    assert.equal(server.requests.length, 5);
  });

  it('are not tried again with retries: 0, nor where the caller takes them for an answer', async (t) => {
    const server = await startServer(t, { '/': { status: 503, body: 'busy' } });
    await rejectionOf(quickClient(t, { retries: 0 }).getText(`${server.origin}/`), HttpStatusError);
    assert.equal((await quickClient(t).getText(`${server.origin}/`, { acceptStatus: [503] })).text, 'busy');
    assert.equal(server.requests.length, 2);
  });

  it('failures are not remembered', async (t) => {
    const server = await startServer(t, { '/': [{ status: 404 }, { body: 'good' }] });
    const client = quickClient(t);
    await rejectionOf(client.getText(`${server.origin}/`), HttpStatusError);
    assert.equal((await client.getText(`${server.origin}/`)).text, 'good');
  });
});

describe('Retry-After', () => {
  it('is the least wait, in both forms', async (t) => {
    const now = Date.UTC(2026, 0, 1, 12);
    const date = (time: number): string => new Date(time).toUTCString();
    const server = await startServer(t, {
      '/seconds': [{ status: 429, headers: { 'retry-after': '1' } }, { body: 'good' }],
      '/date': [{ status: 503, headers: { date: date(now), 'retry-after': date(now + 1000) } }, { body: 'good' }],
    });
    for (const path of ['seconds', 'date']) {
      const began = performance.now();
      await quickClient(t).getText(`${server.origin}/${path}`);
      const waited = performance.now() - began;
      assert.ok(waited >= 990 && waited < 10_000, `${waited} ms`);
    }
  });

  it('is obeyed up to its cap, and told in full', async (t) => {
    const server = await startServer(t, { '/': { status: 429, headers: { 'retry-after': '3600' } } });
    const error = await rejectionOf(quickClient(t, { maxRetryAfterMs: 10, retries: 2 }).getText(`${server.origin}/`), HttpStatusError);
    assert.deepEqual([error.retryAfterMs, error.attempts], [3_600_000, 3]);
  });

  it('wait ends at once with an abort, where the bare package sleeps on', async (t) => {
    const server = await startServer(t, { '/': { status: 503, headers: { 'retry-after': '2' } } });
    const agent = new Agent();
    const bareController = new AbortController();
    const bareWork = bareRequest(`${server.origin}/`, { dispatcher: agent.compose(interceptors.retry({ maxRetries: 1 })), signal: bareController.signal });
    bareWork.catch(() => undefined);
    await until(() => server.requests.length === 1, 'the bare package asked');
    await new Promise((resolve) => setTimeout(resolve, 50));
    bareController.abort();
    assert.equal(await settlesWithin(bareWork, 500), false);
    await agent.destroy();

    const controller = new AbortController();
    const work = quickClient(t).getText(`${server.origin}/`, { signal: controller.signal });
    await until(() => server.requests.length === 2, 'ours asked');
    await new Promise((resolve) => setTimeout(resolve, 50));
    controller.abort();
    assert.ok(await settlesWithin(work, 1000));
    await assert.rejects(work, { name: 'AbortError' });
  });

  it('is read as seconds and as all three kinds of date, against the clock of the server', () => {
    const date = 'Sun, 06 Nov 1994 08:49:37 GMT';
    assert.equal(parseRetryAfter('120', undefined), 120_000);
    assert.equal(parseRetryAfter(' 0 ', undefined), 0);
    assert.equal(parseRetryAfter('Sun, 06 Nov 1994 08:49:47 GMT', date), 10_000);
    assert.equal(parseRetryAfter('Sunday, 06-Nov-94 08:49:47 GMT', date), 10_000);
    assert.equal(parseRetryAfter('Sun Nov  6 08:49:47 1994', date), 10_000);
    assert.equal(parseRetryAfter('Sun, 06 Nov 1994 08:00:00 GMT', date), 0, 'past');
    for (const nonsense of [undefined, '', '-1', '1.5', 'soon', '1e3', '2026-01-01T00:00:00Z']) assert.equal(parseRetryAfter(nonsense, date), undefined);
    const near = parseRetryAfter(new Date(Date.now() + 60_000).toUTCString(), undefined) ?? 0;
    assert.ok(near > 50_000 && near <= 60_000, 'without a Date the local clock serves');
  });
});

describe('back-off', () => {
  const policy = { retries: 10, backoffMs: 500, maxRetryAfterMs: 60_000 };
  it('doubles its span up to 10 s, and takes any part of it', () => {
    assert.deepEqual([1, 2, 3, 4, 5, 6, 20].map((number) => waitBefore(policy, number, undefined, () => 1)), [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    assert.equal(waitBefore(policy, 3, undefined, () => 0), 0);
  });

  it('spreads those that were told the same Retry-After', () => {
    assert.deepEqual([0, 1].map((part) => waitBefore(policy, 1, 2000, () => part)), [2000, 2500]);
    assert.equal(waitBefore(policy, 1, 1e9, () => 0), 60_000);
  });
});
