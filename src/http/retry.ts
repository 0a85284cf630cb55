/** When another attempt is made, and how long after. */
import { delay } from '../abort.ts';
import { AttemptFailure } from './failures.ts';

/** The longest random wait, in milliseconds. */
const MAX_BACKOFF_MS = 10_000;

/** What a client's options say about retries. Times in milliseconds. */
export interface RetryPolicy {
  readonly retries: number;
  readonly backoffMs: number;
  readonly maxRetryAfterMs: number;
}

/**
 * Runs `attempt` (with its number, from 1) until it succeeds, fails with an error that another attempt cannot mend, or
 * the retries are used up. An abort ends the wait between two attempts at once. A failed attempt of which `madeProgress`
 * says so uses up none.
 */
export async function withRetries<T>(policy: RetryPolicy, signal: AbortSignal, attempt: (number: number) => Promise<T>, madeProgress: () => boolean = () => false): Promise<T> {
  for (let number = 1, used = 0; ; number += 1) {
    try {
      return await attempt(number);
    } catch (error) {
      if (!(error instanceof AttemptFailure)) throw error;
      if (!madeProgress()) used += 1;
      if (!error.retry || used > policy.retries) throw error.toError(number);
      await delay(waitBefore(policy, Math.max(used, 1), error.retryAfterMs), signal);
    }
  }
}

/**
 * The wait after attempt `number`: a random part of a span that doubles each time ("full jitter"). `Retry-After` is
 * the least, up to its cap; the random part is added, lest all clients that heard the same number come back at once.
 */
export function waitBefore(policy: RetryPolicy, number: number, retryAfterMs: number | undefined, random: () => number = Math.random): number {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, policy.maxRetryAfterMs) + random() * policy.backoffMs;
  return random() * Math.min(policy.backoffMs * 2 ** (number - 1), MAX_BACKOFF_MS);
}

/**
 * `Retry-After` in milliseconds, in seconds or as a date (RFC 9110, section 10.2.3); `undefined` when it is neither. A date
 * counts from the answer's own `Date`, so that a wrong clock on either side does no harm.
 */
export function parseRetryAfter(value: string | undefined, date: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d+$/u.test(text)) return Number(text) * 1000;
  const until = parseHttpDate(text);
  if (until === undefined) return undefined;
  return Math.max(0, until - (parseHttpDate(date ?? '') ?? Date.now()));
}

/** All three forms of RFC 9110, section 5.6.7; only the asctime form names no zone, and means GMT as well. */
function parseHttpDate(text: string): number | undefined {
  if (!/^[A-Z][a-z]{2,8},? /u.test(text)) return undefined;
  const time = Date.parse(/ GMT$/u.test(text) ? text : `${text} GMT`);
  return Number.isNaN(time) ? undefined : time;
}
