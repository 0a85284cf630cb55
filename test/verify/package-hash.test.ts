import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { InvalidOptionError, UnreadableDirectoryError } from '../../src/errors.ts';
import { matchesExpected, packageHashFromFiles, parseHash } from '../../src/verify/index.ts';
import { H1_VECTORS } from './vectors.ts';

function sha256(data: string): string {
  return createHash('sha256').update(data).digest('hex');
}

describe('packageHashFromFiles', () => {
  for (const { name, files, h1 } of H1_VECTORS) {
    it(`is the reference's of "${name}", in any order`, () => {
      const list = Object.entries(files).map(([file, content]) => ({ name: file, sha256: sha256(content) }));
      assert.equal(packageHashFromFiles(list), h1);
      assert.equal(packageHashFromFiles(list.reverse()), h1);
    });
  }

  it('is the formula', () => {
    const text = `${sha256('data for abc')}  abc\n${sha256('data for xyz')}  xyz\n`;
    const h1 = `h1:${createHash('sha256').update(text).digest('base64')}`;
    assert.equal(packageHashFromFiles(new Set([{ name: 'xyz', sha256: sha256('data for xyz') }, { name: 'abc', sha256: sha256('data for abc') }])), h1);
  });

  it('sorts by the bytes of names, not by UTF-16', () => {
    // U+FFFD is before U+1F600 in bytes (ef… < f0…), and after its surrogates in UTF-16.
    const names = ['\u{1f600}', '\ufffd'];
    assert.deepEqual([...names].sort(), names);
    const text = `${sha256('2')}  \ufffd\n${sha256('1')}  \u{1f600}\n`;
    assert.equal(
      packageHashFromFiles([{ name: '\u{1f600}', sha256: sha256('1') }, { name: '\ufffd', sha256: sha256('2') }]),
      `h1:${createHash('sha256').update(text).digest('base64')}`,
    );
  });

  it('counts equal names each time', () => {
    const a = { name: 'a', sha256: sha256('A') };
    const text = `${a.sha256}  a\n`;
    assert.equal(packageHashFromFiles([a, a]), `h1:${createHash('sha256').update(text + text).digest('base64')}`);
  });

  it('refuses a line break in a name', () => {
    assert.throws(() => packageHashFromFiles([{ name: 'a\nb', sha256: sha256('') }]), UnreadableDirectoryError);
  });
});

describe('parseHash', () => {
  it('takes any scheme and any value', () => {
    assert.deepEqual(parseHash('h1:abc='), { scheme: 'h1', value: 'abc=' });
    assert.deepEqual(parseHash('zh:a:b'), { scheme: 'zh', value: 'a:b' });
    assert.deepEqual(parseHash('future:'), { scheme: 'future', value: '' });
  });

  it('wants a scheme', () => {
    for (const text of ['', 'abc', ':abc', ':']) assert.throws(() => parseHash(text), InvalidOptionError);
  });
});

describe('matchesExpected', () => {
  const rows: readonly [expected: string[], actual: string[], verdict: string][] = [
    [['h1:a'], ['h1:a'], 'match'],
    [['h1:a', 'zh:b'], ['zh:b'], 'match'],
    [['zh:x', 'zh:b'], ['h1:a', 'zh:b'], 'match'],
    [['h1:a'], ['h1:b'], 'mismatch'],
    [['h1:a', 'zh:b'], ['h1:c', 'zh:d'], 'mismatch'],
    [['zh:b', 'future:x'], ['zh:d'], 'mismatch'],
    [['zh:b'], ['h1:a'], 'unproven'],
    [['h1:a'], ['zh:b'], 'unproven'],
    [['h1:a'], [], 'unproven'],
    // A lock file of another platform: its h1, and every platform's zh.
    [['h1:darwin', 'zh:darwin', 'zh:linux'], ['h1:linux'], 'unproven'],
    [['h1:darwin', 'zh:darwin', 'zh:linux'], ['h1:linux', 'zh:linux'], 'match'],
    [['h1:darwin', 'zh:darwin', 'zh:linux'], ['h1:linux', 'zh:tampered'], 'mismatch'],
    // Unknown schemes never match, and text is compared as it is.
    [['future:x'], ['future:x'], 'unproven'],
    [['h1:'], ['h1:'], 'mismatch'],
    [['zh:AB'], ['zh:ab'], 'mismatch'],
    [['h1'], ['h1'], 'unproven'],
    [[], ['h1:a'], 'unproven'],
  ];
  for (const [expected, actual, verdict] of rows) {
    it(`${JSON.stringify(expected)} and ${JSON.stringify(actual)}: ${verdict}`, () => {
      assert.equal(matchesExpected(expected, actual), verdict);
    });
  }
});
