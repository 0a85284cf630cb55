/** Words, strings, numbers and signs, one after another. HCL 1 takes a line break for a space; in HCL 2 it is a token. */
import type { Source } from './source.ts';
import { readString } from './strings.ts';
import type { HclDialect, SourceRange } from './types.ts';

/** What stands next in the text, from `start` to right before `end`. */
export type Token =
  | { readonly kind: 'word' | 'sign'; readonly text: string; readonly start: number; readonly end: number }
  | { readonly kind: 'string'; readonly value: string; readonly start: number; readonly end: number }
  | { readonly kind: 'number'; readonly value: number; readonly start: number; readonly end: number }
  | { readonly kind: 'newline' | 'end'; readonly start: number; readonly end: number };

/** A text, token by token. */
export interface TokenStream {
  /** The next one, which stays. */
  peek(): Token;
  /** The next one, which is then behind us. The last one, `'end'`, stays for ever. */
  next(): Token;
  /** The comments passed so far. */
  readonly comments: readonly SourceRange[];
}

const BLANKS: Readonly<Record<HclDialect, RegExp>> = { hcl2: /[ \t]+/uy, hcl1: /[ \t\r\n]+/uy };
const WORD: Readonly<Record<HclDialect, RegExp>> = { hcl2: /[\p{ID_Start}_][\p{ID_Continue}-]*/uy, hcl1: /[\p{L}_][\p{L}\p{Nd}_.-]*/uy };
const NUMBER: Readonly<Record<HclDialect, RegExp>> = {
  hcl2: /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/uy,
  hcl1: /-?(?:0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)/uy,
};
const LINE_COMMENT = /(?:#|\/\/)[^\n]*/uy;
const NEWLINE = /\r?\n/uy;

/** The tokens of a text. Reading fails where it stands at something that is no token at all: an open string or comment, a heredoc, half a character. */
export function tokensOf(source: Source): TokenStream {
  const comments: SourceRange[] = [];
  let current: Token | undefined;
  let at = source.text.startsWith('\ufeff') ? 1 : 0;
  const peek = (): Token => {
    if (current === undefined) {
      const start = skipBlanks(source, at, comments);
      current = readToken(source, start);
    }
    return current;
  };
  const next = (): Token => {
    const token = peek();
    at = token.end;
    current = undefined;
    return token;
  };
  return { peek, next, comments };
}

/** What a token is, in words. Words, strings and numbers are not quoted: in a configuration file they may be secrets. */
export function describe(token: Token): string {
  switch (token.kind) {
    case 'end':
      return 'the end of the file';
    case 'newline':
      return 'the end of the line';
    case 'string':
      return 'a quoted string';
    case 'number':
      return 'a number';
    case 'word':
      return ['true', 'false', 'null'].includes(token.text) ? token.text : 'a word without quotes';
    case 'sign':
      return /^[!-~]$/u.test(token.text) ? `'${token.text}'` : `the character U+${(token.text.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  }
}

/** Where the next token begins: behind spaces and comments. */
function skipBlanks(source: Source, from: number, comments: SourceRange[]): number {
  const { text, dialect } = source;
  for (let at = from; ; ) {
    const blanks = lengthAt(BLANKS[dialect], text, at);
    const comment = blanks > 0 ? 0 : commentLength(source, at);
    if (comment > 0) comments.push(source.range(at, at + comment));
    if (blanks + comment === 0) return at;
    at += blanks + comment;
  }
}

function commentLength(source: Source, at: number): number {
  const { text } = source;
  if (!text.startsWith('/*', at)) {
    const length = lengthAt(LINE_COMMENT, text, at);
    // The line break, whole, is not part of it.
    return length > 0 && text[at + length - 1] === '\r' && text[at + length] === '\n' ? length - 1 : length;
  }
  const end = text.indexOf('*/', at + 2);
  if (end === -1) throw source.error(text.length, 'the end of the file', `*/ to end the comment that begins in line ${source.position(at).line}`);
  return end + 2 - at;
}

function readToken(source: Source, start: number): Token {
  const { text, dialect } = source;
  if (start >= text.length) return { kind: 'end', start: text.length, end: text.length };
  const newline = lengthAt(NEWLINE, text, start);
  if (newline > 0) return { kind: 'newline', start, end: start + newline };
  if (text[start] === '"') return { kind: 'string', ...readString(source, start), start };
  const word = lengthAt(WORD[dialect], text, start);
  if (word > 0) return { kind: 'word', text: text.slice(start, start + word), start, end: start + word };
  const number = lengthAt(NUMBER[dialect], text, start);
  if (number > 0) return { kind: 'number', value: numberOf(source, start, start + number), start, end: start + number };
  if (text.startsWith('<<', start)) throw source.error(start, 'a heredoc (<<)', 'a quoted string on one line, with \\n for line breaks');
  const character = String.fromCodePoint(text.codePointAt(start) ?? 0);
  return { kind: 'sign', text: character, start, end: start + character.length };
}

function numberOf(source: Source, start: number, end: number): number {
  const text = source.text.slice(start, end);
  const octal = source.dialect === 'hcl1' && /^-?0[0-9]+$/u.test(text);
  if (octal && /[89]/u.test(text)) throw source.error(start, 'a number that begins with 0 and has an 8 or 9', 'a decimal number without a leading 0, since with one it is octal');
  const [sign, digits] = text.startsWith('-') ? [-1, text.slice(1)] : [1, text];
  const value = octal ? Number.parseInt(digits, 8) : Number(digits);
  if (!Number.isFinite(value)) throw source.error(start, 'a number that is too large', 'one below 1.8e308');
  return sign * value;
}

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex - at : 0;
}
