/** One call of a client: its own abort signal, which follows the caller's, the total limit, and the client's end. */
import { abortReason } from '../abort.ts';
import { redactUrl } from '../diagnostics.ts';
import { NetworkError, type NetworkPhase } from '../errors.ts';

/** A call under way. */
export interface Call {
  /** Aborts with the reason that the call rejects with. */
  readonly signal: AbortSignal;
  /** How far it is, for the error of a limit that strikes from outside. */
  attempts: number;
  phase: NetworkPhase;
  /** Ends it with a `NetworkError`. */
  readonly cancel: (problem: string) => void;
  /** Forgets timer and listener. */
  readonly end: () => void;
}

/** Begins a call. `end` must follow. */
export function beginCall(url: URL, given: AbortSignal | undefined, totalTimeoutMs: number | undefined): Call {
  const controller = new AbortController();
  const unfollow = follow(given, () => { controller.abort(abortReason(given)); });
  const call: Call = {
    signal: controller.signal,
    attempts: 0,
    phase: 'headers',
    cancel: (problem) => {
      controller.abort(new NetworkError({ url: redactUrl(url), phase: call.phase, attempts: call.attempts, problem }));
    },
    end: () => {
      clearTimeout(timer);
      unfollow();
    },
  };
  const timer =
    totalTimeoutMs === undefined ? undefined : setTimeout(() => { call.cancel('it was not finished within totalTimeoutMs'); }, totalTimeoutMs);
  return call;
}

const followers = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `onAbort` when the signal aborts, until the returned function is called. However many calls share a signal, it has one
 * listener: Node warns of a leak from the eleventh on, and a lock file has more providers than that.
 */
function follow(signal: AbortSignal | undefined, onAbort: () => void): () => void {
  if (signal === undefined) return () => undefined;
  const calls = followers.get(signal) ?? listenOnce(signal);
  calls.add(onAbort);
  return () => {
    calls.delete(onAbort);
  };
}

function listenOnce(signal: AbortSignal): Set<() => void> {
  const calls = new Set<() => void>();
  followers.set(signal, calls);
  signal.addEventListener('abort', () => { for (const onAbort of [...calls]) onAbort(); }, { once: true });
  return calls;
}
