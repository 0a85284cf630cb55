/** Importing the built package costs only what every user of it needs, and leaves the application's globals alone. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadedBy, packagesOf } from './support/loaded-modules.ts';

const LATE = ['debug', 'undici', 'openpgp', 'tar', 'proper-lockfile', 'write-file-atomic', 'fs-native-extensions'];
const SUBPATHS = ['', '/layout', '/atomic', '/lock', '/verify', '/registry', '/archive', '/errors'];

describe('importing the package', () => {
  for (const subpath of SUBPATHS) {
    it(`loads no package that is needed later, if ever: rwx-cache${subpath}`, () => {
      const { urls, dispatcherTouched } = loadedBy(`rwx-cache${subpath}`);
      assert.ok(urls.some((url) => url.includes('/dist/')), 'the built package was loaded');
      assert.deepEqual(packagesOf(urls).filter((name) => LATE.includes(name)), []);
      assert.equal(dispatcherTouched, false);
    });
  }

  it('would be found out if it did', () => {
    const { urls, dispatcherTouched } = loadedBy('undici');
    assert.ok(packagesOf(urls).includes('undici'));
    assert.equal(dispatcherTouched, true);
  });
});
