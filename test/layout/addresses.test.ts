import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { InvalidHostnameError, InvalidProviderAddressError } from '../../src/errors.ts';
import { DEFAULT_REGISTRY_HOST, isBuiltInProvider, parseProviderAddress, shortProviderAddress } from '../../src/layout/index.ts';
import { PROVIDER_PARTS, PROVIDER_SOURCES } from './vectors.ts';

function refused(given: string, options?: { readonly defaultHost?: string }): void {
  assert.throws(
    () => parseProviderAddress(given, options),
    (error) => error instanceof InvalidProviderAddressError && error.given === given,
    JSON.stringify(given),
  );
}

describe('parseProviderAddress', () => {
  it('answers what the reference clients answer', () => {
    for (const { given, host, ns, type, fqn, display } of PROVIDER_SOURCES) {
      if (fqn === undefined) {
        refused(given);
        continue;
      }
      const address = parseProviderAddress(given);
      assert.deepEqual([address.hostname, address.namespace, address.type], [host, ns, type], given);
      assert.equal(address.toString(), fqn);
      assert.equal(shortProviderAddress(address), display);
    }
  });

  it('normalises namespace and type as they do', () => {
    for (const { given, out } of PROVIDER_PARTS) {
      if (out === null) {
        refused(`example.com/foo/${given}`);
        refused(`example.com/${given}/foo`);
      } else {
        assert.equal(parseProviderAddress(`example.com/foo/${given}`).type, out, given);
        assert.equal(parseProviderAddress(`example.com/${given}/foo`).namespace, out, given);
      }
    }
  });

  it('refuses parts that mean another directory, and a redundant prefix', () => {
    for (const given of ['foo/..', '../foo', './foo', 'foo/。。', '。/foo', 'foo/a.b', 'foo/a。b', 'foo/a--b', 'foo/a\ufe63\ufe63b', 'foo/a\\b', 'foo/xn--caf-dma', 'foo/terraform-provider-aws', 'foo/TERRAFORM-aws', 'foo/opentofu-provider-aws', ' foo/bar', 'foo/bar ']) refused(given);
    assert.equal(parseProviderAddress('foo/terraform').type, 'terraform');
  });

  it('has the default host that is asked for', () => {
    assert.equal(parseProviderAddress('hashicorp/aws').hostname, DEFAULT_REGISTRY_HOST);
    assert.equal(parseProviderAddress('aws').toString(), 'registry.opentofu.org/hashicorp/aws');
    const options = { defaultHost: 'Registry.Terraform.io:443' };
    const address = parseProviderAddress('hashicorp/aws', options);
    assert.equal(address.toString(), 'registry.terraform.io/hashicorp/aws');
    assert.equal(shortProviderAddress(address, options), 'hashicorp/aws');
    assert.equal(shortProviderAddress(address), 'registry.terraform.io/hashicorp/aws');
    assert.throws(() => parseProviderAddress('hashicorp/aws', { defaultHost: 'a b' }), InvalidHostnameError);
  });

  it('knows the legacy namespace on the default host only', () => {
    assert.equal(parseProviderAddress('registry.terraform.io/-/aws', { defaultHost: 'registry.terraform.io' }).namespace, '-');
    refused('registry.terraform.io/-/aws');
    refused('registry.opentofu.org/-/aws', { defaultHost: 'registry.terraform.io' });
    refused('foo/-');
  });

  it('keeps both forms of the host, with its port', () => {
    const address = parseProviderAddress('Bücher.example:8443/foo/bar');
    assert.equal(address.hostname, 'bücher.example:8443');
    assert.equal(address.hostnameAscii, 'xn--bcher-kva.example:8443');
    assert.equal(address.toString(), 'bücher.example:8443/foo/bar');
  });

  it('names the host at fault in the cause', () => {
    assert.throws(
      () => parseProviderAddress('exa_mple.com/foo/bar'),
      (error) => error instanceof InvalidProviderAddressError && error.cause instanceof InvalidHostnameError && error.cause.given === 'exa_mple.com',
    );
  });

  it('knows what the clients carry in themselves', () => {
    assert.equal(isBuiltInProvider(parseProviderAddress('terraform.io/builtin/terraform')), true);
    assert.equal(isBuiltInProvider(parseProviderAddress('opentofu.org/builtin/terraform')), true);
    assert.equal(isBuiltInProvider(parseProviderAddress('terraform.io/foo/terraform')), false);
    assert.equal(isBuiltInProvider(parseProviderAddress('builtin/terraform')), false);
  });

  it('gives an address that nobody can change', () => {
    const address = parseProviderAddress('hashicorp/aws');
    assert.throws(() => Object.assign(address, { type: 'other' }), TypeError);
    assert.equal(address.toString(), 'registry.opentofu.org/hashicorp/aws');
  });

  it('reads back what it prints', () => {
    const part = fc.stringMatching(/^[\p{L}\p{N}\p{M}-]{1,10}$/u);
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 3 }), (parts) => {
        let address;
        try {
          address = parseProviderAddress(parts.join('/'));
        } catch (error) {
          assert.ok(error instanceof InvalidProviderAddressError);
          return;
        }
        assert.deepEqual(parseProviderAddress(address.toString()), address);
        assert.equal(address.toString().split('/').length, 3);
      }),
      { numRuns: 2000 },
    );
  });
});
