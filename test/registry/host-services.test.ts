import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DiscoveryError, InvalidOptionError, ServiceNotProvidedError } from '../../src/errors.ts';
import { hostServices } from '../../src/registry/host-services.ts';

// The table of svchost's own test (disco/host_test.go).
const services = hostServices('example.com', 'https://example.com/disco/foo.json', {
  'absolute.v1': 'http://example.net/foo/bar',
  'absolutewithport.v1': 'http://example.net:8080/foo/bar',
  'relative.v1': './stu/',
  'rootrelative.v1': '/baz',
  'protorelative.v1': '//example.net/',
  'withfragment.v1': 'http://example.org/#foo',
  'querystring.v1': 'https://example.net/baz?foo=bar',
  'tfe.v2.1': '/legacy-quirk',
  'nothttp.v1': 'ftp://127.0.0.1/pub/',
  'invalid.v1': '***not A URL at all!:/<@@@@>***',
  'user.v1': 'https://user@example.net/',
  'password.v1': 'https://:secret@example.net/',
  'object.v1': { url: '/x' },
  'providers.v99': '/v99/',
  'providers.v2': '/v2/',
  'providers.v10': '/v10/',
  'providers.beta': '/beta/',
});

test('service URLs resolve against the document', () => {
  const table: Record<string, string> = {
    'absolute.v1': 'http://example.net/foo/bar',
    'absolutewithport.v1': 'http://example.net:8080/foo/bar',
    'relative.v1': 'https://example.com/disco/stu/',
    'rootrelative.v1': 'https://example.com/baz',
    'protorelative.v1': 'https://example.net/',
    'withfragment.v1': 'http://example.org/',
    'querystring.v1': 'https://example.net/baz?foo=bar',
    'tfe.v2.1': 'https://example.com/legacy-quirk',
  };
  for (const [id, url] of Object.entries(table)) assert.equal(services.serviceUrl(id).href, url, id);
});

test('a URL that is no URL, not http, or holds a user is refused', () => {
  for (const id of ['nothttp.v1', 'invalid.v1', 'user.v1', 'password.v1']) {
    assert.throws(() => services.serviceUrl(id), (error) => error instanceof DiscoveryError && error.message.includes(id) && !error.message.includes('secret'), id);
  }
});

test('a service id needs a whole version', () => {
  for (const id of ['anything-but-tfe.v2.1', 'providers', 'providers.1', 'providers.v', 'providers.v1x', '.v1', 'a.b.v1']) {
    assert.throws(() => services.serviceUrl(id), InvalidOptionError, id);
  }
});

test('a service of another version only says which there are', () => {
  assert.throws(
    () => services.serviceUrl('providers.v1'),
    (error) => error instanceof ServiceNotProvidedError && error.service === 'providers.v1' && error.hostname === 'example.com' && error.otherVersions.join() === 'providers.v2,providers.v10,providers.v99',
  );
});

test('a value that is no string counts as absent', () => {
  assert.throws(() => services.serviceUrl('object.v1'), (error) => error instanceof ServiceNotProvidedError && error.otherVersions.length === 0);
  assert.ok(!services.ids.includes('object.v1'));
});
