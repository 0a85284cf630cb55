import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DependencyLocksError, HclSyntaxError } from '../../src/errors.ts';
import { parseLocks } from '../../src/verify/dependency-locks-parse.ts';
import { MALFORMATIONS, NO_LITERAL_HCL, providerBlock } from './lock-files.ts';

function read(text: string): unknown {
  return parseLocks(text, '/x').blocks.map(({ locked }) => [String(locked.address), String(locked.version), locked.constraints === undefined ? undefined : String(locked.constraints), locked.hashes]);
}

describe('the text of a lock file', () => {
  it('says version, constraints and hashes of each provider', () => {
    const text = `# first
provider "registry.terraform.io/hashicorp/null" {
  version     = "3.2.1"
  constraints = ">= 3.0.0, < 4.0.0"
  hashes = [
    "zh:b",
    "h1:a=", # again below
    "h1:a=",
    "x9:",
  ]
}

provider "bücher.example:8443/a/b" { version = "1.0.0-beta.1+build" }
`;
    assert.deepEqual(read(text), [
      ['registry.terraform.io/hashicorp/null', '3.2.1', '>= 3.0.0, < 4.0.0', ['h1:a=', 'x9:', 'zh:b']],
      ['bücher.example:8443/a/b', '1.0.0-beta.1+build', undefined, []],
    ]);
    assert.deepEqual(read(`\ufeff${text.replaceAll('\n', '\r\n')}`), read(text));
  });

  it('may have no provider at all, empty constraints, and blocks for modules, which say nothing', () => {
    assert.deepEqual(read(''), []);
    assert.deepEqual(read('# nothing\n'), []);
    assert.deepEqual(read(providerBlock('  version = "1.0.0"\n  constraints = ""')), [['registry.opentofu.org/hashicorp/aws', '1.0.0', undefined, []]]);
    assert.deepEqual(read(`module "x" {\n  anything = [{ a : null }]\n}\n${providerBlock('  version = "1.0.0"', 'a.example/b/c')}`), [['a.example/b/c', '1.0.0', undefined, []]]);
  });

  for (const { text, at, problem } of MALFORMATIONS) {
    it(`is refused with its place and the reason: ${JSON.stringify(text)}`, () => {
      assert.throws(
        () => parseLocks(text, '/dir/x'),
        (error) => {
          assert.ok(error instanceof DependencyLocksError, String(error));
          assert.match(error.problem, problem);
          assert.deepEqual([error.path, error.line, error.column], ['/dir/x', ...at]);
          assert.equal(error.message, `/dir/x:${at[0]}:${at[1]}: ${error.problem}`);
          return true;
        },
      );
    });
  }

  for (const text of NO_LITERAL_HCL) {
    it(`is refused as no HCL of this kind: ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseLocks(text, '/dir/x'), HclSyntaxError);
    });
  }
});
