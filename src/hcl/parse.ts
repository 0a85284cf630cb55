/**
 * The literal subset of HCL: attributes, blocks, and values that stand in the file as they are. No expressions, no templates, no heredocs.
 * Reads in one pass, in time linear in the text, and to a bounded depth.
 */
import { sourceOf, type Source } from './source.ts';
import { describe, tokensOf, type Token, type TokenStream } from './tokens.ts';
import type { HclAttribute, HclBlock, HclBody, HclFile, HclLiteral, ParseHclOptions, SourceRange } from './types.ts';

/** Blocks, lists and objects within each other. Real files have four. */
const MAX_DEPTH = 100;

/** What everything here shares. */
interface Reader extends TokenStream {
  readonly source: Source;
}

/**
 * Reads a whole file.
 *
 * *hcl2* is what dependency lock files are written in: one attribute a line, one-line blocks with at most one attribute, each attribute once.
 * *hcl1* is what CLI configuration files are written in: line breaks are spaces, commas between items may be there, keys may be quoted, attributes
 * may be repeated, and `key = { … }` is a block like `key { … }`, as the reference's parser makes no difference either. A byte order mark and CRLF are taken in both.
 *
 * @param text - The file. Its positions are counted in this text.
 * @throws HclSyntaxError - what is wrong first, with its line and column, what stands there and what should
 */
export function parseHcl(text: string, options: ParseHclOptions): HclFile {
  const source = sourceOf(text, options);
  const half = /\p{Cs}/u.exec(text);
  if (half !== null) throw source.error(half.index, 'half a character (a lone surrogate)', 'well-formed Unicode');
  const reader: Reader = { source, ...tokensOf(source) };
  const items = parseItems(reader, 'end', 0);
  return { items, comments: reader.comments, range: source.range(0, text.length) };
}

type Item = HclAttribute | HclBlock;

/** Reads items up to the closing brace, or the end of the file, and leaves that. */
function parseItems(reader: Reader, until: 'end' | '}', depth: number): Item[] {
  const isHcl2 = reader.source.dialect === 'hcl2';
  const items: Item[] = [];
  const names = new Set<string>();
  for (;;) {
    skipNewlines(reader);
    if (isEnd(reader.peek(), until)) return items;
    const item = parseItem(reader, depth, until === 'end' ? 'an attribute or a block' : "an attribute, a block, or '}'");
    if (item.kind === 'attribute' && isHcl2) {
      if (names.has(item.name)) throw reader.source.error(item.nameRange.start.offset, `a second attribute ${item.name}`, 'each attribute once in a block');
      names.add(item.name);
    }
    items.push(item);
    if (!isHcl2) takeSign(reader, ',');
    else expectLineEnd(reader);
  }
}

function isEnd(token: Token, until: 'end' | '}'): boolean {
  return until === 'end' ? token.kind === 'end' : isSign(token, '}');
}

/** Also before a closing brace: a block of several lines ends on one of its own. */
function expectLineEnd(reader: Reader): void {
  const token = reader.peek();
  if (token.kind !== 'newline' && token.kind !== 'end') throw complaint(reader, token, 'the end of the line');
}

function parseItem(reader: Reader, depth: number, expected: string): Item {
  const name = reader.next();
  const isHcl1 = reader.source.dialect === 'hcl1';
  if (name.kind !== 'word' && !(isHcl1 && name.kind === 'string')) throw complaint(reader, name, expected);
  const nameRange = rangeOf(reader, name);
  if (takeSign(reader, '=')) {
    if (isHcl1 && isSign(reader.peek(), '{')) return parseBlock(reader, textOf(name), nameRange, [], [], depth);
    return parseAttribute(reader, textOf(name), nameRange, depth);
  }
  const labels: Token[] = [];
  for (let label = reader.peek(); label.kind === 'word' || label.kind === 'string'; label = reader.peek()) labels.push(reader.next());
  if (!isSign(reader.peek(), '{')) throw complaint(reader, reader.peek(), labels.length === 0 ? "'=', a label, or '{'" : "a label or '{'");
  return parseBlock(reader, textOf(name), nameRange, labels.map(textOf), labels.map((label) => rangeOf(reader, label)), depth);
}

function parseAttribute(reader: Reader, name: string, nameRange: SourceRange, depth: number): HclAttribute {
  const { source } = reader;
  const elementRanges: SourceRange[] = [];
  const { start } = reader.peek();
  const { value, end } = parseValue(reader, depth, elementRanges);
  return { kind: 'attribute', name, value, nameRange, valueRange: source.range(start, end), elementRanges, range: { start: nameRange.start, end: source.position(end) } };
}

function parseBlock(reader: Reader, type: string, nameRange: SourceRange, labels: readonly string[], labelRanges: readonly SourceRange[], depth: number): HclBlock {
  const { source } = reader;
  const open = reader.next();
  checkDepth(reader, open, depth);
  const onOneLine = source.dialect === 'hcl2' && reader.peek().kind !== 'newline';
  const items = onOneLine ? parseOneLine(reader, depth + 1) : parseItems(reader, '}', depth + 1);
  const close = expectSign(reader, '}', onOneLine ? "'}', since a block on one line has one attribute at most" : "'}'");
  const body: HclBody = { items, range: source.range(open.end, close.start) };
  const headerRange = { start: nameRange.start, end: labelRanges.at(-1)?.end ?? nameRange.end };
  return { kind: 'block', type, labels, labelRanges, body, headerRange, range: { start: nameRange.start, end: source.position(close.end) } };
}

