/** Reads a body, counts it, and holds it to its announced length and its limits. */
import { abortReason } from '../abort.ts';
import { redactUrl } from '../diagnostics.ts';
import { ResponseTooLargeError, RwxCacheError } from '../errors.ts';
import type { Answer } from './answer.ts';
import { incompleteFailure, isConnectionLoss, networkFailure } from './failures.ts';

/** Sizes in bytes. */
export interface BodyLimits {
  /** The largest body that is taken. */
  readonly maxBytes?: number | undefined;
  /** The exact size, where the caller knows it. */
  readonly expectedBytes?: number | undefined;
  /** How many bytes there are already: the body is the rest of a larger one, and all sizes are those of the whole. Default 0. */
  readonly from?: number | undefined;
}

/** The body's size, where caller or server says it. */
export function announcedBytes(answer: Answer, limits: BodyLimits): number | undefined {
  return limits.expectedBytes ?? wholeLength(answer, limits);
}

/**
 * Hands every chunk to `take` and awaits it before the next. Rejects with an `AttemptFailure` when the body breaks off,
 * with {@link ResponseTooLargeError} as soon as it is known to be too large, and with whatever `take` rejects with.
 * After a rejection the caller discards the body.
 */
export async function readBody(answer: Answer, limits: BodyLimits, signal: AbortSignal, take: (chunk: Uint8Array) => Promise<void> | undefined): Promise<void> {
  if (answer.status === 304) return readNothing(answer, signal);
  checkLength(answer, limits);
  const largest = Math.min(limits.maxBytes ?? Infinity, limits.expectedBytes ?? Infinity);
  const due = announcedBytes(answer, limits);
  const chunks = answer.body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>;
  let received = limits.from ?? 0;
  for (;;) {
    const step = await chunks.next().catch((error: unknown) => {
      throw bodyError(error, answer, due, received, signal);
    });
    if (step.done === true) break;
    received += step.value.length;
    if (received > largest) throw new ResponseTooLargeError(redactUrl(answer.url), largest);
    await take(step.value);
  }
  // A body that ends with its connection (HTTP/1.0 style) may have been cut anywhere; the count is all there is.
  if (due !== undefined && received < due) throw incompleteFailure(answer.url, due, received, true);
}

/** A 304 has no body; the length that it may give is that of the document which it does not send (RFC 9110 section 8.6). undici misses those bytes, and fails (measured). */
async function readNothing({ body }: Answer, signal: AbortSignal): Promise<void> {
  await body.dump({ limit: 0 }).catch(() => undefined);
  if (signal.aborted) throw abortReason(signal);
}

/** What the `Content-Length` alone already decides; rejects as {@link readBody} does. */
export function checkLength(answer: Answer, limits: BodyLimits): void {
  const length = wholeLength(answer, limits);
  if (length === undefined) return;
  const { expectedBytes, maxBytes } = limits;
  if (maxBytes !== undefined && length > maxBytes) throw new ResponseTooLargeError(redactUrl(answer.url), maxBytes);
  if (expectedBytes === undefined || length === expectedBytes) return;
  if (length > expectedBytes) throw new ResponseTooLargeError(redactUrl(answer.url), expectedBytes);
  throw incompleteFailure(answer.url, expectedBytes, length, false);
}

function bodyError(error: unknown, answer: Answer, due: number | undefined, received: number, signal: AbortSignal): Error {
  if (signal.aborted) return abortReason(signal);
  if (error instanceof RwxCacheError) return error; // the reader itself gave the body up
  if (due !== undefined && isConnectionLoss(error)) return incompleteFailure(answer.url, due, received, true);
  return networkFailure(error, answer.url, 'body', answer.way);
}

function wholeLength(answer: Answer, { from = 0 }: BodyLimits): number | undefined {
  const value = answer.headers['content-length'];
  return value !== undefined && /^\d+$/u.test(value) ? from + Number(value) : undefined;
}
