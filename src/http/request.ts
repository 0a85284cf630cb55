/** One request to one URL: no redirect, no retry, no body. */
import { abortReason, onAbort, raceAbort } from '../abort.ts';
import { RwxCacheError } from '../errors.ts';
import type { Answer } from './answer.ts';
import type { Route } from './dispatcher.ts';
import { networkFailure, REQUEST_TIMEOUT } from './failures.ts';
import { refusedByProxy } from './proxy-failure.ts';

/** The body of a redirect or an error: as much is read as is cheaper than another connection. */
const DRAIN_BYTES = 16 * 1024;
const DRAIN_MS = 1000;

/**
 * Sends a GET. Rejects with an `AttemptFailure`, or at once with the signal's reason: undici itself does not notice an abort before
 * a connection is up (measured), so the call leaves and undici drops the request when its turn comes. `onEnd` is called when the
 * request holds no connection any more: after its failure, or the end of its body.
 */
export async function sendRequest(
  route: Route,
  url: URL,
  headers: Readonly<Record<string, string>>,
  timeoutMs: number | undefined,
  signal: AbortSignal,
  onEnd: () => void,
): Promise<Answer> {
  const { dispatcher, origin, path, headers: forProxy, way } = route;
  const limit = timeLimit(timeoutMs, signal);
  const end = (): void => {
    limit.end();
    onEnd();
  };
  try {
    const sent = dispatcher.request({ origin, path, method: 'GET', headers: { ...headers, ...forProxy }, signal: limit.signal });
    sent.catch(end);
    const answer = await raceAbort(sent, limit.signal, (late) => {
      late.body.on('close', end);
      discardBody(late.body);
    });
    answer.body.on('close', end);
    // The reader gets every error through its iterator; without a listener, one after that would end the process.
    answer.body.on('error', () => undefined);
    if (way.forwarded && answer.statusCode === 407) {
      discardBody(answer.body);
      throw refusedByProxy(407, undefined, way.proxy?.variable ?? '', way.proxy?.authorization !== undefined);
    }
    return { url, status: answer.statusCode, headers: joined(answer.headers), body: answer.body, way };
  } catch (error) {
    if (signal.aborted) throw abortReason(signal);
    if (error instanceof RwxCacheError) throw error; // certificates that cannot be used
    throw networkFailure(error, url, 'headers', way);
  }
}

/** A signal that follows the given one, and aborts when the time is over: with a body under way undici hands it that error. */
function timeLimit(timeoutMs: number | undefined, signal: AbortSignal): { readonly signal: AbortSignal; readonly end: () => void } {
  if (timeoutMs === undefined) return { signal, end: () => undefined };
  const limited = new AbortController();
  const unfollow = onAbort(signal, () => { limited.abort(abortReason(signal)); });
  const timer = setTimeout(() => {
    limited.abort(Object.assign(new Error('the request took too long'), { code: REQUEST_TIMEOUT }));
  }, timeoutMs);
  return {
    signal: limited.signal,
    end: () => {
      clearTimeout(timer);
      unfollow();
    },
  };
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
