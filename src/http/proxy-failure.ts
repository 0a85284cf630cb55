/** What went wrong between this client and a proxy. Never leaves this room: callers see a `NetworkError` with phase `'proxy'`. */

/** A way through a proxy that was not to be had. */
export class ProxyFailure extends Error {
  /** What happened and what to do; no secrets. */
  readonly problem: string;
  /** Whether a further attempt may succeed. */
  readonly retry: boolean;
  /** What the proxy answered, where it did. */
  readonly status: number | undefined;

  constructor(data: { readonly problem: string; readonly retry: boolean; readonly status?: number | undefined; readonly cause?: unknown }) {
    super(data.problem, data.cause === undefined ? {} : { cause: data.cause });
    this.problem = data.problem;
    this.retry = data.retry;
    this.status = data.status;
  }
}

/** A proxy that answered a request to it, or to go through it, with `status`. */
export function refusedByProxy(status: number, reason: string | undefined, variable: string, hadCredentials: boolean): ProxyFailure {
  if (status === 407) {
    const problem = hadCredentials
      ? `it does not take the credentials of ${variable} (407)`
      : `it wants credentials (407); put them into ${variable}, as http://user:password@host:port`;
    return new ProxyFailure({ problem, retry: false, status });
  }
  const said = reason === undefined || reason === '' ? '' : ` ${reason.replace(/[^\u0020-\u007e]+/gu, ' ').slice(0, 100)}`;
  return new ProxyFailure({
    problem: `it answered ${status}${said} to CONNECT; it may not let this client through to that host`,
    // A proxy that cannot reach the host says so in the 5xx; what it forbids it will forbid again.
    retry: status === 408 || status === 429 || (status >= 500 && status !== 501),
    status,
  });
}
