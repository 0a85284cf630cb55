import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ChecksumsInvalidError } from '../../src/errors.ts';
import { checksumFor, parseChecksums, signedHashes } from '../../src/verify/index.ts';
import { REALISTIC_SUMS } from './vectors.ts';

const WANTED = `decade${'0'.repeat(58)}`;
const OTHER = `c0ffee${'0'.repeat(58)}`;
const FILE = 'my-package.zip';

function find(document: string): string {
  return checksumFor(parseChecksums(document), FILE);
}

describe('checksumFor', () => {
  const good: readonly [string, string][] = [
    ['among others', `${OTHER} README.txt\n${WANTED} ${FILE}\n`],
    ['without a line break at the end', `${WANTED} ${FILE}`],
    ['behind blank lines', `\n\n${OTHER}  README.txt\n\n   \n${WANTED}  ${FILE}\n\n`],
    ['with CRLF', `${OTHER}  README.txt\r\n${WANTED}  ${FILE}\r\n`],
    ['in upper case', `${WANTED.toUpperCase()}  ${FILE}\n`],
    ['behind tabs and other spaces', `\t${WANTED}\t\u00a0\u2003${FILE}\n`],
    ['with a third field', `${WANTED}  ${FILE}  ignored\n`],
    ['as the first of two', `${WANTED}  ${FILE}\n${OTHER}  ${FILE}\n`],
    ['beside lines that make no sense', `horses README.txt\nalone\n${WANTED}  ${FILE}\n`],
  ];
  for (const [what, document] of good) {
    it(`finds it ${what}`, () => {
      assert.equal(find(document), WANTED);
    });
  }

  const bad: readonly [string, string, RegExp][] = [
    ['a document without the file', `${OTHER} README.txt\n`, /no line for it/u],
    ['an empty document', '', /no line for it/u],
    ['HTML', '<!DOCTYPE html>\n<html lang="en">\n', /no line for it/u],
    ['the binary mark of sha256sum, as the reference does', `${WANTED} *${FILE}\n`, /no line for it/u],
    ['another case of the name', `${WANTED}  ${FILE.toUpperCase()}\n`, /no line for it/u],
    ['a path before the name', `${WANTED}  dist/${FILE}\n`, /no line for it/u],
    ['words for a checksum', `horses README.txt\nchickens ${FILE}`, /no SHA-256/u],
    ['63 digits', `${WANTED.slice(1)}  ${FILE}`, /no SHA-256/u],
    ['65 digits', `${WANTED}0  ${FILE}`, /no SHA-256/u],
    ['64 characters that are no digits', `${'g'.repeat(64)}  ${FILE}`, /no SHA-256/u],
    ['a bad first line, although the second is good', `chickens ${FILE}\n${WANTED}  ${FILE}\n`, /no SHA-256/u],
  ];
  for (const [what, document, problem] of bad) {
    it(`refuses ${what}`, () => {
      assert.throws(() => find(document), (error: unknown) => {
        assert.ok(error instanceof ChecksumsInvalidError);
        assert.equal(error.filename, FILE);
        assert.match(error.message, problem);
        return true;
      });
    });
  }

  it('does not take a byte order mark for a space: the reference does not', () => {
    assert.throws(() => find(`\ufeff${WANTED}  ${FILE}`), ChecksumsInvalidError);
  });
});

describe('parseChecksums', () => {
  it('keeps the order, and names that are no names of files', () => {
    const sums = parseChecksums(`${OTHER}  b\n${WANTED}  __proto__\nhorses a\n`);
    assert.deepEqual([...sums], [['b', OTHER], ['__proto__', WANTED], ['a', 'horses']]);
  });
});

describe('signedHashes', () => {
  const realistic = REALISTIC_SUMS.map(([checksum, platform]) => `${checksum}  terraform_0.14.0-alpha20200923_${platform}.zip\n`).join('');

  it('collects every line', () => {
    assert.deepEqual(signedHashes(realistic), REALISTIC_SUMS.map(([checksum]) => `zh:${checksum}`));
  });

  it('takes blank lines, CRLF and upper case', () => {
    const document = `\r\n${realistic.replaceAll('\n', '\r\n\r\n')}`;
    assert.deepEqual(signedHashes(document), REALISTIC_SUMS.map(([checksum]) => `zh:${checksum}`));
    assert.deepEqual(signedHashes(`${WANTED.toUpperCase()}  a`), [`zh:${WANTED}`]);
  });

  it('collects nothing when one line is not of the form', () => {
    for (const line of ['alone', WANTED, `horses README.txt`, `${WANTED}0  x`, `${WANTED.slice(1)}  x`]) assert.deepEqual(signedHashes(`${realistic}${line}\n`), [], line);
    assert.deepEqual(signedHashes(''), []);
  });
});
