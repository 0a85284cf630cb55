import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FileSystemError, LockUnsupportedError } from '../../src/errors.ts';
import { isContention, isPassing, lockFailure } from '../../src/lock/native.ts';

/** As the addon throws it: a name in `code`, no number; and for what libuv cannot name, the number in the text. */
function addonError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

describe('an error of a lock call', () => {
  it('is contention where somebody else holds the lock', () => {
    for (const code of ['EAGAIN', 'EACCES', 'EWOULDBLOCK', 'EBUSY']) assert.equal(isContention(addonError(code)), true, code);
    assert.equal(isContention(addonError('EIO')), false);
  });

  it('is passing for a signal and for a deadlock that the kernel imagines', () => {
    assert.equal(isPassing(addonError('EINTR')), true);
    assert.equal(isPassing(addonError('Unknown system error -35')), true);
    assert.equal(isPassing(addonError('EAGAIN')), false);
  });

  it('says that there are no locks, where the file system says so', () => {
    for (const code of ['ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL', 'Unknown system error -37']) {
      const failure = lockFailure(addonError(code), '/a.lock');
      assert.ok(failure instanceof LockUnsupportedError, code);
      assert.equal(failure.path, '/a.lock');
    }
  });

  it('is a failed system call otherwise', () => {
    const failure = lockFailure(addonError('EIO'), '/a.lock');
    assert.ok(failure instanceof FileSystemError);
    assert.equal(failure.systemCode, 'EIO');
  });
});
