/** A text with its lines: turns offsets into positions, and complaints into errors that name them. */
import { HclSyntaxError } from '../errors.ts';
import type { HclDialect, ParseHclOptions, SourcePosition, SourceRange } from './types.ts';

/** The text that is being read. */
export interface Source {
  readonly text: string;
  readonly dialect: HclDialect;
  position(offset: number): SourcePosition;
  range(start: number, end: number): SourceRange;
  /** What is said of a place where something else should stand. Neither text may quote the file: it may hold tokens. */
  error(offset: number, found: string, expected: string): HclSyntaxError;
}

/** Looked up by halves, so that a file of one long line costs no more than any other. */
export function sourceOf(text: string, { subject, dialect }: ParseHclOptions): Source {
  const lineStarts = [text.startsWith('\ufeff') ? 1 : 0, ...Array.from(text.matchAll(/\n/gu), ({ index }) => index + 1)];
  // Two units, one character.
  const pairs = Array.from(text.matchAll(/[\u{10000}-\u{10ffff}]/gu), ({ index }) => index);
  const position = (offset: number): SourcePosition => {
    const line = Math.max(1, countUpTo(lineStarts, offset));
    const lineStart = lineStarts[line - 1] ?? 0;
    const pairsBefore = countUpTo(pairs, offset - 1) - countUpTo(pairs, lineStart - 1);
    return { offset, line, column: Math.max(0, offset - lineStart) - pairsBefore + 1 };
  };
  return {
    text,
    dialect,
    position,
    range: (start, end) => ({ start: position(start), end: position(end) }),
    error(offset, found, expected) {
      const { line, column } = position(offset);
      return new HclSyntaxError({ path: subject, line, column, found, expected });
    },
  };
}

/** How many of the rising numbers are not above `limit`. */
function countUpTo(numbers: readonly number[], limit: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? Infinity) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
