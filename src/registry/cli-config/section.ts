/**
 * Reads values out of a parsed configuration file, by the conversions of the reference's decoder (HCL 1 `decoder.go`), and complains with file,
 * line and column. Pure.
 */
import type { HclAttribute, HclBlock, HclBody, HclFile, SourceRange } from '../../hcl/index.ts';
import { CliConfigError } from '../../errors.ts';

/** A file that parses. */
export interface ParsedFile {
  readonly path: string;
  readonly text: string;
  readonly isJson: boolean;
  readonly body: HclFile;
}

/** A block with a name: `host "name" { … }`. */
export interface NamedBlock {
  readonly name: string;
  readonly range: SourceRange;
  readonly body: HclBody;
}

/** The complaint about a place. It never quotes a value, which may be a token. */
export function complaint(file: ParsedFile, { start }: SourceRange, setting: string, problem: string): CliConfigError {
  return new CliConfigError({ path: file.path, line: start.line, column: start.column, setting, problem });
}

/** The name of an item, as the decoder compares it: whatever its case. */
export function nameOf(item: HclAttribute | HclBlock): string {
  return (item.kind === 'block' ? item.type : item.name).toLowerCase();
}

/** The name's place. */
export function placeOf(item: HclAttribute | HclBlock): SourceRange {
  return item.kind === 'block' ? item.headerRange : item.nameRange;
}

/** The last attribute of this name in a body, which counts; blocks of this name are a mistake. */
export function lastAttribute(file: ParsedFile, body: HclBody, name: string): HclAttribute | undefined {
  const found = body.items.filter((item) => nameOf(item) === name);
  for (const item of found) if (item.kind === 'block') throw complaint(file, placeOf(item), name, 'it is one value, not a block');
  const last = found.at(-1);
  return last?.kind === 'attribute' ? last : undefined;
}

/** A string; a number is read as its digits. */
export function text(file: ParsedFile, attribute: HclAttribute): string {
  const { value } = attribute;
  if (typeof value !== 'string' && typeof value !== 'number') throw complaint(file, attribute.valueRange, attribute.name, 'it is a quoted string');
  return String(value);
}

/** A string that holds something. */
export function requiredText(file: ParsedFile, block: HclBlock, name: string): { readonly value: string; readonly attribute: HclAttribute } {
  const attribute = lastAttribute(file, block.body, name);
  const value = attribute === undefined ? '' : text(file, attribute);
  if (attribute === undefined || value === '') throw complaint(file, attribute?.valueRange ?? block.headerRange, block.type, `${name} is missing, and it is required`);
  return { value, attribute };
}

/** True or false; neither in quotes nor as a number, which the decoder refuses, too. */
export function flag(file: ParsedFile, attribute: HclAttribute): boolean {
  if (typeof attribute.value !== 'boolean') throw complaint(file, attribute.valueRange, attribute.name, 'it is true or false, without quotes');
  return attribute.value;
}

/** A whole number, 0 or more, also in quotes. */
export function count(file: ParsedFile, attribute: HclAttribute): number {
  const { value } = attribute;
  const number = typeof value === 'number' ? value : typeof value === 'string' && /^\d+$/u.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number) || number < 0) throw complaint(file, attribute.valueRange, attribute.name, 'it is a whole number, 0 or more');
  return number;
}

/** A list of strings, with the place of each; numbers are read as their digits. */
export function texts(file: ParsedFile, attribute: HclAttribute | undefined): { readonly value: string; readonly range: SourceRange }[] {
  if (attribute === undefined) return [];
  const { value, name, valueRange, elementRanges } = attribute;
  if (!Array.isArray(value)) throw complaint(file, valueRange, name, 'it is a list of quoted strings');
  return (value as readonly unknown[]).map((element, index) => {
    const range = elementRanges[index] ?? valueRange;
    if (typeof element !== 'string' && typeof element !== 'number') throw complaint(file, range, name, 'it is a list of quoted strings');
    return { value: String(element), range };
  });
}

/** The blocks that `type "name" { … }` and, which means the same, `type { "name" { … } }` give. */
export function namedBlocks(file: ParsedFile, item: HclAttribute | HclBlock, example: string): NamedBlock[] {
  const type = nameOf(item);
  if (item.kind === 'attribute' || item.labels.length > 1) throw complaint(file, placeOf(item), type, `write it as a block with one name: ${example}`);
  const [name] = item.labels;
  if (name !== undefined) return [{ name, range: item.labelRanges[0] ?? item.headerRange, body: item.body }];
  return item.body.items.map((inner) => {
    if (inner.kind === 'attribute' || inner.labels.length > 0) throw complaint(file, placeOf(inner), type, `write it as a block with one name: ${example}`);
    return { name: inner.type, range: inner.headerRange, body: inner.body };
  });
}

/** What the reference asks of a block that it reads by itself: no equals sign, no labels. In JSON both cannot be told, and are taken. */
export function checkPlainBlock(file: ParsedFile, item: HclAttribute | HclBlock, setting: string): HclBlock {
  if (item.kind === 'attribute' || isAssigned(file, item)) throw complaint(file, placeOf(item), setting, `it is a block, without an equals sign: ${nameOf(item)} { … }`);
  if (item.labels.length > 0) throw complaint(file, item.labelRanges[0] ?? item.headerRange, setting, `${item.type} is a block without a name behind it`);
  return item;
}

/** Whether an equals sign leads to the block; the parser makes no difference, and drops it. */
function isAssigned(file: ParsedFile, block: HclBlock): boolean {
  if (file.isJson) return false;
  const [from, to] = [block.headerRange.end.offset, block.body.range.start.offset];
  const comments = file.body.comments.filter(({ start }) => start.offset >= from && start.offset < to);
  let between = '';
  let at = from;
  for (const { start, end } of comments) {
    between += file.text.slice(at, start.offset);
    at = end.offset;
  }
  return (between + file.text.slice(at, to)).includes('=');
}
