import assert from 'node:assert/strict';
import { homedir } from 'node:os';
import { test } from 'node:test';
import { CliConfigError } from '../../src/errors.ts';
import { netrcPlace, parseNetrc } from '../../src/registry/netrc.ts';

test('entries, comments, macros and the default', () => {
  const lookup = parseNetrc(
    [
      '# machine commented.example.com login x password y',
      'machine Example.com login me password pa#ss # a comment',
      'machine example.com login second password second',
      'machine example.com:8443',
      '\tlogin\tport',
      '  account ignored',
      '  password "quoted"',
      'macdef init',
      'machine macro.example.com login x password y',
      'cd /pub',
      '',
      'machine no-password.example.com login only',
      'default login anonymous password guest',
    ].join('\n'),
    '/n',
  );
  assert.deepEqual(lookup('example.com'), { login: 'me', password: 'pa#ss' });
  assert.deepEqual(lookup('EXAMPLE.com:8443'), { login: 'port', password: '"quoted"' });
  assert.deepEqual(lookup('no-password.example.com'), { login: 'only', password: '' });
  for (const host of ['macro.example.com', 'commented.example.com', 'example.com:443', '']) assert.deepEqual(lookup(host), { login: 'anonymous', password: 'guest' });
});

test('without a default, other hosts have none; an empty file has nobody', () => {
  assert.equal(parseNetrc('machine a login b password c', '/n')('b'), undefined);
  for (const text of ['', '\n\n', '# nothing', 'macdef x\nmachine a login b password c']) assert.equal(parseNetrc(text, '/n')('a'), undefined);
});

test('a value may look like a word of the format', () => {
  assert.deepEqual(parseNetrc('machine default login machine password login', '/n')('default'), { login: 'machine', password: 'login' });
});

test('what is malformed is an error with its place, and never shows a word of the file', () => {
  for (const [text, line, column] of [
    ['machine', 1, 1],
    ['machine a login', 1, 11],
    ['machine a\n  login b password', 2, 11],
    ['login secret1', 1, 1],
    ['machine a secret1', 1, 11],
    ['machine ä login b password c secret1', 1, 30],
    ['macdef', 1, 1],
    ['x'.repeat((1 << 20) + 1), undefined, undefined],
  ] as const) {
    assert.throws(
      () => parseNetrc(text, '/n'),
      (error) => error instanceof CliConfigError && error.path === '/n' && error.line === line && error.column === column && !error.message.includes('secret1'),
      text.slice(0, 40),
    );
  }
});

test('the file is $NETRC, or in the home directory; only one that is named has to be there', () => {
  assert.deepEqual(netrcPlace('/a', { NETRC: '/b', HOME: '/h' }, 'linux'), { path: '/a', required: true });
  assert.deepEqual(netrcPlace(undefined, { NETRC: '/b', HOME: '/h' }, 'linux'), { path: '/b', required: false });
  assert.deepEqual(netrcPlace(undefined, { NETRC: '', HOME: '/h' }, 'linux'), { path: '/h/.netrc', required: false });
  assert.deepEqual(netrcPlace(undefined, { USERPROFILE: '/h' }, 'win32'), { path: '/h/_netrc', required: false });
  assert.deepEqual(netrcPlace(undefined, {}, 'linux'), { path: `${homedir()}/.netrc`, required: false });
});
