import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, it, type TestContext } from 'node:test';
import { slowDown, takeTurn } from '../../src/http/pace.ts';
import { startServer } from '../support/http-server.ts';
import { quickClient, settlesWithin, until } from './quick-client.ts';

/** What the process publishes of hosts that want to be left alone, while the test runs. */
function slowDowns(t: TestContext): { readonly host: string; readonly status: number; readonly delayMs: number }[] {
  const events: { host: string; status: number; delayMs: number }[] = [];
  const note = (event: unknown): void => { events.push(event as { host: string; status: number; delayMs: number }); };
  subscribe('rwx-cache:http:slow-down', note);
  t.after(() => unsubscribe('rwx-cache:http:slow-down', note));
  return events;
}

describe('a host that answers 429', () => {
  it('is left alone by the whole process, and then asked by few at first', async (t) => {
    const arrivals: { at: number; together: number }[] = [];
    let together = 0;
    const server = await startServer(t, {
      '*': (_request, response) => {
        together += 1;
        arrivals.push({ at: performance.now(), together });
        const first = arrivals.length === 1;
        setTimeout(() => {
          together -= 1;
          response.writeHead(first ? 429 : 200, first ? { 'retry-after': '1' } : {}).end('good');
        }, first ? 0 : 20);
      },
    });
    const other = await startServer(t, { '/': { body: 'elsewhere' } });
    const events = slowDowns(t);
    const first = quickClient(t).getText(`${server.origin}/`);
    await until(() => events.length === 1, 'the answer has come');
    const told = performance.now();
    const clients = [quickClient(t), quickClient(t)];
    const rest = Array.from({ length: 12 }, (_, index) => clients[index % 2]?.getText(`${server.origin}/${index}`));
    assert.equal((await quickClient(t).getText(`${other.origin}/`)).text, 'elsewhere');
    assert.ok(performance.now() - told < 950, 'another host is not slowed down');
    assert.equal(server.requests.length, 1);
    await Promise.all([first, ...rest]);
    assert.equal(arrivals.length, 14);
    assert.deepEqual(arrivals.slice(1).filter(({ at }) => at - told < 950), [], 'nobody asked within the pause');
    assert.deepEqual(arrivals.slice(1, 3).map((arrival) => arrival.together), [1, 1], 'the second waited for the first one\u2019s answer');
    assert.deepEqual(events, [{ host: new URL(server.origin).host, status: 429, delayMs: 1000 }]);
  });

  it('holds nobody up for longer than maxRetryAfterMs, nor after an abort', async (t) => {
    const server = await startServer(t, { '/': [{ status: 429, headers: { 'retry-after': '3600' } }, { body: 'good' }] });
    const events = slowDowns(t);
    const patient = quickClient(t);
    const stop = new AbortController();
    const first = patient.getText(`${server.origin}/`, { signal: stop.signal });
    await until(() => events.length === 1, 'the answer has come');
    const second = patient.getText(`${server.origin}/`, { signal: stop.signal });
    assert.equal(await settlesWithin(second, 100), false);
    stop.abort();
    assert.ok(await settlesWithin(Promise.allSettled([first, second]), 1000));
    await assert.rejects(second, { name: 'AbortError' });
    assert.equal(server.requests.length, 1);
    assert.equal((await quickClient(t, { maxRetryAfterMs: 50 }).getText(`${server.origin}/`)).text, 'good');
  });

  it('and names no time is left alone for longer each time', async (t) => {
    const events = slowDowns(t);
    const policy = { backoffMs: 20, maxRetryAfterMs: 60_000 };
    slowDown('doubling.test', 429, undefined, policy);
    slowDown('doubling.test', 429, undefined, policy); // answers to what was under way are one complaint
    (await takeTurn('doubling.test', 10_000, AbortSignal.timeout(10_000))).end(false);
    slowDown('doubling.test', 429, undefined, policy);
    assert.deepEqual(events.map(({ delayMs }) => delayMs), [20, 20, 40]);
  });

  it('is told from one that is only down', async (t) => {
    const events = slowDowns(t);
    const server = await startServer(t, { '/down': [{ status: 503 }, { body: 'good' }], '/busy': [{ status: 503, headers: { 'retry-after': '0' } }, { body: 'good' }] });
    await quickClient(t).getText(`${server.origin}/down`);
    assert.equal(events.length, 0);
    await quickClient(t).getText(`${server.origin}/busy`);
    assert.deepEqual(events.map(({ status }) => status), [503]);
  });
});

describe('requests to one host', () => {
  it('are no more than allowed, whatever its ports, and an abort leaves the queue', async (t) => {
    let together = 0;
    let most = 0;
    const route = (_request: unknown, response: { end(text: string): void }): void => {
      together += 1;
      most = Math.max(most, together);
      setTimeout(() => {
        together -= 1;
        response.end('x');
      }, 5);
    };
    const servers = [await startServer(t, { '*': route }), await startServer(t, { '*': route }), await startServer(t, { '*': { stallAfter: -1 } })];
    const client = quickClient(t, { connectionsPerHost: 3 });
    await Promise.all(Array.from({ length: 24 }, (_, index) => client.getText(`${String(servers[index % 2]?.origin)}/`)));
    assert.equal(most, 3);
    const stop = new AbortController();
    const stuck = Array.from({ length: 5 }, () => client.getText(`${String(servers[2]?.origin)}/`, { signal: stop.signal }));
    await until(() => servers[2]?.requests.length === 3, 'three are under way');
    stop.abort();
    assert.ok(await settlesWithin(Promise.allSettled(stuck), 1000));
    assert.equal((await client.getText(`${String(servers[0]?.origin)}/`)).text, 'x', 'the places are free again');
  });
});
