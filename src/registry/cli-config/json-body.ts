/**
 * CLI configuration in JSON, read into what the HCL parser makes of the same configuration: an object is a block, a list of objects is a
 * block for each, and everything else is an attribute (HCL 1 `json/parser`). `JSON.parse` would do for the values, but says no positions, and
 * keeps one of two equal keys. Pure.
 */
import { sourceOf, type Source } from '../../hcl/source.ts';
import type { HclAttribute, HclBlock, HclBody, HclFile, HclLiteral } from '../../hcl/index.ts';

interface Member {
  readonly key: string;
  readonly start: number;
  readonly end: number;
  readonly value: Value;
}

type Value = { readonly start: number; readonly end: number } & (
  | { readonly kind: 'object'; readonly members: readonly Member[] }
  | { readonly kind: 'list'; readonly elements: readonly Value[] }
  | { readonly kind: 'literal'; readonly value: string | number | boolean | null }
);

/** Real files have four. */
const MAX_DEPTH = 100;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/uy;
const WORD = /[A-Za-z_]+/uy;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/uy;

/**
 * Reads a document whose value is an object.
 * @param subject - the path that messages name
 * @throws HclSyntaxError - where it is no JSON
 */
export function parseJsonBody(text: string, subject: string): HclFile {
  const source = sourceOf(text, { subject, dialect: 'hcl1' });
  const reader = new Reader(source);
  const value = reader.readValue(0);
  if (value.kind !== 'object') throw source.error(value.start, 'a value', 'an object: {');
  reader.expectEnd();
  return { ...bodyOf(source, value.members, value), comments: [] };
}

function bodyOf(source: Source, members: readonly Member[], { start, end }: { readonly start: number; readonly end: number }): HclBody {
  return { items: members.flatMap((member) => itemsOf(source, member)), range: source.range(start + 1, end - 1) };
}

function itemsOf(source: Source, member: Member): (HclAttribute | HclBlock)[] {
  const { value } = member;
  if (value.kind === 'object') return [blockOf(source, member, value)];
  if (value.kind === 'list' && value.elements.length > 0 && value.elements.every(({ kind }) => kind === 'object')) {
    return value.elements.flatMap((element) => (element.kind === 'object' ? [blockOf(source, member, element)] : []));
  }
  return [
    {
      kind: 'attribute',
      name: member.key,
      value: literalOf(value),
      nameRange: source.range(member.start, member.end),
      valueRange: source.range(value.start, value.end),
      elementRanges: value.kind === 'list' ? value.elements.map(({ start, end }) => source.range(start, end)) : [],
      range: source.range(member.start, value.end),
    },
  ];
}

function blockOf(source: Source, member: Member, value: Value & { readonly kind: 'object' }): HclBlock {
  const headerRange = source.range(member.start, member.end);
  return { kind: 'block', type: member.key, labels: [], labelRanges: [], body: bodyOf(source, value.members, value), headerRange, range: source.range(member.start, value.end) };
}

function literalOf(value: Value): HclLiteral {
  if (value.kind === 'literal') return value.value;
  if (value.kind === 'list') return value.elements.map(literalOf);
  return new Map(value.members.map((member) => [member.key, literalOf(member.value)]));
}

class Reader {
  readonly #source: Source;
  #at: number;

  constructor(source: Source) {
    this.#source = source;
    this.#at = source.text.startsWith('\ufeff') ? 1 : 0;
  }

  readValue(depth: number): Value {
    const sign = this.#peek();
    const start = this.#at;
    if (depth >= MAX_DEPTH) throw this.#source.error(start, `more than ${MAX_DEPTH} objects and lists within each other`, `at most ${MAX_DEPTH}`);
    if (sign === '{') return this.#readObject(depth);
    if (sign === '[') return this.#readList(depth);
    if (sign === '"') return { kind: 'literal', value: this.#readString(), start, end: this.#at };
    const number = this.#match(NUMBER);
    if (number !== undefined) return { kind: 'literal', value: Number(number), start, end: this.#at };
    const word = this.#match(WORD);
    if (word === 'true' || word === 'false') return { kind: 'literal', value: word === 'true', start, end: this.#at };
    if (word === 'null') return { kind: 'literal', value: null, start, end: this.#at };
    throw this.#unexpected(start, 'a value: an object, a list, a quoted string, a number, true, false or null');
  }

  expectEnd(): void {
    if (this.#peek() !== '') throw this.#unexpected(this.#at, 'the end of the file');
  }

  #readObject(depth: number): Value {
    const start = this.#at;
    this.#at += 1;
    const members: Member[] = [];
    if (this.#peek() === '}') {
      this.#at += 1;
      return { kind: 'object', members, start, end: this.#at };
    }
    for (;;) {
      if (this.#peek() !== '"') throw this.#unexpected(this.#at, members.length === 0 ? 'a quoted key or }' : 'a quoted key');
      const keyStart = this.#at;
      const key = this.#readString();
      const keyEnd = this.#at;
      if (this.#peek() !== ':') throw this.#unexpected(this.#at, ':');
      this.#at += 1;
      members.push({ key, start: keyStart, end: keyEnd, value: this.readValue(depth + 1) });
      if (this.#endsAfter('}')) return { kind: 'object', members, start, end: this.#at };
    }
  }

  #readList(depth: number): Value {
    const start = this.#at;
    this.#at += 1;
    const elements: Value[] = [];
    if (this.#peek() === ']') {
      this.#at += 1;
      return { kind: 'list', elements, start, end: this.#at };
    }
    for (;;) {
      elements.push(this.readValue(depth + 1));
      if (this.#endsAfter(']')) return { kind: 'list', elements, start, end: this.#at };
    }
  }

  #endsAfter(close: string): boolean {
    const sign = this.#peek();
    if (sign !== ',' && sign !== close) throw this.#unexpected(this.#at, `, or ${close}`);
    this.#at += 1;
    return sign === close;
  }

  #readString(): string {
    const { text } = this.#source;
    const start = this.#at;
    for (this.#at += 1; ; ) {
      const sign = text[this.#at];
      if (sign === '"') break;
      if (sign === '\\') {
        if (this.#match(ESCAPE) === undefined) throw this.#source.error(this.#at, 'an unknown escape', 'one of \\", \\\\, \\/, \\b, \\f, \\n, \\r, \\t, \\uXXXX');
      } else if (sign === undefined || sign < ' ') {
        throw this.#source.error(this.#at, sign === undefined ? 'the end of the file' : 'a control character', `a closing quote for the string that begins in column ${this.#source.position(start).column}`);
      } else {
        this.#at += 1;
      }
    }
    this.#at += 1;
    return JSON.parse(text.slice(start, this.#at)) as string;
  }

  /** What comes after white space; `''` at the end. */
  #peek(): string {
    const { text } = this.#source;
    while (' \t\r\n'.includes(text[this.#at] ?? 'x')) this.#at += 1;
    return text[this.#at] ?? '';
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source.text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  /** Says the kind of what stands there, and never the text: it may be a token. */
  #unexpected(at: number, expected: string): Error {
    const sign = this.#source.text[at] ?? '';
    const found = sign === '' ? 'the end of the file' : '{}[],:'.includes(sign) ? sign : sign === '"' ? 'a quoted string' : 'something else';
    return this.#source.error(at, found, expected);
  }
}
