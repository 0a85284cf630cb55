import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidHostnameError, InvalidOptionError } from '../../src/errors.ts';
import { normalizeHostname } from '../../src/layout/index.ts';
import { credentialSource } from '../../src/registry/credentials.ts';

function tokenFor(source: ReturnType<typeof credentialSource>, host: string): string | undefined {
  return source(normalizeHostname(host).ascii)?.token;
}

// The table of the reference's own test (cliconfig/credentials_test.go).
test('TF_TOKEN variables name their hosts as the reference has it', () => {
  const source = credentialSource(
    { 'configured.example.com': { token: 'configured' }, 'other.example.com': { token: 'other' } },
    {
      TF_TOKEN_configured_example_com: 'environment',
      'TF_TOKEN_env_xn--eckwd4c7cu47r2wf_com': 'punycode',
      TF_TOKEN_env_xn____caf__dma_fr: 'underscores',
      'TF_TOKEN_dots.example.com': 'dots',
      TF_TOKEN_CONFIGUREDUPPERCASE_EXAMPLE_COM: 'upper',
      TF_TOKEN_: 'nothing',
      'TF_TOKEN_no host': 'nothing',
      PATH: '/bin',
    },
  );
  assert.equal(tokenFor(source, 'configured.example.com'), 'environment');
  assert.equal(tokenFor(source, 'env.ドメイン名例.com'), 'punycode');
  assert.equal(tokenFor(source, 'env.café.fr'), 'underscores');
  assert.equal(tokenFor(source, 'dots.example.com'), 'dots');
  assert.equal(tokenFor(source, 'configureduppercase.example.com'), 'upper');
  assert.equal(tokenFor(source, 'other.example.com'), 'other');
  assert.equal(tokenFor(source, 'unknown.example.com'), undefined);
});

test('configured hosts may be spelt in any way, and the port counts', () => {
  const source = credentialSource({ 'Registry.Example.COM:443': { token: 'a' }, 'registry.example.com:8443': { token: 'b' }, 'Café.fr': { token: 'c' } }, {});
  assert.equal(tokenFor(source, 'registry.example.com'), 'a');
  assert.equal(tokenFor(source, 'registry.example.com:8443'), 'b');
  assert.equal(tokenFor(source, 'café.fr'), 'c');
  assert.equal(tokenFor(source, 'registry.example.com:9443'), undefined);
  assert.throws(() => credentialSource({ 'https://registry.example.com': { token: 'a' } }, {}), InvalidHostnameError);
});

test('an empty variable is no token, and does not hide a configured one', () => {
  const source = credentialSource({ 'a.example.com': { token: 'configured' } }, { TF_TOKEN_a_example_com: '', TF_TOKEN_b_example_com: undefined });
  assert.equal(tokenFor(source, 'a.example.com'), 'configured');
  assert.equal(tokenFor(source, 'b.example.com'), undefined);
});

test('a token that no header can carry is an error for its own host only, which does not show it', () => {
  const source = credentialSource({ 'good.example.com': { token: 'good' }, 'bad.example.com': { token: 'sec\u2028ret' } }, { TF_TOKEN_newline_example_com: 'secret\n' });
  assert.equal(tokenFor(source, 'good.example.com'), 'good');
  for (const [host, option] of [['bad.example.com', 'credentials["bad.example.com"]'], ['newline.example.com', 'TF_TOKEN_newline_example_com']] as const) {
    assert.throws(() => tokenFor(source, host), (error) => error instanceof InvalidOptionError && error.option === option && !error.message.includes('sec'));
  }
});
