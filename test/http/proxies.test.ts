import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InvalidOptionError } from '../../src/errors.ts';
import { createHttpClient } from '../../src/http/index.ts';
import { proxyChooser } from '../../src/http/proxies.ts';
import { ProxyFailure } from '../../src/http/proxy-failure.ts';
import { MIXED_NO_PROXY, MIXED_ROWS, PROXY_ROWS, SINGLE_ROWS } from './go-proxy-rules.ts';

describe('proxies of the environment', () => {
  it('are chosen as Go does', () => {
    for (const [environment, url, expected] of PROXY_ROWS) {
      assert.equal(proxyChooser('environment', environment)(new URL(url))?.url.origin, expected, JSON.stringify([environment, url]));
    }
  });

  it('are passed by for what NO_PROXY names, as Go reads it', () => {
    const both = { HTTP_PROXY: 'proxy.test', HTTPS_PROXY: 'proxy.test' };
    const mixed = proxyChooser(undefined, { ...both, NO_PROXY: MIXED_NO_PROXY });
    for (const [host, proxied] of MIXED_ROWS) assert.equal(mixed(new URL(`http://${host}:80/`)) !== undefined, proxied, host);
    const all = proxyChooser(undefined, { ...both, NO_PROXY: '*' });
    for (const [host] of MIXED_ROWS) assert.equal(all(new URL(`http://${host}/`)), undefined, host);
    for (const [noProxy, url, proxied] of SINGLE_ROWS) {
      assert.equal(proxyChooser(undefined, { ...both, NO_PROXY: noProxy })(new URL(url)) !== undefined, proxied, JSON.stringify([noProxy, url]));
    }
  });

  it('are read once', () => {
    const environment: Record<string, string> = { HTTP_PROXY: 'proxy.test' };
    const choose = proxyChooser(undefined, environment);
    environment['HTTP_PROXY'] = 'other.test';
    environment['NO_PROXY'] = '*';
    assert.equal(choose(new URL('http://a.test/'))?.url.host, 'proxy.test');
  });

  it('give their credentials, decoded, and keep them apart from the URL', () => {
    const choose = (value: string): string | undefined => proxyChooser(undefined, { HTTPS_PROXY: value })(new URL('https://a.test/'))?.authorization;
    const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
    assert.equal(choose('http://user:p%40ss@proxy.test'), basic('user:p@ss'));
    assert.equal(choose('user@proxy.test'), basic('user:'));
    assert.equal(choose('http://proxy.test'), undefined);
  });

  it('are refused by name where they cannot be used, when a URL needs them', () => {
    const failure = (environment: Record<string, string>, url: string): ProxyFailure => {
      try {
        proxyChooser(undefined, environment)(new URL(url));
      } catch (error) {
        assert.ok(error instanceof ProxyFailure);
        assert.ok(!error.retry && !error.problem.includes('secret'), error.problem);
        return error;
      }
      return assert.fail('it was taken');
    };
    assert.match(failure({ https_proxy: 'socks5://user:secret@proxy.test' }, 'https://a.test/').problem, /https_proxy names a proxy of kind socks5/u);
    assert.match(failure({ HTTP_PROXY: 'foo://proxy.test' }, 'http://a.test/').problem, /HTTP_PROXY names a proxy of kind foo/u);
    assert.match(failure({ HTTP_PROXY: 'http://user:secret@:x' }, 'http://a.test/').problem, /HTTP_PROXY does not hold the URL of a proxy/u);
    assert.match(failure({ HTTP_PROXY: 'proxy.test', REQUEST_METHOD: 'GET' }, 'http://a.test/').problem, /REQUEST_METHOD/u);
    const others = proxyChooser(undefined, { HTTP_PROXY: 'foo://secret', HTTPS_PROXY: 'proxy.test' });
    assert.equal(others(new URL('https://a.test/'))?.url.host, 'proxy.test');
    assert.equal(others(new URL('http://localhost/')), undefined);
  });
});

describe('proxies by option', () => {
  it('follow the same rules and leave the environment aside', () => {
    const environment = { HTTP_PROXY: 'env.test', HTTPS_PROXY: 'env.test', NO_PROXY: '*', REQUEST_METHOD: 'GET' };
    const choose = proxyChooser({ http: 'a.test:1', https: 'https://b.test:2', noProxy: '10.0.0.0/8' }, environment);
    const chosen = ['http://x.test/', 'https://x.test/', 'https://10.1.1.1/', 'http://localhost/'].map((url) => choose(new URL(url))?.url.origin);
    assert.deepEqual(chosen, ['http://a.test:1', 'https://b.test:2', undefined, undefined]);
    assert.equal(proxyChooser({ http: 'a.test' }, environment)(new URL('https://x.test/')), undefined);
    assert.equal(proxyChooser('none', environment)(new URL('https://x.test/')), undefined);
  });

  it('are judged when the client is made', () => {
    for (const proxy of [{ http: 'socks5://user:secret@a.test' }, { https: 'http://[secret' }, 'http://a.test' as never, null as never]) {
      assert.throws(() => createHttpClient({ proxy }), (error) => error instanceof InvalidOptionError && error.option.startsWith('proxy') && !error.message.includes('secret'));
    }
  });
});
