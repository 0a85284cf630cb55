import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CredentialsHelperError, InvalidHostnameError, InvalidOptionError } from '../../src/errors.ts';
import { normalizeHostname } from '../../src/layout/index.ts';
import { credentialSource, lookUpToken, type CredentialSource } from '../../src/registry/credentials.ts';

async function tokenFor(source: CredentialSource, host: string): Promise<string | undefined> {
  return (await source(normalizeHostname(host).ascii))?.token;
}

// The table of the reference's own test (cliconfig/credentials_test.go).
test('TF_TOKEN variables name their hosts as the reference has it', async () => {
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
  assert.equal(await tokenFor(source, 'configured.example.com'), 'environment');
  assert.equal(await tokenFor(source, 'env.ドメイン名例.com'), 'punycode');
  assert.equal(await tokenFor(source, 'env.café.fr'), 'underscores');
  assert.equal(await tokenFor(source, 'dots.example.com'), 'dots');
  assert.equal(await tokenFor(source, 'configureduppercase.example.com'), 'upper');
  assert.equal(await tokenFor(source, 'other.example.com'), 'other');
  assert.equal(await tokenFor(source, 'unknown.example.com'), undefined);
});

test('configured hosts may be spelt in any way, and the port counts', async () => {
  const source = credentialSource({ 'Registry.Example.COM:443': { token: 'a' }, 'registry.example.com:8443': { token: 'b' }, 'Café.fr': { token: 'c' } }, {});
  assert.equal(await tokenFor(source, 'registry.example.com'), 'a');
  assert.equal(await tokenFor(source, 'registry.example.com:8443'), 'b');
  assert.equal(await tokenFor(source, 'café.fr'), 'c');
  assert.equal(await tokenFor(source, 'registry.example.com:9443'), undefined);
  assert.throws(() => credentialSource({ 'https://registry.example.com': { token: 'a' } }, {}), InvalidHostnameError);
});

test('an empty variable is no token, and does not hide a configured one', async () => {
  const source = credentialSource({ 'a.example.com': { token: 'configured' } }, { TF_TOKEN_a_example_com: '', TF_TOKEN_b_example_com: undefined });
  assert.equal(await tokenFor(source, 'a.example.com'), 'configured');
  assert.equal(await tokenFor(source, 'b.example.com'), undefined);
});

test('a token that no header can carry is an error for its own host only, which does not show it', async () => {
  const source = credentialSource({ 'good.example.com': { token: 'good' }, 'bad.example.com': { token: 'sec\u2028ret' } }, { TF_TOKEN_newline_example_com: 'secret\n' });
  assert.equal(await tokenFor(source, 'good.example.com'), 'good');
  for (const [host, option] of [['bad.example.com', 'credentials["bad.example.com"]'], ['newline.example.com', 'TF_TOKEN_newline_example_com']] as const) {
    await assert.rejects(tokenFor(source, host), (error) => error instanceof InvalidOptionError && error.option === option && !error.message.includes('sec'));
  }
});

test('whoever is asked further is asked only where nothing is set, and fails only for its own host', async () => {
  const asked: string[] = [];
  const failure = new CredentialsHelperError({ hostname: 'broken.example.com', program: '/p', problem: 'exit 1' });
  const source = credentialSource({ 'a.example.com': { token: 'configured' } }, { TF_TOKEN_b_example_com: 'environment' }, (host) => {
    asked.push(host);
    return host === 'broken.example.com' ? Promise.reject(failure) : Promise.resolve(host === 'c.example.com' ? { token: 'further' } : undefined);
  });
  assert.deepEqual(await Promise.all(['a', 'b', 'c', 'd'].map((name) => tokenFor(source, `${name}.example.com`))), ['configured', 'environment', 'further', undefined]);
  assert.deepEqual(asked, ['c.example.com', 'd.example.com']);
  await assert.rejects(tokenFor(source, 'broken.example.com'), failure);
  assert.deepEqual(await lookUpToken(source, 'broken.example.com', undefined), { token: undefined, failure });
  assert.deepEqual(await lookUpToken(source, 'c.example.com', undefined), { token: 'further', failure: undefined });
  const broken = credentialSource({}, {}, () => Promise.reject(new TypeError('a fault of the program')));
  await assert.rejects(lookUpToken(broken, 'x.example.com', undefined), TypeError);
});
