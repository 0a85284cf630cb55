import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hostFromTokenVariable, normalizeHostname } from '../../src/layout/index.ts';
import { TOKEN_VARIABLES } from './vectors.ts';

describe('hostFromTokenVariable', () => {
  it('answers what the reference clients answer', () => {
    for (const { name, host } of TOKEN_VARIABLES) assert.equal(hostFromTokenVariable(name), host ?? undefined, name);
  });

  it('gives the form that the host itself normalises to', () => {
    assert.equal(hostFromTokenVariable('TF_TOKEN_env_xn____caf__dma_fr'), normalizeHostname('env.café.fr').ascii);
    assert.equal(hostFromTokenVariable('TF_TOKEN_env_xn--eckwd4c7cu47r2wf_com'), normalizeHostname('env.ドメイン名例.com').ascii);
    assert.equal(hostFromTokenVariable('TF_TOKEN_xn____fa__hia_de'), normalizeHostname('faß.de').ascii);
    assert.equal(hostFromTokenVariable('TF_TOKEN_XN____FA__HIA_DE'), normalizeHostname('faß.de').ascii);
    assert.equal(hostFromTokenVariable('TF_TOKEN_example_com:443'), 'example.com');
  });

  it('reads raw letters by the transitional profile', () => {
    assert.equal(hostFromTokenVariable('TF_TOKEN_βόλος_com'), normalizeHostname('βόλοσ.com').ascii);
  });

  it('ignores every other variable', () => {
    for (const name of ['', 'TF_TOKEN', 'TF_TOKEN_', 'tf_token_example_com', 'TF_VAR_example_com', 'TF_TOKEN_example_com:99999', 'TF_TOKEN_a:1:2', 'TF_TOKEN_xn____a_com', 'TF_TOKEN_/_com']) {
      assert.equal(hostFromTokenVariable(name), undefined, name);
    }
  });
});