function parseOneLine(reader: Reader, depth: number): Item[] {
  if (isSign(reader.peek(), '}')) return [];
  const name = reader.next();
  if (name.kind !== 'word') throw complaint(reader, name, "the end of the line, an attribute, or '}'");
  const nameRange = rangeOf(reader, name);
  expectSign(reader, '=', "'=', since a block on one line has attributes only");
  return [parseAttribute(reader, name.text, nameRange, depth)];
}

// ---- values --------------------------------------------------------------------------------------------------------

interface Value {
  readonly value: HclLiteral;
  readonly end: number;
}

const KEYWORDS: ReadonlyMap<string, HclLiteral> = new Map<string, HclLiteral>([['true', true], ['false', false]]);

function parseValue(reader: Reader, depth: number, elementRanges?: SourceRange[]): Value {
  const token = reader.next();
  if (token.kind === 'number') return token;
  // The reference's strings (cty) are in this form, whatever the file has.
  if (token.kind === 'string') return reader.source.dialect === 'hcl2' ? { value: token.value.normalize('NFC'), end: token.end } : token;
  if (token.kind === 'word') {
    // HCL 1 has no null.
    const value = token.text === 'null' && reader.source.dialect === 'hcl2' ? null : KEYWORDS.get(token.text);
    if (value !== undefined) return { value, end: token.end };
  }
  if (isSign(token, '[')) return parseList(reader, token, depth, elementRanges);
  if (isSign(token, '{')) return parseObject(reader, token, depth);
  throw complaint(reader, token, 'a literal value: a quoted string, a number, true, false, a list or an object');
}

function parseList(reader: Reader, open: Token, depth: number, ranges?: SourceRange[]): Value {
  checkDepth(reader, open, depth);
  const values: HclLiteral[] = [];
  for (;;) {
    skipNewlines(reader);
    if (isSign(reader.peek(), ']')) break;
    const { start } = reader.peek();
    const { value, end } = parseValue(reader, depth + 1);
    values.push(value);
    ranges?.push(reader.source.range(start, end));
    skipNewlines(reader);
    if (!takeSign(reader, ',') && !isSign(reader.peek(), ']')) throw complaint(reader, reader.peek(), "',' or ']'");
  }
  return { value: values, end: reader.next().end };
}

function parseObject(reader: Reader, open: Token, depth: number): Value {
  checkDepth(reader, open, depth);
  const isHcl2 = reader.source.dialect === 'hcl2';
  const values = new Map<string, HclLiteral>();
  for (;;) {
    skipNewlines(reader);
    if (isSign(reader.peek(), '}')) break;
    const key = reader.next();
    if (key.kind !== 'word' && key.kind !== 'string') throw complaint(reader, key, "a key or '}'");
    const name = textOf(key);
    if (values.has(name)) throw reader.source.error(key.start, 'a key that was there before', 'each key once in an object');
    const assigned = takeSign(reader, '=') || (isHcl2 && takeSign(reader, ':'));
    if (!assigned && (isHcl2 || !isSign(reader.peek(), '{'))) throw complaint(reader, reader.peek(), isHcl2 ? "'=' or ':'" : "'=' or '{'");
    values.set(name, parseValue(reader, depth + 1).value);
    if (takeSign(reader, ',') || !isHcl2) continue;
    const after = reader.peek();
    if (after.kind !== 'newline' && !isSign(after, '}')) throw complaint(reader, after, "',', the end of the line, or '}'");
  }
  return { value: values, end: reader.next().end };
}

// ---- tokens --------------------------------------------------------------------------------------------------------

function checkDepth(reader: Reader, open: Token, depth: number): void {
  if (depth >= MAX_DEPTH) throw reader.source.error(open.start, `more than ${MAX_DEPTH} blocks, lists and objects within each other`, `at most ${MAX_DEPTH}`);
}

function skipNewlines(reader: Reader): void {
  while (reader.peek().kind === 'newline') reader.next();
}

function isSign(token: Token, sign: string): boolean {
  return token.kind === 'sign' && token.text === sign;
}

function takeSign(reader: Reader, sign: string): boolean {
  if (!isSign(reader.peek(), sign)) return false;
  reader.next();
  return true;
}

function expectSign(reader: Reader, sign: string, expected: string): Token {
  const token = reader.next();
  if (!isSign(token, sign)) throw complaint(reader, token, expected);
  return token;
}

function textOf(token: Token): string {
  if (token.kind === 'string') return token.value;
  return token.kind === 'word' ? token.text : '';
}

function rangeOf(reader: Reader, { start, end }: Token): SourceRange {
  return reader.source.range(start, end);
}

function complaint(reader: Reader, token: Token, expected: string): Error {
  return reader.source.error(token.start, describe(token), expected);
}
