/** What an update makes of the text of a lock file: byte for byte what the reference writes, and nothing else touched. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { afterChanges } from '../../src/verify/dependency-locks-changes.ts';
import { parseLocks } from '../../src/verify/dependency-locks-parse.ts';
import { textWith, type LockFileTool } from '../../src/verify/dependency-locks-text.ts';
import type { LockedProviderChange } from '../../src/verify/index.ts';

/** The text after a change, which must read back and be stable. */
function changed(text: string, changes: readonly LockedProviderChange[], tool: LockFileTool = 'terraform'): string {
  const parsed = parseLocks(text, '/x');
  const result = textWith(parsed, afterChanges(parsed, changes), tool);
  const again = parseLocks(result, '/x');
  assert.equal(textWith(again, afterChanges(again, changes), tool), result, 'the same change again changes nothing');
  return result;
}

const NULL = 'registry.terraform.io/hashicorp/null';
const HEADER = `# This file is maintained automatically by "terraform init".\n# Manual edits may be lost in future updates.\n`;

const block = (address: string, version = '1.0.0'): string => `provider "${address}" {\n  version = "${version}"\n  hashes = [\n    "h1:a",\n  ]\n}\n`;
const change = (address: string, version = '1.0.0', hashes = ['h1:a']): LockedProviderChange => ({ address, version, hashes });

