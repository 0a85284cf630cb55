import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InvalidPlatformError } from '../../src/errors.ts';
import { currentPlatform, parsePlatform } from '../../src/layout/index.ts';
import { goPlatform } from '../../src/layout/platforms.ts';
import { PLATFORMS } from './vectors.ts';

describe('parsePlatform', () => {
  it('answers what the reference clients answer', () => {
    for (const { given, os, arch } of PLATFORMS) {
      if (os === undefined) {
        assert.throws(() => parsePlatform(given), (error) => error instanceof InvalidPlatformError && error.given === given, given);
      } else {
        const platform = parsePlatform(given);
        assert.deepEqual([platform.os, platform.arch], [os, arch]);
        assert.equal(platform.toString(), given);
      }
    }
  });

  it('refuses what is no plain directory name', () => {
    for (const given of ['_', 'linux_', '_amd64', 'linux', '../x_y', 'linux_a/b', 'linux_a\\b', 'linux_a\0', 'linux_amd64\n', 'C:_x', 'linux_ämd64']) {
      assert.throws(() => parsePlatform(given), InvalidPlatformError, given);
    }
  });
});

describe('currentPlatform', () => {
  it('has the names that Go has', () => {
    const named = (...given: Parameters<typeof goPlatform>): string => goPlatform(...given).toString();
    assert.equal(named('linux', 'x64', 'LE'), 'linux_amd64');
    assert.equal(named('linux', 'arm64', 'LE'), 'linux_arm64');
    assert.equal(named('linux', 'arm', 'LE'), 'linux_arm');
    assert.equal(named('linux', 'ia32', 'LE'), 'linux_386');
    assert.equal(named('linux', 'ppc64', 'LE'), 'linux_ppc64le');
    assert.equal(named('aix', 'ppc64', 'BE'), 'aix_ppc64');
    assert.equal(named('darwin', 'arm64', 'LE'), 'darwin_arm64');
    assert.equal(named('win32', 'x64', 'LE'), 'windows_amd64');
    assert.equal(named('sunos', 'x64', 'LE'), 'solaris_amd64');
  });

  it('reads back what it prints', () => {
    const platform = currentPlatform();
    assert.deepEqual(parsePlatform(platform.toString()), platform);
    assert.throws(() => Object.assign(platform, { os: 'plan9' }), TypeError);
  });
});
