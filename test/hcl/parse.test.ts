import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { HclSyntaxError } from '../../src/errors.ts';
import { parseHcl, quoteHcl, type HclBody, type HclDialect, type HclLiteral } from '../../src/hcl/index.ts';

/** What a body says, without its positions. */
type Plain = readonly (readonly [name: string, value: unknown] | { readonly block: string; readonly labels: readonly string[]; readonly body: Plain })[];

function plain(body: HclBody): Plain {
  return body.items.map((item) => (item.kind === 'attribute' ? ([item.name, plainValue(item.value)] as const) : { block: item.type, labels: item.labels, body: plain(item.body) }));
}

function plainValue(value: HclLiteral): unknown {
  if (value instanceof Map) return Object.fromEntries(Array.from(value as ReadonlyMap<string, HclLiteral>, ([key, inner]) => [key, plainValue(inner)]));
  return Array.isArray(value) ? value.map((inner: HclLiteral) => plainValue(inner)) : value;
}

const read = (dialect: HclDialect, text: string): Plain => plain(parseHcl(text, { subject: 'x.hcl', dialect }));

/** What is said of a bad file: `line:column: found …, expected …`. */
function complaint(dialect: HclDialect, text: string): string {
  try {
    parseHcl(text, { subject: 'dir/x.hcl', dialect });
  } catch (error) {
    assert.ok(error instanceof HclSyntaxError, String(error));
    assert.equal(error.path, 'dir/x.hcl');
    assert.equal(error.message, `dir/x.hcl:${error.line}:${error.column}: found ${error.found}, expected ${error.expected}`);
    return error.message.slice('dir/x.hcl:'.length);
  }
  throw new assert.AssertionError({ message: `was taken: ${JSON.stringify(text)}` });
}

const LOCK_FILE = `# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "registry.terraform.io/hashicorp/null" {
  version     = "3.2.1" // why
  constraints = "~> 3.0"
  hashes = [
    "h1:a=", # one
    /* two
    lines */ "zh:b",
  ]
}
`;

