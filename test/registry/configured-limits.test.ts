/** Retries and time limits of a CLI configuration, beside options and environment. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HttpStatusError } from '../../src/errors.ts';
import { parseProviderAddress } from '../../src/layout/index.ts';
import { requestLimits } from '../../src/registry/request-limits.ts';
import { RegistryClient } from '../../src/registry/index.ts';
import { startRegistry } from '../support/registry/index.ts';
import { makeHome } from './cli-config/support.ts';

const CONFIGURED = { registryProtocols: { retryCount: 256, requestTimeoutMs: 50_000 }, downloadRetryCount: undefined };

test('the configuration counts where neither environment nor options say anything', () => {
  const downloadRetries = 3;
  assert.deepEqual(requestLimits({}, {}, CONFIGURED), { retries: 256, requestTimeoutMs: 50_000, downloadRetries });
  assert.deepEqual(requestLimits({}, { retries: 0, requestTimeoutMs: 5 }, CONFIGURED), { retries: 0, requestTimeoutMs: 5, downloadRetries: 0 });
  assert.deepEqual(requestLimits({ TF_REGISTRY_DISCOVERY_RETRY: '123', TF_REGISTRY_CLIENT_TIMEOUT: '456' }, { retries: 0 }, CONFIGURED), { retries: 123, requestTimeoutMs: 456_000, downloadRetries: 0 });
});

// The attempts of the reference's own table (cmd/tofu/provider_source_test.go) are one more than these.
test('download_retry_count beats the environment, and an option beats it', () => {
  const retries = (environment: Record<string, string>, downloadRetryCount: number | undefined, option?: number): number | undefined =>
    requestLimits(environment, { downloadRetries: option }, { ...CONFIGURED, downloadRetryCount }).downloadRetries;
  assert.equal(retries({ TF_PROVIDER_DOWNLOAD_RETRY: '1' }, undefined), 1);
  assert.equal(retries({ TF_PROVIDER_DOWNLOAD_RETRY: '7' }, undefined), 7);
  assert.equal(retries({}, 0), 0);
  assert.equal(retries({}, 1), 1);
  assert.equal(retries({ TF_PROVIDER_DOWNLOAD_RETRY: '2' }, 1), 1);
  assert.equal(retries({}, 1, 5), 5);
});

test('a client asks as often as the configuration says', async (t) => {
  const home = await makeHome(t);
  const registry = await startRegistry({ faults: [{ on: 'versions', status: 500 }] });
  t.after(() => registry.close());
  await home.write('.terraformrc', 'registry_protocols {\n  retry_count = 2\n}\n');
  const client = new RegistryClient({ environment: {}, hosts: registry.hosts('example.com'), cliConfig: await home.load(), http: { backoffMs: 1 } });
  t.after(() => client.close());
  await assert.rejects(client.versions(parseProviderAddress('example.com/a/b')), (error) => error instanceof HttpStatusError && error.attempts === 3);
});
