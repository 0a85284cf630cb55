/**
 * Quoted strings, in and out. HCL 2 (hclsyntax `ParseStringLiteralToken`): the escapes are `\n \r \t \" \\ \uXXXX \UXXXXXXXX`, `${` and `%{` begin a
 * template, which is no literal, and `$${` and `%%{` stand for them. HCL 1 (`strconv.Unquote`): Go's escapes, and `${ … }` is text like
 * any other, quotes and line breaks within included.
 */
import type { Source } from './source.ts';
import type { HclDialect } from './types.ts';

/** A string that was read. */
export interface QuotedString {
  readonly value: string;
  /** Right behind its closing quote. */
  readonly end: number;
}

const SIMPLE: Readonly<Record<HclDialect, ReadonlyMap<string, string>>> = {
  hcl2: new Map([['n', '\n'], ['r', '\r'], ['t', '\t'], ['"', '"'], ['\\', '\\']]),
  hcl1: new Map([['n', '\n'], ['r', '\r'], ['t', '\t'], ['"', '"'], ['\\', '\\'], ['a', '\x07'], ['b', '\b'], ['f', '\f'], ['v', '\v']]),
};

/** How many hex digits follow. */
const NUMERIC: Readonly<Record<HclDialect, ReadonlyMap<string, number>>> = {
  hcl2: new Map([['u', 4], ['U', 8]]),
  hcl1: new Map([['u', 4], ['U', 8], ['x', 2]]),
};

const KNOWN: Readonly<Record<HclDialect, string>> = {
  hcl2: 'one of \\n, \\r, \\t, \\", \\\\, \\uXXXX, \\UXXXXXXXX',
  hcl1: 'one of \\a, \\b, \\f, \\n, \\r, \\t, \\v, \\", \\\\, \\xXX, \\uXXXX, \\UXXXXXXXX, \\000',
};

const PLAIN = /[^"\\\n\r$%]+/uy;

/** Reads the string whose opening quote stands at `start`. */
export function readString(source: Source, start: number): QuotedString {
  const { text, dialect } = source;
  let value = '';
  for (let at = start + 1; ; ) {
    PLAIN.lastIndex = at;
    const plain = PLAIN.exec(text)?.[0] ?? '';
    value += plain;
    at += plain.length;
    const next = text[at];
    if (next === '"') return { value, end: at + 1 };
    if (next === undefined || next === '\n' || (next === '\r' && (text[at + 1] === '\n' || dialect === 'hcl2'))) {
      throw source.error(at, next === undefined ? 'the end of the file' : 'the end of the line', `a closing quote for the string that begins in column ${source.position(start).column}`);
    }
    const part = next === '\\' ? readEscape(source, at) : next === '\r' ? { value: next, end: at + 1 } : readSign(source, at, start);
    value += part.value;
    at = part.end;
  }
}

/** At `$` or `%`. */
function readSign(source: Source, at: number, start: number): QuotedString {
  const { text, dialect } = source;
  const sign = text[at] ?? '';
  if (dialect === 'hcl1') return sign === '$' && text[at + 1] === '{' ? readInterpolation(source, at, start) : { value: sign, end: at + 1 };
  if (text.startsWith(`${sign}${sign}{`, at)) return { value: `${sign}{`, end: at + 3 };
  if (text[at + 1] === '{') throw source.error(at, `the template ${sign}{`, `literal text; ${sign}${sign}{ stands for ${sign}{`);
  return { value: sign, end: at + 1 };
}

/** HCL 1 keeps `${ … }` as it stands there, up to the brace that closes it. */
function readInterpolation(source: Source, at: number, start: number): QuotedString {
  const { text } = source;
  let open = 0;
  for (let end = at + 1; end < text.length; end += 1) {
    if (text[end] === '{') open += 1;
    if (text[end] === '}') open -= 1;
    if (open === 0) return { value: text.slice(at, end + 1), end: end + 1 };
  }
  throw source.error(text.length, 'the end of the file', `a closing brace for the \${ in the string that begins in line ${source.position(start).line}`);
}

function readEscape(source: Source, at: number): QuotedString {
  const { text, dialect } = source;
  const letter = text[at + 1] ?? '';
  const simple = SIMPLE[dialect].get(letter);
  if (simple !== undefined) return { value: simple, end: at + 2 };
  const length = NUMERIC[dialect].get(letter);
  if (length !== undefined) {
    const digits = text.slice(at + 2, at + 2 + length);
    if (!/^[0-9a-f]+$/iu.test(digits) || digits.length !== length) throw source.error(at, `the escape \\${letter} without its digits`, `${length} hex digits behind \\${letter}`);
    return { value: character(source, at, Number.parseInt(digits, 16), letter === 'x'), end: at + 2 + length };
  }
  const octal = dialect === 'hcl1' ? /^[0-7]{3}/u.exec(text.slice(at + 1, at + 4))?.[0] : undefined;
  if (octal === undefined) throw source.error(at, 'an unknown escape', `${KNOWN[dialect]} behind the backslash`);
  return { value: character(source, at, Number.parseInt(octal, 8), true), end: at + 4 };
}

function character(source: Source, at: number, code: number, isByte: boolean): string {
  // Go makes bytes of these, perhaps half a character.
  if (isByte && code > 0x7f) throw source.error(at, 'an escape for a byte above 7F', 'the character itself, or \\u with its code point');
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw source.error(at, 'an escape for what is no character', 'a code point up to 10FFFF, and no surrogate');
  return String.fromCodePoint(code);
}

// What Go's unicode.IsPrint says no to, which hclwrite therefore escapes.
const ESCAPED = /["\\]|[$%](?=\{)|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

const SHORT: ReadonlyMap<string, string> = new Map([['\n', '\\n'], ['\r', '\\r'], ['\t', '\\t'], ['"', '\\"'], ['\\', '\\\\']]);

/**
 * The text as a quoted string, escaped as the reference's writer (hclwrite `escapeQuotedStringLit`) does it. In HCL 1, `${` stays: nothing
 * there expands it.
 */
export function quoteHcl(text: string, dialect: HclDialect): string {
  const escaped = text.replace(ESCAPED, (found) => {
    if (found === '$' || found === '%') return dialect === 'hcl2' ? found + found : found;
    const code = found.codePointAt(0) ?? 0;
    const [letter, length] = code > 0xffff ? ['U', 8] : ['u', 4];
    return SHORT.get(found) ?? `\\${letter}${code.toString(16).padStart(length, '0')}`;
  });
  return `"${escaped}"`;
}
