import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  executableName,
  findPluginExecutable,
  isPluginExecutable,
  packagePath,
  parsePackagePath,
  parsePlatform,
  parseProviderAddress,
  parseVersion,
} from '../../src/layout/index.ts';
import { anyVersion } from './arbitraries.ts';
import { PACKAGE_PATHS } from './vectors.ts';

describe('packagePath', () => {
  it('is where the reference clients look', () => {
    const path = packagePath(parseProviderAddress('Bücher.example:8443/Foo/BAR'), parseVersion('1.0-beta.1+build'), parsePlatform('linux_amd64'));
    assert.equal(path, 'bücher.example:8443/foo/bar/1.0.0-beta.1+build/linux_amd64');
  });
});

describe('parsePackagePath', () => {
  it('sees in a mirror what the reference clients see', () => {
    for (const { given, canonical } of PACKAGE_PATHS) {
      const parts = parsePackagePath(given);
      assert.equal(parts && packagePath(parts.address, parts.version, parts.platform), canonical, given);
    }
  });

  it('finds no package outside the tree', () => {
    for (const given of ['', '/', '/a/b/c/1.0.0/linux_amd64', 'a/b/c/1.0.0/linux_amd64/', '../b/c/1.0.0/linux_amd64', 'a/../c/1.0.0/linux_amd64', 'a/b/c/../linux_amd64', 'a/b/c/1.0.0/..']) {
      assert.equal(parsePackagePath(given), undefined, given);
    }
  });

  it('knows the legacy namespace on the default host only', () => {
    assert.equal(parsePackagePath('registry.terraform.io/-/aws/1.0.0/linux_amd64'), undefined);
    assert.equal(parsePackagePath('registry.terraform.io/-/aws/1.0.0/linux_amd64', { defaultHost: 'registry.terraform.io' })?.address.namespace, '-');
  });

  it('reads back what packagePath prints', () => {
    const source = fc.constantFrom('hashicorp/aws', 'example.com/a/b', 'bücher.example:8443/straße/ς', '-/legacy', 'terraform.io/builtin/terraform');
    fc.assert(
      fc.property(source, anyVersion, fc.constantFrom('linux_amd64', 'windows_386'), (given, version, platform) => {
        const parts = { address: parseProviderAddress(given), version: parseVersion(version), platform: parsePlatform(platform) };
        const path = packagePath(parts.address, parts.version, parts.platform);
        assert.deepEqual(parsePackagePath(path), parts);
        assert.equal(path.split('/').length, 5);
      }),
    );
  });
});

describe('the plugin executable', () => {
  it('is recognised by its name as the reference clients do', () => {
    assert.equal(executableName('aws'), 'terraform-provider-aws');
    for (const name of ['terraform-provider-aws', 'terraform-provider-aws.exe', 'terraform-provider-aws_v6.0.0_x5', 'terraform-provider-aws_v6.0.0_x5.exe']) {
      assert.equal(isPluginExecutable('aws', name), true, name);
    }
    for (const name of ['terraform-provider-aws-foo', 'terraform-provider-awscc', 'terraform-provider-AWS', 'x-terraform-provider-aws', 'terraform-provider-', 'LICENSE.txt']) {
      assert.equal(isPluginExecutable('aws', name), false, name);
    }
  });

  it('is the first of them in byte order', () => {
    assert.equal(findPluginExecutable('aws', ['README', 'terraform-provider-aws_v2', 'terraform-provider-aws_v1', 'LICENSE']), 'terraform-provider-aws_v1');
    assert.equal(findPluginExecutable('aws', ['terraform-provider-aws_\u{1f600}', 'terraform-provider-aws_\uff01']), 'terraform-provider-aws_\uff01');
    assert.equal(findPluginExecutable('aws', ['README']), undefined);
  });
});