describe('HCL 2, the literal subset', () => {
  it('reads a lock file', () => {
    assert.deepEqual(read('hcl2', LOCK_FILE), [
      {
        block: 'provider',
        labels: ['registry.terraform.io/hashicorp/null'],
        body: [['version', '3.2.1'], ['constraints', '~> 3.0'], ['hashes', ['h1:a=', 'zh:b']]],
      },
    ]);
  });

  it('is the same with CRLF, a byte order mark, and without a last line break', () => {
    const expected = read('hcl2', LOCK_FILE);
    assert.deepEqual(read('hcl2', LOCK_FILE.replaceAll('\n', '\r\n')), expected);
    assert.deepEqual(read('hcl2', `\ufeff${LOCK_FILE}`), expected);
    assert.deepEqual(read('hcl2', LOCK_FILE.trimEnd()), expected);
    for (const empty of ['', '\ufeff', '\n\r\n', '# only this', '/* this */ // that\r\n']) assert.deepEqual(read('hcl2', empty), []);
  });

  it('has strings with escapes, numbers, booleans, null, lists, and objects', () => {
    assert.deepEqual(read('hcl2', 'a = "\\n\\r\\t\\"\\\\\\u00e9\\U0001F600 é 😀 $ % $x %% $$"'), [['a', '\n\r\t"\\é😀 é 😀 $ % $x %% $$']]);
    assert.deepEqual(read('hcl2', 'a = "e\u0301"'), [['a', '\u00e9']]);
    assert.deepEqual(read('hcl2', 'a = "$${x} %%{y} $$$${"'), [['a', '${x} %{y} $$${']]);
    assert.deepEqual(read('hcl2', 'a = -1.5e3\nb = 0\nc = true\nd = false\ne = null\n'), [['a', -1500], ['b', 0], ['c', true], ['d', false], ['e', null]]);
    assert.deepEqual(read('hcl2', 'a = []\nb = [\n\n1,\n[2,],\n{}\n]\n'), [['a', []], ['b', [1, [2], {}]]]);
    assert.deepEqual(read('hcl2', 'a = { b = 1, "c d" : [2]\n e = {}\n}\n'), [['a', { b: 1, 'c d': [2], e: {} }]]);
  });

  it('has blocks on one line, without labels, with bare ones, and within each other', () => {
    assert.deepEqual(read('hcl2', 'a {}\nb c "d" { e = 1 }\nf {\n  g { }\n}'), [
      { block: 'a', labels: [], body: [] },
      { block: 'b', labels: ['c', 'd'], body: [['e', 1]] },
      { block: 'f', labels: [], body: [{ block: 'g', labels: [], body: [] }] },
    ]);
  });

  it('knows where everything stands', () => {
    const text = '\ufeff# 😀\r\na "b" { # x\r\n  c = [ "😀", 2 ] /* y */\r\n}\r\n';
    const file = parseHcl(text, { subject: 'x', dialect: 'hcl2' });
    const [block] = file.items;
    assert.ok(block?.kind === 'block');
    const [attribute] = block.body.items;
    assert.ok(attribute?.kind === 'attribute');
    const at = ({ start, end }: typeof block.range): string => `${start.line}:${start.column} ${text.slice(start.offset, end.offset)} ${end.line}:${end.column}`;
    assert.equal(at(block.headerRange), '2:1 a "b" 2:6');
    assert.deepEqual(block.labelRanges.map(at), ['2:3 "b" 2:6']);
    assert.equal(at(block.range), '2:1 a "b" { # x\r\n  c = [ "😀", 2 ] /* y */\r\n} 4:2');
    assert.equal(at(block.body.range), '2:8  # x\r\n  c = [ "😀", 2 ] /* y */\r\n 4:1');
    assert.equal(at(attribute.nameRange), '3:3 c 3:4');
    assert.equal(at(attribute.valueRange), '3:7 [ "😀", 2 ] 3:17');
    assert.equal(at(attribute.range), '3:3 c = [ "😀", 2 ] 3:17');
    assert.deepEqual(attribute.elementRanges.map(at), ['3:9 "😀" 3:12', '3:14 2 3:15']);
    assert.deepEqual(file.comments.map(at), ['1:1 # 😀 1:4', '2:9 # x 2:12', '3:18 /* y */ 3:25']);
    assert.deepEqual([file.range.start.offset, file.range.end.offset], [0, text.length]);
  });

  const VALUE = 'a literal value: a quoted string, a number, true, false, a list or an object';
  for (const [text, expected] of [
    ['= 1', "1:1: found '=', expected an attribute or a block"],
    ['a', "1:2: found the end of the file, expected '=', a label, or '{'"],
    ['a\n= 1', "1:2: found the end of the line, expected '=', a label, or '{'"],
    ['a "b"\n{\n}', "1:6: found the end of the line, expected a label or '{'"],
    ['a "b" = 1', "1:7: found '=', expected a label or '{'"],
    ['"a" = 1', '1:1: found a quoted string, expected an attribute or a block'],
    ['a =', `1:4: found the end of the file, expected ${VALUE}`],
    ['a = \n1', `1:5: found the end of the line, expected ${VALUE}`],
    ['a = b', `1:5: found a word without quotes, expected ${VALUE}`],
    ['a = ("b")', `1:5: found '(', expected ${VALUE}`],
    ["a = 'b'", `1:5: found ''', expected ${VALUE}`],
    ['a = “b”', `1:5: found the character U+201C, expected ${VALUE}`],
    ['a = "b" + "c"', "1:9: found '+', expected the end of the line"],
    ['a = f("c")', `1:5: found a word without quotes, expected ${VALUE}`],
    ['a = "b" "c"', '1:9: found a quoted string, expected the end of the line'],
    ['a = 1 b = 2', '1:7: found a word without quotes, expected the end of the line'],
    ['a = 1\n\n  a = 2', '3:3: found a second attribute a, expected each attribute once in a block'],
    ['a {\n  b = 1', "2:8: found the end of the file, expected an attribute, a block, or '}'"],
    ['a {\n  b = 1 }', "2:9: found '}', expected the end of the line"],
    ['a {\n', "2:1: found the end of the file, expected an attribute, a block, or '}'"],
    ['a { b = 1, c = 2 }', "1:10: found ',', expected '}', since a block on one line has one attribute at most"],
    ['a { b {} }', "1:7: found '{', expected '=', since a block on one line has attributes only"],
    ['a { 1 }', "1:5: found a number, expected the end of the line, an attribute, or '}'"],
    ['a {}}', "1:5: found '}', expected the end of the line"],
    ['}', "1:1: found '}', expected an attribute or a block"],
    ['a = [1 2]', "1:8: found a number, expected ',' or ']'"],
    ['a = [1', "1:7: found the end of the file, expected ',' or ']'"],
    ['a = [,]', `1:6: found ',', expected ${VALUE}`],
    ['a = {b 1}', "1:8: found a number, expected '=' or ':'"],
    ['a = {b = 1 c = 2}', "1:12: found a word without quotes, expected ',', the end of the line, or '}'"],
    ['a = {b = 1, b = 2}', '1:13: found a key that was there before, expected each key once in an object'],
    ['a = {', "1:6: found the end of the file, expected a key or '}'"],
    ['a = {1 = 2}', "1:6: found a number, expected a key or '}'"],
    ['a = "b', '1:7: found the end of the file, expected a closing quote for the string that begins in column 5'],
    ['a = "b\n"', '1:7: found the end of the line, expected a closing quote for the string that begins in column 5'],
    ['a = "b\r\n"', '1:7: found the end of the line, expected a closing quote for the string that begins in column 5'],
    ['a = "${b}"', '1:6: found the template ${, expected literal text; $${ stands for ${'],
    ['a = "x%{if b}"', '1:7: found the template %{, expected literal text; %%{ stands for %{'],
    ['a = "\\x41"', '1:6: found an unknown escape, expected one of \\n, \\r, \\t, \\", \\\\, \\uXXXX, \\UXXXXXXXX behind the backslash'],
    ['a = "\\u12"', '1:6: found the escape \\u without its digits, expected 4 hex digits behind \\u'],
    ['a = "\\ud83d\\ude00"', '1:6: found an escape for what is no character, expected a code point up to 10FFFF, and no surrogate'],
    ['a = "\\U00110000"', '1:6: found an escape for what is no character, expected a code point up to 10FFFF, and no surrogate'],
    ['a = "\\', '1:6: found an unknown escape, expected one of \\n, \\r, \\t, \\", \\\\, \\uXXXX, \\UXXXXXXXX behind the backslash'],
    ['a = <<EOT\nb\nEOT\n', '1:5: found a heredoc (<<), expected a quoted string on one line, with \\n for line breaks'],
    ['a = 1 /* b\n', '2:1: found the end of the file, expected */ to end the comment that begins in line 1'],
    ['a = 1e999', '1:5: found a number that is too large, expected one below 1.8e308'],
    ['a = "\ud800"', '1:6: found half a character (a lone surrogate), expected well-formed Unicode'],
    ['# 😀\na = 1 \u0000', '2:7: found the character U+0000, expected the end of the line'],
    ['a = 1\r b = 2', '1:6: found the character U+000D, expected the end of the line'],
  ] as const) {
    it(`refuses ${JSON.stringify(text)} with the place, what is there, and what should be`, () => {
      assert.equal(complaint('hcl2', text), expected);
    });
  }

  it('refuses what is nested without end, and does so at once', () => {
    for (const text of ['a = ' + '['.repeat(1_000_000), 'a = ' + '{b='.repeat(300_000), 'a {\n'.repeat(300_000)]) {
      assert.match(complaint('hcl2', text), /found more than 100 blocks, lists and objects within each other, expected at most 100$/u);
    }
    assert.equal(read('hcl2', `a = ${'['.repeat(100)}${']'.repeat(100)}`).length, 1);
  });

  it('never quotes words, strings or numbers, which may be secrets', () => {
    for (const text of ['token = s3cr3t', 'token "s3cr3t" "x"', 'token = "s3cr3t\n', 'token = "s3cr3t" s3cr3t', 'token = s3cr3t"', 'token = "\\s3cr3t"', 's3cr3t']) {
      for (const dialect of ['hcl1', 'hcl2'] as const) assert.doesNotMatch(complaint(dialect, text), /s3cr3t|s3/u);
    }
  });

  it('reads every text to its end or to an error that has a place in it', () => {
    const pieces = fc.constantFrom('a', 'true', 'null', '"b"', '"', '\\', '{', '}', '[', ']', '=', ':', ',', '\n', '\r\n', ' ', '#', '//', '/*', '*/', '1', '-', '$', '{', '%', '😀', '\ufeff', '<<', '\ud800');
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), fc.constantFrom('hcl1', 'hcl2'), (parts, dialect) => {
        const text = parts.join('');
        try {
          parseHcl(text, { subject: 'x', dialect });
        } catch (error) {
          assert.ok(error instanceof HclSyntaxError, String(error));
          const lines = text.split('\n');
          assert.ok(error.line >= 1 && error.line <= lines.length);
          assert.ok(error.column >= 1 && error.column <= (lines[error.line - 1] ?? '').length + 1);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('takes time in proportion to the text, be it one long line or many', () => {
    const lists = `a = [${'"😀", '.repeat(200_000)}]`;
    const comments = '/* 😀 */ '.repeat(200_000);
    assert.equal(parseHcl(lists, { subject: 'x', dialect: 'hcl2' }).items.length, 1);
    assert.equal(parseHcl(comments, { subject: 'x', dialect: 'hcl2' }).comments.length, 200_000);
    assert.equal(parseHcl(`a = "${'$'.repeat(1_000_000)}"`, { subject: 'x', dialect: 'hcl2' }).items.length, 1);
  });
});

describe('HCL 1, as CLI configuration files have it', () => {
  it('takes key = { … } and key { … } for the same', () => {
    const expected = [{ block: 'services', labels: [], body: [['modules.v1', 'https://x/'], ['n', 1]] }];
    assert.deepEqual(read('hcl1', 'services = {\n  "modules.v1" = "https://x/"\n  n = 1\n}'), expected);
    assert.deepEqual(read('hcl1', 'services {\n  "modules.v1" = "https://x/"\n  n = 1\n}'), expected);
    assert.deepEqual(read('hcl1', '"services" { "modules.v1" = "https://x/", n = 1, }'), expected);
  });

  it('reads a CLI configuration', () => {
    const text = `plugin_cache_dir = "$HOME/.cache/\${not} %{this}"
disable_checkpoint = true
credentials "app.example.com" { token = "t" }
credentials app.example.org { token = "u" }
host "a.example" {
  services = { "providers.v1" = "https://a/" }
}
provider_installation {
  filesystem_mirror {
    path    = "/usr/share"
    include = ["example.com/*/*",]
  }
  direct { exclude = ["example.com/*/*"] } // rest
  direct {}
}
`;
    const expected = [
      ['plugin_cache_dir', '$HOME/.cache/${not} %{this}'],
      ['disable_checkpoint', true],
      { block: 'credentials', labels: ['app.example.com'], body: [['token', 't']] },
      { block: 'credentials', labels: ['app.example.org'], body: [['token', 'u']] },
      { block: 'host', labels: ['a.example'], body: [{ block: 'services', labels: [], body: [['providers.v1', 'https://a/']] }] },
      {
        block: 'provider_installation',
        labels: [],
        body: [
          { block: 'filesystem_mirror', labels: [], body: [['path', '/usr/share'], ['include', ['example.com/*/*']]] },
          { block: 'direct', labels: [], body: [['exclude', ['example.com/*/*']]] },
          { block: 'direct', labels: [], body: [] },
        ],
      },
    ];
    assert.deepEqual(read('hcl1', text), expected);
    assert.deepEqual(read('hcl1', `\ufeff${text.replaceAll('\n', '\r\n')}`), expected);
  });

  it('takes line breaks for spaces, attributes again and again, and objects in lists', () => {
    assert.deepEqual(read('hcl1', 'a\n=\n1 a = 2, a = 3'), [['a', 1], ['a', 2], ['a', 3]]);
    assert.deepEqual(read('hcl1', 'a = [{ b = 1 c { d = "e" } }, [2]]'), [['a', [{ b: 1, c: { d: 'e' } }, [2]]]]);
  });

  it("has Go's escapes and numbers, and text within ${ } as it stands there", () => {
    assert.deepEqual(read('hcl1', 'a = "\\a\\b\\f\\n\\r\\t\\v\\"\\\\\\x41\\101\\u00e9\\U0001F600"'), [['a', '\x07\b\f\n\r\t\v"\\AAé😀']]);
    assert.deepEqual(read('hcl1', 'a = "x${f("y", {})}\\n$${z}"'), [['a', 'x${f("y", {})}\n$${z}']]);
    assert.deepEqual(read('hcl1', 'a = 0x1F b = 010 c = -1.5e1 d = 1.'), [['a', 31], ['b', 8], ['c', -15], ['d', 1]]);
  });

  const VALUE = 'a literal value: a quoted string, a number, true, false, a list or an object';
  for (const [text, expected] of [
    ['a = null', `1:5: found null, expected ${VALUE}`],
    ['a : 1', "1:3: found ':', expected '=', a label, or '{'"],
    ['a b = {}', "1:5: found '=', expected a label or '{'"],
    ['a = [1 2]', "1:8: found a number, expected ',' or ']'"],
    ['a {\n  b = 1\n', "3:1: found the end of the file, expected an attribute, a block, or '}'"],
    ['{}', "1:1: found '{', expected an attribute or a block"],
    ['a = "x${y"', '1:11: found the end of the file, expected a closing brace for the ${ in the string that begins in line 1'],
    ['a = "\\q"', '1:6: found an unknown escape, expected one of \\a, \\b, \\f, \\n, \\r, \\t, \\v, \\", \\\\, \\xXX, \\uXXXX, \\UXXXXXXXX, \\000 behind the backslash'],
    ['a = "\\xff"', '1:6: found an escape for a byte above 7F, expected the character itself, or \\u with its code point'],
    ['a = 08', '1:5: found a number that begins with 0 and has an 8 or 9, expected a decimal number without a leading 0, since with one it is octal'],
    ['a = <<-X\nX\n', '1:5: found a heredoc (<<), expected a quoted string on one line, with \\n for line breaks'],
  ] as const) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.equal(complaint('hcl1', text), expected);
    });
  }

  it('refuses what is nested without end', () => {
    assert.match(complaint('hcl1', 'a = {'.repeat(300_000)), /more than 100/u);
    assert.match(complaint('hcl1', `a = ${'[{b = '.repeat(300_000)}`), /more than 100/u);
  });
});

describe('quoted strings', () => {
  it('are written as the reference writes them', () => {
    assert.equal(quoteHcl('a"\\\n\r\té😀\u200b\u{e0001}${x} %{y} $ %', 'hcl2'), '"a\\"\\\\\\n\\r\\té😀\\u200b\\U000e0001$${x} %%{y} $ %"');
  });

  it('are read as they were written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), fc.boolean(), (text, spiced) => {
        const given = spiced ? `$${text}%{\${` : text;
        assert.deepEqual(read('hcl2', `a = ${quoteHcl(given, 'hcl2')}`), [['a', given.normalize('NFC')]]);
        if (!given.includes('${')) assert.deepEqual(read('hcl1', `a = ${quoteHcl(given, 'hcl1')}`), [['a', given]]);
      }),
      { numRuns: 1000 },
    );
  });
});
