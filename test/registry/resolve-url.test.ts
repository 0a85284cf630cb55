import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveUrl } from '../../src/registry/resolve-url.ts';

const BASE = 'https://example.com/disco/foo.json?token=secret#here';

test('references resolve as RFC 3986 has it', () => {
  const table: Record<string, string> = {
    'http://example.net/foo/bar': 'http://example.net/foo/bar',
    'HTTPS://example.net/': 'https://example.net/',
    './stu/': 'https://example.com/disco/stu/',
    '../stu': 'https://example.com/stu',
    'stu?x=1': 'https://example.com/disco/stu?x=1',
    '/baz': 'https://example.com/baz',
    '//example.net/': 'https://example.net/',
    'https://example.net/a#foo': 'https://example.net/a',
    './a:b': 'https://example.com/disco/a:b',
    '/a?b=c:d': 'https://example.com/a?b=c:d',
  };
  for (const [reference, url] of Object.entries(table)) assert.equal(resolveUrl(reference, BASE).url?.href, url, reference);
});

test('what Go refuses and the WHATWG parser would repair is refused', () => {
  for (const reference of [
    '***not A URL at all!:/<@@@@>***',
    'a:b',
    '1a://x/',
    ':80/',
    'ht\ttps://example.net/',
    'https://example.net/\n',
    ' https://example.net/',
    '\\\\example.net\\x',
    '/\\example.net/',
    'http:example.net',
    'https:///example.net/',
    'https://',
    '//',
    'https://exa mple.net/',
    'https://example.net:99999/',
  ]) {
    assert.equal(resolveUrl(reference, BASE).url, undefined, reference);
  }
});

test('only http and https are read', () => {
  for (const reference of ['ftp://127.0.0.1/pub/', 'file:///etc/passwd', 'data:,x', 'javascript:1']) {
    assert.match(resolveUrl(reference, BASE).problem ?? '', /its scheme is/u, reference);
  }
});
