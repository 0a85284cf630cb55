import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { withTemporaryDirectory } from './support/temp.ts';

/** A program that hangs is ended after this, and the test fails. */
const LIMIT_MS = 30_000;

async function run(program: string): Promise<string> {
  return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { timeout: LIMIT_MS })).stdout;
}

function source(path: string): string {
  return JSON.stringify(new URL(path, import.meta.url).href);
}

describe('a thread', () => {
  it('that is never called does not keep its process alive', async () => {
    const output = await run(`
      const { startSignatureThread } = await import(${source('../src/verify/signature-thread.js')});
      startSignatureThread();
      console.log('started');`);
    assert.equal(output, 'started\n');
  });

  it('of a cache that failed and was not closed does not either', async (t) => {
    const directory = await withTemporaryDirectory(t);
    const output = await run(`
      const { ProviderCache } = await import(${source('../src/index.js')});
      const cache = await ProviderCache.open({ directory: ${JSON.stringify(directory)}, hosts: { 'registry.example.com': {} }, environment: {} });
      await cache.ensure({ source: 'registry.example.com/acme/thing', version: '1.2.3' }).catch((error) => console.log(error.code));`);
    assert.equal(output, 'ERR_SERVICE_NOT_PROVIDED\n');
  });

  it('keeps it alive for as long as an answer is awaited', async () => {
    const output = await run(`
      const { startSignatureThread } = await import(${source('../src/verify/signature-thread.js')});
      const check = { sums: Buffer.from('x'), signature: Buffer.from('y'), keys: ['z'] };
      startSignatureThread().verify(check).catch((error) => console.log(error.code));`);
    assert.equal(output, 'ERR_SIGNATURE_INVALID\n');
  });
});
