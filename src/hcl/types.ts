/** What the parser of literal HCL makes of a file. Types only. */

/** A place in the text. */
export interface SourcePosition {
  /** UTF-16 units from the beginning of the text, from 0. */
  readonly offset: number;
  /** From 1. */
  readonly line: number;
  /** In characters (code points), from 1. A byte order mark is none. */
  readonly column: number;
}

/** From the first character to right behind the last one. */
export interface SourceRange {
  readonly start: SourcePosition;
  readonly end: SourcePosition;
}

/** `'hcl2'`: dependency lock files. `'hcl1'`: CLI configuration files. */
export type HclDialect = 'hcl1' | 'hcl2';

/** A value that stands in the file as it is. Objects keep the order of their keys. */
export type HclLiteral = string | number | boolean | null | readonly HclLiteral[] | ReadonlyMap<string, HclLiteral>;

/** `name = value`. */
export interface HclAttribute {
  readonly kind: 'attribute';
  readonly name: string;
  readonly value: HclLiteral;
  readonly nameRange: SourceRange;
  readonly valueRange: SourceRange;
  /** Of the elements of a list; empty where the value is none. */
  readonly elementRanges: readonly SourceRange[];
  /** Name and value. */
  readonly range: SourceRange;
}

/** `type "label" { … }`; in HCL 1 `type = { … }` as well, which means the same there. */
export interface HclBlock {
  readonly kind: 'block';
  readonly type: string;
  readonly labels: readonly string[];
  /** With their quotes. */
  readonly labelRanges: readonly SourceRange[];
  readonly body: HclBody;
  /** The type and the labels. */
  readonly headerRange: SourceRange;
  /** From the type to the closing brace, included. */
  readonly range: SourceRange;
}

/** Attributes and blocks in the order of the text. */
export interface HclBody {
  readonly items: readonly (HclAttribute | HclBlock)[];
  /** What stands between the braces; of a file, all of it. */
  readonly range: SourceRange;
}

/** A whole file. */
export interface HclFile extends HclBody {
  /** Every comment, in the order of the text; those of one line without their line break. */
  readonly comments: readonly SourceRange[];
}

/** Options of {@link parseHcl}. */
export interface ParseHclOptions {
  /** The path that messages name. */
  readonly subject: string;
  readonly dialect: HclDialect;
}
