/** A changed provider block into which somebody wrote comments: every one of them stays, and only what differs is written. Pure. */
import { quoteHcl, type HclAttribute, type HclBlock } from '../hcl/index.ts';
import { endOfLine, hashListText, isWithin, withEol, type Edit } from './dependency-locks-edits.ts';
import { compareBytes, type LockedBlock, type ParsedLocks } from './dependency-locks-parse.ts';
import type { LockedProvider } from './dependency-locks-types.ts';

/** What the edits of one block share. */
interface Amendment {
  readonly parsed: ParsedLocks;
  readonly there: LockedBlock;
  readonly wanted: LockedProvider;
  readonly eol: string;
}

/** The edits that make the block, which has more than one line, say what is wanted. */
export function amendBlock(parsed: ParsedLocks, there: LockedBlock, wanted: LockedProvider, eol: string): readonly Edit[] {
  const amendment: Amendment = { parsed, there, wanted, eol };
  const find = (name: string): HclAttribute | undefined => there.block.body.items.find((item): item is HclAttribute => item.kind === 'attribute' && item.name === name);
  const [version, constraints, hashes] = [find('version'), find('constraints'), find('hashes')];
  if (version === undefined) return [];
  const edits = [setString(version, String(wanted.version)), ...amendConstraints(amendment, version, constraints)];
  const sameHashes = there.locked.hashes.length === wanted.hashes.length && String(there.locked.version) === String(wanted.version);
  if (!sameHashes) edits.push(...amendHashes(amendment, hashes));
  return edits.filter(({ start, end, text }) => parsed.text.slice(start, end) !== text);
}

function setString({ valueRange }: HclAttribute, value: string): Edit {
  return { start: valueRange.start.offset, end: valueRange.end.offset, text: quoteHcl(value, 'hcl2') };
}

function amendConstraints(amendment: Amendment, version: HclAttribute, constraints: HclAttribute | undefined): Edit[] {
  const { parsed, there, wanted } = amendment;
  const text = String(wanted.constraints ?? '');
  if (text === String(there.locked.constraints ?? '')) return [];
  if (text === '') return constraints === undefined ? [] : [removal(parsed, constraints), ...alignment(parsed, version, ' = ')];
  if (constraints !== undefined) return [setString(constraints, text)];
  return [lineAfter(amendment, version, `  constraints = ${quoteHcl(text, 'hcl2')}`), ...alignment(parsed, version, '     = ')];
}

/** The blanks round the `=` of an attribute, unless a comment stands there. */
function alignment({ text }: ParsedLocks, { nameRange, valueRange }: HclAttribute, wanted: string): Edit[] {
  const [start, end] = [nameRange.end.offset, valueRange.start.offset];
  return /^[ \t]*=[ \t]*$/u.test(text.slice(start, end)) ? [{ start, end, text: wanted }] : [];
}

function amendHashes(amendment: Amendment, attribute: HclAttribute | undefined): Edit[] {
  const { parsed, there, wanted, eol } = amendment;
  const { hashes } = wanted;
  if (attribute === undefined) {
    const last = there.block.body.items.at(-1);
    return hashes.length === 0 || last === undefined ? [] : [lineAfter(amendment, last, `  hashes = ${hashListText(hashes)}`)];
  }
  if (hashes.length === 0) return [removal(parsed, attribute)];
  const hasComments = parsed.file.comments.some((comment) => isWithin(comment, attribute.valueRange));
  if (hasComments && String(there.locked.version) === String(wanted.version)) return addHashes(amendment, attribute);
  return [{ start: attribute.valueRange.start.offset, end: attribute.valueRange.end.offset, text: withEol(hashListText(hashes), eol) }];
}

/** New hashes of the same version, each before the first one that is greater. */
function addHashes({ parsed, there, wanted, eol }: Amendment, { value, valueRange, elementRanges }: HclAttribute): Edit[] {
  const present = (value as readonly string[]).map((hash, index) => ({ hash, range: elementRanges[index] ?? valueRange }));
  const known = new Set(there.locked.hashes);
  const inserts = new Map<number, string>();
  const atEnd: string[] = [];
  for (const hash of wanted.hashes.filter((candidate) => !known.has(candidate))) {
    const next = present.find((candidate) => compareBytes(candidate.hash, hash) > 0);
    if (next === undefined) atEnd.push(`    ${quoteHcl(hash, 'hcl2')},${eol}`);
    else {
      const { offset } = next.range.start;
      inserts.set(offset, `${inserts.get(offset) ?? ''}${quoteHcl(hash, 'hcl2')},${eol}    `);
    }
  }
  const edits: Edit[] = Array.from(inserts, ([offset, text]) => ({ start: offset, end: offset, text }));
  if (atEnd.length === 0) return edits;
  const lastEnd = present.at(-1)?.range.end.offset ?? valueRange.start.offset + 1;
  const close = valueRange.end.offset - 1;
  const tail = parsed.text.slice(lastEnd, close);
  if (!tail.replace(/(?:#|\/\/)[^\n]*|\/\*[^]*?\*\//gu, '').includes(',')) edits.push({ start: lastEnd, end: lastEnd, text: ',' });
  // The bracket's own indentation stays before it.
  const blanks = /\n([ \t]*)$/u.exec(tail)?.[1]?.length;
  const start = close - (blanks ?? 0);
  return [...edits, { start, end: start, text: blanks === undefined ? `${eol}${atEnd.join('')}  ` : atEnd.join('') }];
}

/** A new line behind the line of `item`, which ends with a line break. */
function lineAfter({ parsed: { text, file }, eol }: Amendment, { range }: HclAttribute | HclBlock, line: string): Edit {
  const end = endOfLine(text, file.comments, range.end.offset);
  return { start: end, end, text: `${eol}${withEol(line, eol)}` };
}

/** An attribute with its line, or without it where something else stands there. */
function removal({ text, file }: ParsedLocks, { range }: HclAttribute): Edit {
  const lineStart = text.lastIndexOf('\n', range.start.offset - 1) + 1;
  const bare = text.slice(range.end.offset, endOfLine(text, file.comments, range.end.offset)).trim() === '' && text.slice(lineStart, range.start.offset).trim() === '';
  const lineEnd = text.indexOf('\n', range.end.offset);
  if (!bare || lineEnd === -1 || text.slice(range.end.offset, lineEnd).trim() !== '') return { start: range.start.offset, end: range.end.offset, text: '' };
  return { start: lineStart, end: lineEnd + 1, text: '' };
}
