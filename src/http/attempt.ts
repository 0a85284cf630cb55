/** One attempt: a request and the redirects that follow it, up to an answer that the caller takes. */
import { encodingFailure, statusFailure } from './failures.ts';
import { FULL_TRUST, headersFor } from './origin-headers.ts';
import { rangeHeaders, type RangeRequest } from './range.ts';
import { checkScheme, isRedirect, redirectTarget } from './redirects.ts';
import type { Answer } from './answer.ts';
import { discardBody, drainBody } from './request.ts';
import { parseRetryAfter } from './retry.ts';
import type { Transport } from './transport.ts';
import type { RequestOptions } from './types.ts';

/** Options of an attempt. */
export interface AttemptOptions extends RequestOptions {
  /** Limit for each request, body included, in milliseconds. */
  readonly requestTimeoutMs?: number | undefined;
}

/**
 * Rejects with an `AttemptFailure` for what another attempt may mend, with a `RedirectError` or `AccessPolicyError`
 * for what it may not. Each attempt begins at `start` again: a signed URL behind a redirect may have expired meanwhile.
 * One that asks for a range takes the two statuses that only such a request meets.
 */
export async function attempt(transport: Transport, start: URL, options: AttemptOptions, userAgent: string, signal: AbortSignal, range?: RangeRequest): Promise<Answer> {
  const accepted = [...(options.acceptStatus ?? [200]), ...(range === undefined ? [] : [206, 416])];
  let url = start;
  let before = FULL_TRUST;
  for (let followed = 0; ; followed += 1) {
    checkScheme(url, options.allowHttp);
    const { headers, trust } = headersFor(url, start, before, options, userAgent);
    const answer = await transport.send(url, range === undefined ? headers : { ...headers, ...rangeHeaders(range) }, options.requestTimeoutMs, signal);
    if (accepted.includes(answer.status)) return plain(answer);
    drainBody(answer.body);
    if (!isRedirect(answer.status)) {
      throw statusFailure(url, answer.status, parseRetryAfter(answer.headers['retry-after'], answer.headers['date']));
    }
    url = redirectTarget(url, answer.headers['location'], followed);
    before = trust;
  }
}

function plain(answer: Answer): Answer {
  const encoding = answer.headers['content-encoding']?.trim() ?? '';
  if (encoding === '' || encoding.toLowerCase() === 'identity') return answer;
  discardBody(answer.body);
  throw encodingFailure(answer.url, encoding);
}
