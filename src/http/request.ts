/** One request to one URL: no redirect, no retry, no body. */
import type { Dispatcher } from 'undici';
import { abortReason, raceAbort } from '../abort.ts';
import { networkFailure } from './failures.ts';

/** An answer whose body has not been read. Whoever gets one reads the body to its end or discards it. */
export interface Answer {
  readonly url: URL;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Dispatcher.ResponseData['body'];
}

/** The body of a redirect or an error: as much is read as is cheaper than another connection. */
const DRAIN_BYTES = 16 * 1024;
const DRAIN_MS = 1000;

/**
 * Sends a GET. Rejects with an `AttemptFailure`, or at once with the signal's reason: undici itself does not
 * notice an abort before a connection is up and free (measured: until another request's body ends), so the call leaves and
 * undici drops the request when its turn comes.
 */
export async function sendRequest(dispatcher: Dispatcher, url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Answer> {
  try {
    const answer = await raceAbort(
      dispatcher.request({ origin: url.origin, path: `${url.pathname}${url.search}`, method: 'GET', headers, signal }),
      signal,
      (late) => { discardBody(late.body); },
    );
    // The reader gets every error through its iterator; without a listener, one after that would end the process.
    answer.body.on('error', () => undefined);
    return { url, status: answer.statusCode, headers: joined(answer.headers), body: answer.body };
  } catch (error) {
    if (signal.aborted) throw abortReason(signal);
    throw networkFailure(error, url, 'headers');
  }
}

/** Gives up a body, and its connection when the body was not at its end. */
export function discardBody(body: Answer['body']): void {
  body.on('error', () => undefined);
  body.destroy();
}

/** Reads a body that nobody wants to its end, so that its connection can be used again, or gives both up when it is long or slow. Not waited for. */
export function drainBody(body: Answer['body']): void {
  body.dump({ limit: DRAIN_BYTES, signal: AbortSignal.timeout(DRAIN_MS) }).catch(() => undefined);
}

function joined(headers: Readonly<Record<string, string | string[] | undefined>>): Readonly<Record<string, string>> {
  const entries = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')] as const);
  return Object.fromEntries(entries);
}
