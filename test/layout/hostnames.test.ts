import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { domainToASCII } from 'node:url';
import fc from 'fast-check';
import { InvalidHostnameError } from '../../src/errors.ts';
import { normalizeHostname } from '../../src/layout/index.ts';
import { HOST_NAMES, NODE_DISAGREES } from './vectors.ts';

function refused(given: string): void {
  assert.throws(
    () => normalizeHostname(given),
    (error) => error instanceof InvalidHostnameError && error.given === given,
    JSON.stringify(given),
  );
}

describe('normalizeHostname', () => {
  it('answers what the reference clients answer', () => {
    for (const { given, ascii, display } of HOST_NAMES) {
      if (ascii === undefined || display === undefined) refused(given);
      else assert.deepEqual(normalizeHostname(given), { ascii, display }, JSON.stringify(given));
    }
  });

  it('does not follow Node where Node disagrees with them', () => {
    for (const { given, ascii } of NODE_DISAGREES) {
      if (ascii === null) refused(given);
      else assert.equal(normalizeHostname(given).ascii, ascii, JSON.stringify(given));
    }
  });

  it('is still needed: this Node disagrees with them', () => {
    assert.ok(NODE_DISAGREES.filter(({ given, ascii }) => domainToASCII(given) !== (ascii ?? '')).length > 0);
  });

  it('leaves names that look like numbers alone', () => {
    for (const given of ['0', '1.2', '0x7f.1', '127.0.0.1', '1.1.1.256', 'example.1', '4294967296']) {
      assert.deepEqual(normalizeHostname(given), { ascii: given, display: given });
    }
  });

  it('reads ports as the clients do', () => {
    assert.equal(normalizeHostname('localhost:081').ascii, 'localhost:81');
    assert.equal(normalizeHostname('localhost:-0').ascii, 'localhost:0');
    assert.equal(normalizeHostname('Bücher.example:443').display, 'bücher.example');
    assert.equal(normalizeHostname('Bücher.example:8443').display, 'bücher.example:8443');
    for (const given of ['localhost:', 'localhost:65536', 'localhost:1e3', 'localhost: 80', 'localhost:٨٠', 'https://example.com', 'http://example.com', '[::1]:80']) refused(given);
  });

  it('never gives a name that means another directory', () => {
    for (const given of ['', '.', '..', '...', '。', '。。', '．．', '\u00ad', '\u00ad.\u00ad', 'a/../b', '／', 'a／b', 'a\\b', 'a\0b', 'a b', 'a..b', 'a。。b', 'example.com...']) refused(given);
  });

  it('takes every full stop of UTS 46 for one', () => {
    assert.deepEqual(normalizeHostname('例え。テスト'), normalizeHostname('例え.テスト'));
    assert.deepEqual(normalizeHostname('example.com。'), { ascii: 'example.com.', display: 'example.com.' });
  });

  it('maps letters that fold to ASCII (long s, Kelvin sign)', () => {
    assert.deepEqual(normalizeHostname('\u017f\u212a.com'), { ascii: 'sk.com', display: 'sk.com' });
    assert.deepEqual(normalizeHostname('EXAMPLE.com'), { ascii: 'example.com', display: 'example.com' });
  });

  it('takes punycode only in upper case, and only if a name maps to it', () => {
    assert.deepEqual(normalizeHostname('XN--MNCHEN-3YA.DE'), { ascii: 'xn--mnchen-3ya.de', display: 'münchen.de' });
    for (const given of ['xn--mnchen-3ya.de', 'a.xn--mnchen-3ya', 'XN--.de', 'XN--A.de', 'XN--ABC-.de', 'XN--0.de', 'XN--1CH.com']) refused(given);
  });

  it('refuses what hides forbidden ASCII', () => {
    for (const given of ['a\u2260b.com', 'a\u226eb.com', 'a\u00a0b.com', 'a\u2474b.com', '\uff05\uff14\uff11.com', 'a\uff20b.com']) refused(given);
  });

  it('keeps the bidi rule within a label', () => {
    for (const given of ['אב1.com', 'א-ב.com', 'مثال.إختبار', 'س۱.com', 'سَ.com', '1.אב']) assert.doesNotThrow(() => normalizeHostname(given), given);
    for (const given of ['אa.com', 'אaב.com', '1אב.com', 'س1١.com', 'a.אa']) refused(given);
  });

  it('keeps joiners where their script needs them, and nowhere else', () => {
    assert.equal(normalizeHostname('\u0915\u094d\u200d\u0937.com').display, '\u0915\u094d\u200d\u0937.com');
    for (const given of ['a\u200db.com', 'a\u200cb.com', '\u0915\u200d\u0937.com']) refused(given);
  });

  it('gives the same again for what it showed', () => {
    const anyText = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
    const letters = fc.stringMatching(/^[\p{L}\p{N}\p{M}.\u00ad-]{1,12}$/u);
    const port = fc.option(fc.integer({ min: -5, max: 65535 }), { nil: undefined });
    fc.assert(
      fc.property(fc.oneof(anyText, letters), port, (name, number) => {
        let first;
        try {
          first = normalizeHostname(number === undefined ? name : `${name}:${number}`);
        } catch (error) {
          assert.ok(error instanceof InvalidHostnameError);
          return;
        }
        assert.deepEqual(normalizeHostname(first.display), first);
        assert.match(first.ascii, /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.{0,2}(?::-?[0-9]+)?$/u);
        assert.ok(!first.display.includes('/') && !first.display.startsWith('.'));
      }),
      { numRuns: 3000 },
    );
  });
});