describe('a new lock file', () => {
  it('has the header, the providers in order, two aligned lines, and sorted hashes', () => {
    const text = changed('', [
      { address: 'registry.terraform.io/hashicorp/null', version: '3.2.1', constraints: '>= 3, ~> 3.0', hashes: ['zh:b', 'h1:B=', 'h1:a=', 'zh:b'] },
      { address: 'registry.terraform.io/hashicorp-x/aws', version: '1', hashes: ['h1:a'] },
      { address: 'bücher.example/a/b', version: '1.0.0-beta.1', constraints: '1.0.0-beta.1', hashes: [] },
      { address: 'example.com:8443/a/b', version: '0.0.1', hashes: ['x9:"\\${a}%{b}\u0007é\u{10ffff}'] },
    ]);
    assert.equal(
      text,
      `${HEADER}
provider "example.com:8443/a/b" {
  version = "0.0.1"
  hashes = [
    "x9:\\"\\\\$\${a}%%{b}\\u0007é\\U0010ffff",
  ]
}

provider "registry.terraform.io/hashicorp/null" {
  version     = "3.2.1"
  constraints = ">= 3.0.0, ~> 3.0"
  hashes = [
    "h1:B=",
    "h1:a=",
    "zh:b",
  ]
}

provider "registry.terraform.io/hashicorp-x/aws" {
  version = "1.0.0"
  hashes = [
    "h1:a",
  ]
}

provider "bücher.example/a/b" {
  version     = "1.0.0-beta.1"
  constraints = "1.0.0-beta.1"
}
`,
    );
  });

  it("has OpenTofu's header where that is asked for", () => {
    assert.match(changed('', [change(NULL)], 'tofu'), /^# This file is maintained automatically by "tofu init"\.\n# Manual edits may be lost in future updates\.\n\nprovider "/u);
  });

  it('may have been there without any text, or with line breaks and a byte order mark only', () => {
    assert.equal(changed('\n\n', [change(NULL)]), `${HEADER}\n${block(NULL)}`);
    assert.equal(changed('\ufeff\r\n', [change(NULL)]), `\ufeff${`${HEADER}\n${block(NULL)}`.replaceAll('\n', '\r\n')}`);
  });
});

describe('a lock file that is there', () => {
  it('keeps its header, its order and everything about providers that are not named', () => {
    const other = `provider   "z.example/a/b" { version="1.0.0" } // kept\n`;
    const text = `# This file is maintained automatically by "tofu init".\n# Manual edits may be lost in future updates.\n\n# about z\n${other}\nmodule "m" {\n  x = [ 1,2 ]\n}\n\n${block(NULL)}`;
    assert.equal(changed(text, [change(NULL, '1.0.0', ['h1:b'])]), text.replace('    "h1:a",\n', '    "h1:a",\n    "h1:b",\n'));
    assert.equal(changed(text, [change(NULL, '2.0.0', ['h1:b'])]), text.replace('"1.0.0"\n  hashes', '"2.0.0"\n  hashes').replace('h1:a', 'h1:b'));
  });

  it('is the very same text when nothing changes, however it is written', () => {
    const text = `provider "${NULL}" {\n hashes=["zh:b",\n"h1:a"]\n\n   version   =   "1.0.0"\n}`;
    assert.equal(changed(text, [change(NULL, '1.0.0', ['h1:a'])]), text);
    assert.equal(changed(text, [change(NULL, '1.0.0', [])]), text);
    assert.equal(changed(text, []), text);
  });

  it('never loses a hash of the same version, and loses all of another one', () => {
    const text = `${HEADER}\n${block(NULL)}`;
    assert.match(changed(text, [change(NULL, '1.0.0', ['zh:b'])]), /"h1:a",\n {4}"zh:b",\n {2}\]/u);
    assert.doesNotMatch(changed(text, [change(NULL, '1.0.1', ['zh:b'])]), /h1:a/u);
    assert.equal(changed(text, [change(NULL, '1.0.1', [])]), `${HEADER}\nprovider "${NULL}" {\n  version = "1.0.1"\n}\n`);
    assert.match(changed(text, [change(NULL, '1.0.0', ['h1:c']), change(NULL, '1.0.0', ['h1:b'])]), /"h1:a",\n {4}"h1:b",\n {4}"h1:c",\n/u);
  });

  it('keeps constraints that are not spoken of, and has them changed, added and removed', () => {
    const without = `${HEADER}\n${block(NULL)}`;
    const withThem = without.replace('  version = "1.0.0"', '  version     = "1.0.0"\n  constraints = "~> 1.0"');
    assert.equal(changed(without, [{ ...change(NULL), constraints: '~> 1' }]), withThem);
    assert.equal(changed(withThem, [{ ...change(NULL), constraints: '' }]), without);
    assert.equal(changed(withThem, [change(NULL)]), withThem);
    assert.equal(changed(withThem, [{ ...change(NULL), constraints: '< 2' }]), withThem.replace('~> 1.0', '< 2.0.0'));
    assert.equal(changed(withThem, [change(NULL, '1.1.0', ['h1:a'])]), withThem.replace('"1.0.0"', '"1.1.0"'));
  });

  it('has new providers where the order has them', () => {
    const [b, d, f] = ['b', 'd', 'f'].map((name) => block(`x.example/${name}/p`));
    const text = `${HEADER}\n${b}\n${d}\n${f}`;
    for (const name of ['a', 'c', 'e', 'g']) {
      const address = `x.example/${name}/p`;
      const all = ['b', 'd', 'f', name].sort().map((each) => block(`x.example/${each}/p`));
      assert.equal(changed(text, [change(address)]), `${HEADER}\n${all.join('\n')}`);
    }
    const everything = ['g', 'a', 'e', 'aa', 'c'].map((name) => change(`x.example/${name}/p`));
    assert.equal(changed(text, everything), `${HEADER}\n${['a', 'aa', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => block(`x.example/${name}/p`)).join('\n')}`);
  });

  it('has them between comments that belong to others', () => {
    const text = `${HEADER}# about b\n/* and\n\nmore */\n${block('x.example/b/p').trimEnd()} /* still\n\nb */ # end of b\n# about d\n${block('x.example/d/p').trimEnd()}`;
    const result = changed(text, [change('x.example/a/p'), change('x.example/c/p'), change('x.example/e/p')]);
    assert.equal(
      result,
      `${HEADER}\n${block('x.example/a/p')}\n# about b\n/* and\n\nmore */\n${block('x.example/b/p').trimEnd()} /* still\n\nb */ # end of b\n\n${block('x.example/c/p')}\n# about d\n${block('x.example/d/p')}\n${block('x.example/e/p')}`,
    );
  });

  it('has the first provider behind whatever there is', () => {
    assert.equal(changed('# mine', [change(NULL)]), `# mine\n\n${block(NULL)}`);
    assert.equal(changed(HEADER, [change(NULL)]), `${HEADER}\n${block(NULL)}`);
    assert.equal(changed('module "m" {}\n', [change(NULL)]), `${block(NULL)}\nmodule "m" {}\n`);
  });

  it('keeps CRLF', () => {
    const text = `${HEADER}\n${block('x.example/b/p')}`.replaceAll('\n', '\r\n');
    const result = changed(text, [change('x.example/a/p'), { ...change('x.example/b/p', '1.0.0', ['h1:b']), constraints: '1.0.0' }, change('x.example/c/p')]);
    assert.doesNotMatch(result, /[^\r]\n/u);
    assert.match(result, /h1:b/u);
    const commented = text.replace('  version', '  # why\r\n  version').replace('"h1:a",', '"h1:a", // one');
    const amended = changed(commented, [{ ...change('x.example/b/p', '1.0.0', ['h1:0', 'h1:b']), constraints: '1.0.0' }]);
    assert.doesNotMatch(amended, /[^\r]\n/u);
    assert.match(amended, /# why\r\n[^]*constraints = "1\.0\.0"\r\n[^]*"h1:0",\r\n {4}"h1:a", \/\/ one\r\n {4}"h1:b",\r\n {2}\]/u);
  });
});

describe('a changed block with comments', () => {
  const text = `${HEADER}
provider "${NULL}" { # mine
  /* pinned */
  version = "1.0.0" // until the bug is fixed
  # from the vendor
  hashes = [
    "h1:b", # linux
    # below: windows
    "h1:d" /* without a comma */
    # the end
  ] # all
  # last
}
`;

  it('keeps every comment while hashes come in', () => {
    const result = changed(text, [change(NULL, '1.0.0', ['h1:a', 'h1:c', 'h1:cc', 'h1:e', 'h1:f'])]);
    assert.equal(
      result,
      text
        .replace('    "h1:b",', '    "h1:a",\n    "h1:b",')
        .replace('"h1:d" /*', '"h1:c",\n    "h1:cc",\n    "h1:d", /*')
        .replace('# the end\n', '# the end\n    "h1:e",\n    "h1:f",\n'),
    );
  });

  it('keeps those outside of the list when the version changes', () => {
    const result = changed(text, [change(NULL, '2.0.0', ['h1:z'])]);
    assert.equal(result, text.replace('"1.0.0"', '"2.0.0"').replace(/hashes = \[[^\]]*\]/u, 'hashes = [\n    "h1:z",\n  ]'));
    assert.equal(changed(text, [change(NULL, '2.0.0', [])]), text.replace('"1.0.0"', '"2.0.0"').replace(/hashes = \[[^\]]*\]/u, ''));
  });

  it('has constraints added behind the line of the version, changed, and removed with their line', () => {
    const withThem = changed(text, [{ ...change(NULL), hashes: [], constraints: '~> 1.0' }]);
    assert.equal(withThem, text.replace('  version = "1.0.0" // until the bug is fixed\n', '  version     = "1.0.0" // until the bug is fixed\n  constraints = "~> 1.0"\n'));
    assert.equal(changed(withThem, [{ ...change(NULL), hashes: [], constraints: '1.0.0' }]), withThem.replace('~> 1.0', '1.0.0'));
    assert.equal(changed(withThem, [{ ...change(NULL), hashes: [], constraints: '' }]), text);
    const noted = withThem.replace('constraints = "~> 1.0"', 'constraints = "~> 1.0" # note');
    assert.equal(changed(noted, [{ ...change(NULL), hashes: [], constraints: '' }]), text.replace('fixed\n', 'fixed\n   # note\n'));
  });

  it('has hashes added where there were none', () => {
    const bare = `provider "${NULL}" {\n  # why\n  version = "1.0.0" # so\n}\n`;
    assert.equal(changed(bare, [change(NULL)]), `provider "${NULL}" {\n  # why\n  version = "1.0.0" # so\n  hashes = [\n    "h1:a",\n  ]\n}\n`);
    assert.equal(
      changed(bare, [{ ...change(NULL), constraints: '1.0.0' }]),
      `provider "${NULL}" {\n  # why\n  version     = "1.0.0" # so\n  constraints = "1.0.0"\n  hashes = [\n    "h1:a",\n  ]\n}\n`,
    );
  });

  it('takes lists on one line, with and without a comma at the end', () => {
    for (const list of ['["h1:b"/* x */]', '["h1:b",/* x */]', '[ /* x */ "h1:b" ]', '[/* , */\n"h1:b"]', '["h1:b" # ,\n]']) {
      const given = `provider "${NULL}" {\n  version = "1.0.0"\n  hashes = ${list}\n}\n`;
      const result = changed(given, [change(NULL, '1.0.0', ['h1:a', 'h1:c'])]);
      assert.deepEqual(parseLocks(result, '/x').blocks[0]?.locked.hashes, ['h1:a', 'h1:b', 'h1:c']);
      for (const comment of list.match(/\/\*[^]*?\*\/|#.*/gu) ?? []) assert.ok(result.includes(comment), result);
    }
  });
});
