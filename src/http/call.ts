/** One call of a client: its own abort signal, which follows the caller's, the total limit, and the client's end. */
import { abortReason, onAbort } from '../abort.ts';
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
  const unfollow = onAbort(given, () => { controller.abort(abortReason(given)); });
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
