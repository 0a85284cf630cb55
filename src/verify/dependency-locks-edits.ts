/** Edits of a lock file's text, and the lines they are made on. Pure. */
import { quoteHcl, type SourceRange } from '../hcl/index.ts';

/** Text for a range of offsets. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The list as it stands in a block. */
export function hashListText(hashes: readonly string[]): string {
  return `[\n${hashes.map((hash) => `    ${quoteHcl(hash, 'hcl2')},\n`).join('')}  ]`;
}

/** Whether one range lies in another. */
export function isWithin(inner: SourceRange, outer: SourceRange): boolean {
  return inner.start.offset >= outer.start.offset && inner.end.offset <= outer.end.offset;
}

/** Where the line break stands that ends what ends at `offset`: behind blanks and comments. */
export function endOfLine(text: string, comments: readonly SourceRange[], offset: number): number {
  const ends = new Map(comments.map(({ start, end }) => [start.offset, end.offset]));
  for (let at = offset; ; ) {
    const comment = ends.get(at);
    if (comment === undefined && text[at] !== ' ' && text[at] !== '\t') return at;
    at = comment ?? at + 1;
  }
}

/** Behind the line break at `lineEnd`; `lineEnd` itself where the text ends there. */
export function startOfNextLine(text: string, lineEnd: number): number {
  if (text.startsWith('\r\n', lineEnd)) return lineEnd + 2;
  return text[lineEnd] === '\n' ? lineEnd + 1 : lineEnd;
}

/** Text of this library, with the line breaks of the file. */
export function withEol(text: string, eol: string): string {
  return text.replaceAll('\n', eol);
}

/** The text after all edits. Of those at one place, the first comes first. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, text: replacement } of edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    parts.push(text.slice(at, start), replacement);
    at = end;
  }
  return [...parts, text.slice(at)].join('');
}
