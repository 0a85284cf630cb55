/**
 * International names as the reference clients take them: Go's `idna.Lookup` (non-transitional UTS 46 with the
 * STD3, hyphen, joiner and bidi rules, and no limit of length). Node's own mapping does the mapping; the rules that
 * it leaves out or bends are applied around it. Pure; throws nothing, it answers with what is wrong instead.
 */
import { domainToASCII, domainToUnicode } from 'node:url';

/** Both forms of a name, or why it has none. */
export type IdnaResult = { readonly ascii: string; readonly display: string; readonly problem?: undefined } | { readonly problem: string };

/** UTS 46 maps these to a full stop. */
const OTHER_FULL_STOPS = /[\u3002\uff0e\uff61]/gu;

/** ASCII that no label may hold; Node would strip, decode or accept most of it. */
const BAD_ASCII = /[\0-,/:-@[-`{-\x7f]/u;

/** Splits a name at every character that counts as a full stop. */
export function splitLabels(name: string): string[] {
  return name.replace(OTHER_FULL_STOPS, '.').split('.');
}

/**
 * Maps and checks a name without trailing dots. Punycode is accepted here; whether a caller may write it is for
 * the caller's rules.
 */
export function toBothForms(name: string): IdnaResult {
  if (BAD_ASCII.test(name)) return { problem: 'only letters, digits, hyphens and dots may stand in it' };
  const ascii = mapToAscii(name);
  if (ascii === undefined) return { problem: 'it is not a valid internationalised name' };

  const shown: string[] = [];
  for (const label of ascii.split('.')) {
    const unicode = label.startsWith('xn--') ? domainToUnicode(label) : label;
    const problem = labelProblem(label, unicode);
    if (problem !== undefined) return { problem };
    shown.push(unicode);
  }
  return { ascii, display: shown.join('.') };
}

/** Letters, digits, hyphens and dots, and nothing that could be punycode: lower case is all that mapping does to it. */
const PLAIN = /^(?!.*[Xx][Nn]--)[0-9A-Za-z.-]+$/u;

function mapToAscii(name: string): string | undefined {
  // Most names are plain, and a cache hit costs little more than this.
  if (PLAIN.test(name)) return name.toLowerCase();
  // Since Unicode 15.1 the capital sharp s maps to the small one; the clients' tables are older and map it to "ss".
  const given = splitLabels(name.replaceAll('\u1e9e', 'ss')).join('.');
  // Node takes a name whose last label looks like a number for an IPv4 address; in front of a letter it does not.
  const guarded = domainToASCII(`${given}.x`);
  return guarded === '' ? undefined : guarded.slice(0, -2);
}

function labelProblem(ascii: string, unicode: string): string | undefined {
  if (unicode === '') return 'it has an empty label';
  // A composed sign such as U+2260 hides a "=", which STD3 forbids.
  if (BAD_ASCII.test(ascii) || BAD_ASCII.test(unicode.normalize('NFD'))) return 'only letters, digits and hyphens may stand in a label';
  if (unicode.startsWith('-') || unicode.endsWith('-')) return 'a label may not begin or end with a hyphen';
  if (/^..--/u.test(unicode)) return 'a label may not have hyphens in third and fourth place';
  // Node decodes punycode that no name maps to; the way there and back shows it.
  if (unicode !== ascii && domainToASCII(unicode) !== ascii) return 'a label is not valid punycode';
  if (unicode !== ascii && !keepsBidiRule(unicode)) return 'a label mixes writing directions';
  return undefined;
}

/** The blocks whose letters run from right to left (Unicode bidi classes R and AL, and the Arabic numbers). */
const RTL_BLOCKS = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const ARABIC_NUMBER = /[\u0600-\u0605\u0660-\u0669\u066b\u066c\u06dd\u0890\u0891\u08e2\u{10d30}-\u{10d39}\u{10e60}-\u{10e7e}]/u;
const EUROPEAN_NUMBER = /[0-9\u06f0-\u06f9]/u;
const NON_SPACING = /[\p{Mn}\p{Me}]/u;
const STRONG = /[\p{L}\p{N}\p{Mc}]/u;

type BidiClass = 'rtl' | 'ltr' | 'AN' | 'EN' | 'NSM' | 'neutral';

function bidiClass(character: string): BidiClass {
  if (ARABIC_NUMBER.test(character)) return 'AN';
  if (EUROPEAN_NUMBER.test(character)) return 'EN';
  if (NON_SPACING.test(character)) return 'NSM';
  if (!STRONG.test(character)) return 'neutral';
  return RTL_BLOCKS.test(character) ? 'rtl' : 'ltr';
}

/** RFC 5893 section 2. Like the clients, it looks only at labels that hold a character from right to left. */
function keepsBidiRule(label: string): boolean {
  const classes = Array.from(label, bidiClass);
  if (!classes.includes('rtl') && !classes.includes('AN')) return true;
  const last = classes.findLast((found) => found !== 'NSM');
  return (
    classes[0] === 'rtl' &&
    !classes.includes('ltr') &&
    !(classes.includes('EN') && classes.includes('AN')) &&
    (last === 'rtl' || last === 'EN' || last === 'AN')
  );
}
