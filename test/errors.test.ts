import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as errors from '../src/errors.ts';
import { fileSystemError, hasSystemError, systemErrorName } from '../src/system-errors.ts';

const URL_ = 'https://example.com/x';

/** One of each. */
const ALL: readonly errors.RwxCacheError[] = [
  new errors.AccessPolicyError(URL_, 'plain http'),
  new errors.CacheClosedError('/c'),
  new errors.CacheFormatError('/c', '2', '1'),
  new errors.ChecksumMismatchError({ subject: URL_, expected: 'aa', actual: 'bb' }),
  new errors.ChecksumsInvalidError('x.zip', 'no line'),
  new errors.CliConfigError({ path: '/c', line: 1, column: 2, setting: 'host', problem: 'no name' }),
  new errors.CredentialsHelperError({ hostname: 'example.com', program: '/p', problem: 'exit 1' }),
  new errors.DependencyLocksError({ path: '/l', line: 1, column: 2, problem: 'no version' }),
  new errors.DiscoveryError('example.com', 'no answer'),
  new errors.DownloadIncompleteError(URL_, 2, 1),
  new errors.EnsureAllError([{ index: 0, request: 'x 1.0.0 linux_amd64', error: new errors.OfflineError('x') }], [undefined]),
  new errors.EntryConflictError('/c/e', 'h1:a', 'h1:b'),
  new errors.ExecutableMissingError('/c/e', 'terraform-provider-x'),
  new errors.FileSystemError({ systemCode: 'ENOSPC', operation: 'write', path: '/x' }),
  new errors.HashMismatchError('x', ['h1:a'], ['h1:b']),
  new errors.HashUnprovenError('x', ['zh:a']),
  new errors.HclSyntaxError({ path: '/l', line: 1, column: 2, found: 'a number', expected: 'a name' }),
  new errors.HttpStatusError({ url: URL_, status: 503, attempts: 4 }),
  new errors.InvalidArchiveError('/x.zip', 'cut'),
  new errors.InvalidConstraintsError('x', 'no version'),
  new errors.InvalidHostnameError('x', 'no name'),
  new errors.InvalidOptionError('x', 'no number'),
  new errors.InvalidPlatformError('x'),
  new errors.InvalidProviderAddressError('x', 'no type'),
  new errors.InvalidVersionError('x', 'no number'),
  new errors.LockLostError('/l', 'replaced'),
  new errors.LockTimeoutError('/l', 10, { host: 'h', pid: 1, since: '2026-01-01T00:00:00.000Z' }),
  new errors.LockUnsupportedError('/l', 'nolock'),
  new errors.NetworkError({ url: URL_, phase: 'connect', attempts: 1, problem: 'refused' }),
  new errors.NoSourceError('x', []),
  new errors.OfflineError('x'),
  new errors.PackageMissingError('x'),
  new errors.PlatformNotSupportedError('x', '1.0.0', 'linux_amd64'),
  new errors.ProtocolNotSupportedError({ address: 'x', version: '1.0.0', protocols: ['4.0'], closest: undefined }),
  new errors.ProviderNotFoundError('x'),
  new errors.ReadOnlyError('x'),
  new errors.RedirectError({ url: URL_, location: 'http://example.com/', reason: 'downgrade' }),
  new errors.RegistryResponseError(URL_, 'versions', 'no list'),
  new errors.ResponseTooLargeError(URL_, 10),
  new errors.ServiceNotProvidedError('example.com', 'providers.v1', []),
  new errors.SignatureInvalidError('missing', 'none'),
  new errors.SourceUnavailableError({ type: 'oci_mirror', location: 'x' }, 'no'),
  new errors.StagingLostError('/s'),
  new errors.UnauthorizedError('example.com', false),
  new errors.UnreadableDirectoryError('/x', 'a dangling link'),
  new errors.UnsafeArchiveError('/x.zip', '../x', 'name', 'it leads out'),
  new errors.VersionNotFoundError('x', '> 1', ['1.0.0']),
];

describe('the error classes', () => {
  it('have a code and a name each, no two the same, and none is missing here', () => {
    const names = Object.keys(errors).filter((name) => name !== 'RwxCacheError');
    assert.deepEqual(ALL.map(({ name }) => name), names.sort());
    assert.equal(new Set(ALL.map(({ code }) => code)).size, ALL.length);
    for (const error of ALL) assert.match(error.code, /^ERR_[A-Z_]+$/u);
  });

  it('keep their cause, and have none where there is none', () => {
    const cause = new Error('underneath');
    assert.equal(new errors.DiscoveryError('example.com', 'x', cause).cause, cause);
    assert.ok(!('cause' in new errors.DiscoveryError('example.com', 'x')));
  });

  it('say what to do about a system error', () => {
    const error = new errors.FileSystemError({ systemCode: 'ENOSPC', operation: 'write', path: '/x' });
    assert.equal(error.message, 'Could not write /x: ENOSPC; the file system is full: free space, then call again');
  });
});

describe('system errors', () => {
  const raw = (code: string | undefined, errno: number | undefined, message = 'x'): Error => Object.assign(new Error(message), { code, errno });

  it('have names also where Node has none', { skip: process.platform === 'linux' ? false : 'the numbers are those of Linux' }, () => {
    assert.equal(systemErrorName(raw('Unknown system error -116', -116)), 'ESTALE');
    assert.equal(systemErrorName(raw('Unknown system error -122', undefined)), 'EDQUOT');
    assert.equal(systemErrorName(raw(undefined, undefined, 'Unknown system error -37')), 'ENOLCK');
    assert.equal(systemErrorName(raw('Unknown system error -35', -35)), 'EDEADLK');
    assert.equal(systemErrorName(raw('EOPNOTSUPP', undefined)), 'ENOTSUP');
    assert.equal(systemErrorName(raw('ENOTSUP', -95)), 'ENOTSUP');
  });

  it('are told from everything else', () => {
    assert.equal(systemErrorName(raw('ENOENT', -2)), 'ENOENT');
    assert.equal(systemErrorName(raw('ERR_STREAM_DESTROYED', undefined)), undefined);
    assert.equal(systemErrorName('ENOENT'), undefined);
    assert.ok(hasSystemError(raw('ENOENT', -2), 'EEXIST', 'ENOENT'));
    assert.ok(!hasSystemError(new TypeError('x'), 'ENOENT'));
  });

  it('become the library’s own, and nothing else does', () => {
    const error = fileSystemError(raw('ENOENT', -2), 'open', '/x');
    assert.ok(error instanceof errors.FileSystemError && error.systemCode === 'ENOENT' && error.path === '/x');
    assert.equal(fileSystemError(error, 'do', '/y'), error);
    const other = new TypeError('x');
    assert.equal(fileSystemError(other, 'do', '/y'), other);
  });
});
