/** Where a redirect may lead. Pure. */
import { redactUrl } from '../diagnostics.ts';
import { AccessPolicyError, RedirectError } from '../errors.ts';
import { isLoopback } from './loopback.ts';
import type { RequestOptions } from './types.ts';

/** How many redirects one attempt follows. */
export const MAX_REDIRECTS = 5;

/** The statuses that redirect a GET (RFC 9110, section 15.4); 300 and 304 do not. */
export function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

/**
 * The URL that a redirect leads to. Throws {@link RedirectError} when it is missing or malformed, leads from https to
 * http, or is one too many (`followed`: how many came before it).
 */
export function redirectTarget(from: URL, location: string | undefined, followed: number): URL {
  const refuse = (reason: RedirectError['reason']): RedirectError =>
    new RedirectError({ url: redactUrl(from), location: to === undefined ? '(no URL)' : redactUrl(to), reason });
  const to = location !== undefined && location !== '' && URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (to === undefined || !isHttp(to)) throw refuse('invalid');
  if (from.protocol === 'https:' && to.protocol === 'http:') throw refuse('downgrade');
  if (followed >= MAX_REDIRECTS) throw refuse('too-many');
  return to;
}

/** Throws {@link AccessPolicyError} for a URL that is not http or https, or is plain http where the caller does not take it. */
export function checkScheme(url: URL, allowHttp: RequestOptions['allowHttp']): void {
  if (!isHttp(url)) throw new AccessPolicyError(redactUrl(url), 'its scheme is neither https nor http');
  if (url.protocol === 'http:' && allowHttp === 'loopback' && !isLoopback(url)) {
    throw new AccessPolicyError(redactUrl(url), 'plain http is only read from this machine itself; use https');
  }
}

function isHttp(url: URL): boolean {
  return url.protocol === 'https:' || url.protocol === 'http:';
}
