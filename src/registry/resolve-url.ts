/**
 * Resolves a URL that a server sent, as Go's `net/url` does. The WHATWG parser alone is too kind: it drops tabs and
 * line breaks, reads `\` as `/`, takes `http:x` as relative and `***x:/y` as a path. What it would repair is refused here.
 */

/** A resolved URL, or what is wrong with it (in words that fit after "…: "). */
export type ResolvedUrl = { readonly url: URL; readonly problem?: undefined } | { readonly url?: undefined; readonly problem: string };

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/u;
// A relative reference whose first segment holds a colon is no reference at all (RFC 3986 section 4.2).
const COLON_IN_FIRST_SEGMENT = /^[^/?#]*:/u;

/** Resolves `reference` against `base` (RFC 3986 section 5), and takes http and https only. The fragment is dropped. */
export function resolveUrl(reference: string, base: string): ResolvedUrl {
  if (/[\u0000-\u0020\u007f\\]/u.test(reference)) return { problem: 'it is not a URL (it holds a space, a control character or a backslash)' };
  const scheme = SCHEME.exec(reference)?.[1]?.toLowerCase();
  if (scheme === undefined && COLON_IN_FIRST_SEGMENT.test(reference)) return { problem: 'it is not a URL' };
  if (scheme !== undefined && scheme !== 'http' && scheme !== 'https') return { problem: `its scheme is ${scheme}, and only http and https are read` };
  const authority = reference.slice(scheme === undefined ? 0 : scheme.length + 1);
  if (scheme !== undefined && !authority.startsWith('//')) return { problem: 'it is not a URL' };
  if (/^\/\/(?:[/?#]|$)/u.test(authority)) return { problem: 'it names no host' };
  if (!URL.canParse(reference, base)) return { problem: 'it is not a URL' };
  const url = new URL(reference, base);
  url.hash = '';
  return { url };
}
