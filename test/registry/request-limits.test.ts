import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RegistryClient } from '../../src/registry/index.ts';
import { parseProviderAddress } from '../../src/layout/index.ts';
import { requestLimits } from '../../src/registry/request-limits.ts';
import { startRegistry } from '../support/registry/index.ts';

describe('TF_* limits', () => {
  it('count where they are whole numbers above 0, and beat the options then', () => {
    const rows: readonly (readonly [Record<string, string>, Parameters<typeof requestLimits>[1], readonly (number | undefined)[]])[] = [
      [{}, {}, [undefined, undefined, 3]],
      [{ TF_REGISTRY_CLIENT_TIMEOUT: '456', TF_REGISTRY_DISCOVERY_RETRY: '123' }, { requestTimeoutMs: 50_000, retries: 256 }, [456_000, 123, 256]],
      [{ TF_PROVIDER_DOWNLOAD_RETRY: '1' }, {}, [undefined, undefined, 1]],
      [{ TF_PROVIDER_DOWNLOAD_RETRY: '7' }, { downloadRetries: 2, retries: 0 }, [undefined, 0, 7]],
      [{ TF_PROVIDER_DOWNLOAD_RETRY: '0', TF_REGISTRY_DISCOVERY_RETRY: '0', TF_REGISTRY_CLIENT_TIMEOUT: '0' }, { downloadRetries: 0 }, [undefined, undefined, 0]],
      [{ TF_REGISTRY_DISCOVERY_RETRY: '+5' }, {}, [undefined, 5, 3]],
      [{ TF_REGISTRY_CLIENT_TIMEOUT: '99999999999999999999' }, {}, [2 ** 31 - 1, undefined, 3]],
      ...['', '-1', '1.5', '1e3', ' 7', '7s', 'many', '0x10'].map((text) => [{ TF_REGISTRY_CLIENT_TIMEOUT: text, TF_REGISTRY_DISCOVERY_RETRY: text, TF_PROVIDER_DOWNLOAD_RETRY: text }, { retries: 1 }, [undefined, 1, 1]] as const),
    ];
    for (const [environment, given, expected] of rows) {
      const { requestTimeoutMs, retries, downloadRetries } = requestLimits(environment, given);
      assert.deepEqual([requestTimeoutMs, retries, downloadRetries], expected, JSON.stringify([environment, given]));
    }
  });

  it('reach the requests', async (t) => {
    const registry = await startRegistry({ providers: [{ address: 'acme/thing', version: '1.2.3' }], faults: [{ on: 'versions', status: 500 }] });
    t.after(() => registry.close());
    const client = new RegistryClient({ hosts: registry.hosts('registry.test'), environment: { TF_REGISTRY_DISCOVERY_RETRY: '1' }, http: { retries: 5, backoffMs: 1 } });
    t.after(() => client.close());
    await assert.rejects(client.versions(parseProviderAddress('registry.test/acme/thing')), { attempts: 2 });
    assert.equal(registry.count('versions'), 2);
  });
});
