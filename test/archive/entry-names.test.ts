import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEntryTree, decodeEntryName, entryNameProblem } from '../../src/archive/entry-names.ts';

describe('entryNameProblem', () => {
  const good = ['a', 'terraform-provider-null_v3.2.4_x5', 'LICENSE', 'docs/index.md', '.hidden', '.terraform/x', 'a..b', '..a', '...a', 'a-b/c_d.e', 'ünï/¢ødé', '日本/語', '😀', 'console', 'com', 'com10', 'a b', ' a', 'x'.repeat(255)];
  for (const name of good) {
    it(`takes ${JSON.stringify(name.slice(0, 40))}`, () => {
      assert.equal(entryNameProblem(name), undefined);
    });
  }

  const bad: readonly [name: string, problem: RegExp][] = [
    ['', /empty/u],
    ['..', /climbs/u],
    ['../evil', /climbs/u],
    ['a/../../evil', /climbs/u],
    ['a/..', /climbs/u],
    ['/etc/passwd', /absolute/u],
    ['//host/share', /absolute/u],
    ['\\\\host\\share\\x', /backslash/u],
    ['..\\evil', /backslash/u],
    ['a\\b', /backslash/u],
    ['C:/x', /drive/u],
    ['c:x', /drive/u],
    ['file:stream', /stream/u],
    ['a/b:stream', /stream/u],
    ['./a', /"\."/u],
    ['a/./b', /"\."/u],
    ['.', /"\."/u],
    ['a//b', /empty segment/u],
    ['a/', /empty segment/u],
    ['a\0b', /NUL/u],
    ['a\nb', /control/u],
    ['a\u007f', /control/u],
    ['a\u0085', /control/u],
    ['a\u202ecod.exe', /control/u],
    ['a\u2066b', /control/u],
    ['a.', /dot or space/u],
    ['a /b', /dot or space/u],
    ['dir./b', /dot or space/u],
    ['...', /dot or space/u],
    ['CON', /device/u],
    ['a/nul.txt', /device/u],
    ['Com1', /device/u],
    ['lpt9.tar.gz', /device/u],
    ['com\u00b9', /device/u],
    ['conin$', /device/u],
    ['x'.repeat(256), /255 bytes/u],
    ['ü'.repeat(128), /255 bytes/u],
    ['a/'.repeat(2048) + 'bb', /4096 bytes/u],
  ];
  for (const [name, problem] of bad) {
    it(`refuses ${JSON.stringify(name.slice(0, 40))}`, () => {
      assert.match(entryNameProblem(name) ?? '', problem);
    });
  }
});

describe('decodeEntryName', () => {
  it('takes UTF-8 only, whole and unchanged', () => {
    assert.equal(decodeEntryName(Buffer.from('ünï')), 'ünï');
    // A byte order mark is part of the name: dropped, two names would be one.
    assert.equal(decodeEntryName(Buffer.from('\ufeffa')), '\ufeffa');
    assert.equal(decodeEntryName(Buffer.from([0x61, 0xe9])), undefined);
    // Overlong: "/" in two bytes.
    assert.equal(decodeEntryName(Buffer.from([0xc0, 0xaf])), undefined);
    // A surrogate, which JavaScript would write as a replacement.
    assert.equal(decodeEntryName(Buffer.from([0xed, 0xa0, 0x80])), undefined);
  });
});

describe('createEntryTree', () => {
  function problemOf(...names: readonly string[]): string | undefined {
    const tree = createEntryTree();
    let problem: string | undefined;
    for (const name of names) problem ??= tree.add(name.replace(/\/$/u, ''), name.endsWith('/'));
    return problem;
  }

  it('lists every directory, parents first, named or implied', () => {
    const tree = createEntryTree();
    for (const name of ['a/b/c', 'z', 'a/d']) assert.equal(tree.add(name, false), undefined);
    assert.equal(tree.add('a', true), undefined);
    assert.equal(tree.add('e/f', true), undefined);
    assert.deepEqual(tree.directories(), ['a', 'e', 'a/b', 'e/f']);
    assert.equal(tree.size, 7);
  });

  it('takes a directory before and after what is in it', () => {
    assert.equal(problemOf('a/', 'a/b', 'c/d', 'c/'), undefined);
  });

  const collisions: readonly [problem: RegExp, ...names: string[]][] = [
    [/twice/u, 'a', 'a'],
    [/twice/u, 'a/', 'a/'],
    [/twice/u, 'a/b', 'a/', 'a/'],
    [/file and a directory/u, 'a', 'a/'],
    [/file and a directory/u, 'a/', 'a'],
    [/file and a directory/u, 'a', 'a/b'],
    [/file and a directory/u, 'a/b/c', 'a/b'],
    [/only in case/u, 'DIR/a', 'dir/b'],
    [/only in case/u, 'readme', 'README'],
    [/only in case/u, 'é', 'e\u0301'],
    [/only in case/u, 'straße', 'STRASSE'],
    [/only in case/u, 'ſ', 's'],
    [/only in case/u, 'ας', 'ασ'],
    [/only in case/u, '\u212a', 'k'],
  ];
  for (const [problem, ...names] of collisions) {
    it(`refuses ${names.join(' and ')}`, () => {
      assert.match(problemOf(...names) ?? '', problem);
    });
  }
});
