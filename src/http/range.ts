/** When a download may go on where an earlier attempt broke off: validators and ranges of RFC 9110, sections 8.8, 13.1.5 and 14. Pure. */
import type { Answer } from './answer.ts';

/** What the first bytes of a file are the beginning of. */
export interface Representation {
  /** Origin of the URL that answered, as `URL.origin` writes it. */
  readonly origin: string;
  /** Its strong entity tag, with the quotes. */
  readonly etag: string;
  /** Its size, where that was announced. */
  readonly totalBytes: number | undefined;
}

/** A request for the rest of a representation. */
export interface RangeRequest {
  /** The first byte that is wanted. */
  readonly from: number;
  /** The representation must still be this one; otherwise the server sends the whole of another one. */
  readonly etag: string;
}

/** The headers that ask for it; they go to whatever URL a chain of redirects leads to, and give nothing away. */
export function rangeHeaders({ from, etag }: RangeRequest): Readonly<Record<string, string>> {
  return { range: `bytes=${from}-`, 'if-range': etag };
}

/**
 * What the answer is the beginning of, where its rest can be asked for later: under a strong entity tag only. `Last-Modified` is not used:
 * it is a strong validator only in the hands of who knows the server's clock (section 8.8.2.2), and package servers that know ranges send tags.
 */
export function representationOf(answer: Answer, totalBytes: number | undefined): Representation | undefined {
  const etag = strongTag(answer);
  if (etag === undefined || answer.headers['accept-ranges']?.trim().toLowerCase() === 'none') return undefined;
  return { origin: answer.url.origin, etag, totalBytes };
}

/**
 * The size of the whole, when a 206 is exactly the rest of `representation` from `from` on: same tag (section 15.3.7 requires it), up to the
 * last byte, of the same size. `undefined` for every other answer, whose bytes must not be joined to what is there.
 */
export function totalOfRest(answer: Answer, representation: Representation, from: number): number | undefined {
  if (answer.status !== 206 || strongTag(answer) !== representation.etag) return undefined;
  const [, first, last, total] = (/^bytes (\d+)-(\d+)\/(\d+)$/iu.exec(answer.headers['content-range']?.trim() ?? '') ?? []).map(Number);
  if (first !== from || total === undefined || !Number.isSafeInteger(total) || last !== total - 1) return undefined;
  if (representation.totalBytes !== undefined && total !== representation.totalBytes) return undefined;
  const length = answer.headers['content-length'];
  return length === undefined || Number(length) === total - from ? total : undefined;
}

/** A strong tag of visible ASCII; one in other characters would not come back to the server as it was sent. */
function strongTag(answer: Answer): string | undefined {
  const tag = answer.headers['etag']?.trim() ?? '';
  return /^"[\x21\x23-\x7e]+"$/u.test(tag) ? tag : undefined;
}
