/** One request to one URL, sent when it may be: the host has a place for it, and does not want to be left alone. */
import type { Answer } from './answer.ts';
import { createDispatchers, type Route } from './dispatcher.ts';
import { networkFailure } from './failures.ts';
import { createHostLimit } from './host-limit.ts';
import { slowDown, takeTurn } from './pace.ts';
import { ProxyFailure } from './proxy-failure.ts';
import { sendRequest } from './request.ts';
import { parseRetryAfter } from './retry.ts';
import type { HttpSettings } from './settings.ts';

/** What a client's requests go through. */
export interface Transport {
  /** Rejects with an `AttemptFailure`, an `InvalidOptionError` for certificates, or the signal's reason. `timeoutMs` counts from when the request is sent to the end of its body. */
  send(url: URL, headers: Readonly<Record<string, string>>, timeoutMs: number | undefined, signal: AbortSignal): Promise<Answer>;
  /** Destroys all connections, busy ones too. */
  destroy(): Promise<void>;
}

/** The transport of one client. */
export function createTransport(settings: HttpSettings): Transport {
  const dispatchers = createDispatchers(settings);
  const limit = createHostLimit(settings.connectionsPerHost);

  return {
    async send(url, headers, timeoutMs, signal) {
      const route = await routeTo(url);
      const leave = await limit.enter(url.hostname, signal);
      try {
        // Only now: whoever waits for a place hears of a 429 to those before.
        const turn = await takeTurn(url.host, settings.maxRetryAfterMs, signal);
        try {
          const answer = await sendRequest(route, url, headers, timeoutMs, signal, leave);
          turn.end(!heedLimit(url, answer));
          return answer;
        } finally {
          turn.end(false);
        }
      } catch (error) {
        leave();
        throw error;
      }
    },
    destroy: () => dispatchers.destroy(),
  };

  async function routeTo(url: URL): Promise<Route> {
    try {
      return await dispatchers.route(url);
    } catch (error) {
      throw error instanceof ProxyFailure ? networkFailure(error, url, 'headers') : error;
    }
  }

  /** Whether the answer asks for fewer requests. */
  function heedLimit(url: URL, { status, headers }: Answer): boolean {
    const askedMs = parseRetryAfter(headers['retry-after'], headers['date']);
    if (status !== 429 && (status !== 503 || askedMs === undefined)) return false;
    slowDown(url.host, status, askedMs, settings);
    return true;
  }
}
