import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { NetworkError } from '../../src/errors.ts';
import { startServer } from '../support/http-server.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { quickClient, rejectionOf } from './quick-client.ts';

describe('requestTimeoutMs', () => {
  it('ends a request before its headers and within its body, and has it tried again', async (t) => {
    let drips = 0;
    const server = await startServer(t, {
      '/silent': [{ stallAfter: -1 }, { body: 'good' }],
      '/drip': (_request, response) => {
        drips += 1;
        const timer = setInterval(() => response.write('.'), 20); // never silent for long
        response.on('close', () => { clearInterval(timer); });
      },
    });
    const client = quickClient(t, { requestTimeoutMs: 300, retries: 1 });
    assert.equal((await client.getText(`${server.origin}/silent`)).text, 'good');
    const error = await rejectionOf(client.getText(`${server.origin}/drip`), NetworkError);
    assert.deepEqual([error.phase, error.attempts, drips], ['body', 2, 2]);
    assert.match(error.message, /requestTimeoutMs/u);
  });

  it('is not for downloads, which have retries of their own', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const server = await startServer(t, {
      '/slow': (_request, response) => { setTimeout(() => response.end('whole'), 400); },
      '/bad': { status: 500 },
    });
    const client = quickClient(t, { requestTimeoutMs: 50, retries: 0, downloadRetries: 2 });
    assert.equal((await client.download(`${server.origin}/slow`, { path: join(directory, 'slow') })).bytes, 5);
    await assert.rejects(client.download(`${server.origin}/bad`, { path: join(directory, 'bad') }), { attempts: 3 });
    await assert.rejects(client.getText(`${server.origin}/bad`), { attempts: 1 });
  });
});
