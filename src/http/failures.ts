/** What went wrong in one attempt, whether another one may help, and which error the caller gets if none does. */
import { redactUrl } from '../diagnostics.ts';
import { DownloadIncompleteError, HttpStatusError, NetworkError, type NetworkPhase, type RwxCacheError } from '../errors.ts';
import { systemErrorName } from '../system-errors.ts';
import type { Way } from './way.ts';
import { ProxyFailure } from './proxy-failure.ts';

/** A failed attempt. Never leaves this room: {@link AttemptFailure.toError} is what callers see. */
export class AttemptFailure extends Error {
  /** Whether a further attempt may succeed. */
  readonly retry: boolean;
  /** What `Retry-After` asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The error for the caller, after so many attempts. */
  readonly toError: (attempts: number) => RwxCacheError;

  constructor(data: { readonly retry: boolean; readonly retryAfterMs?: number | undefined; readonly toError: (attempts: number) => RwxCacheError }) {
    super('An attempt failed');
    this.retry = data.retry;
    this.retryAfterMs = data.retryAfterMs;
    this.toError = data.toError;
  }
}

/** An answer with a status that the caller does not take. */
export function statusFailure(url: URL, status: number, retryAfterMs: number | undefined): AttemptFailure {
  return new AttemptFailure({
    retry: status === 408 || status === 429 || (status >= 500 && status !== 501),
    retryAfterMs,
    toError: (attempts) => new HttpStatusError({ url: redactUrl(url), status, attempts, retryAfterMs }),
  });
}

/**
 * A request that failed with `error`, before its headers came or within its body. `way`: where a proxy
 * forwards the request the connection that failed is the one to the proxy.
 */
export function networkFailure(error: unknown, url: URL, reached: 'headers' | 'body', way?: Way): AttemptFailure {
  const own = error instanceof ProxyFailure ? error : undefined;
  const part = phaseOf(error, reached);
  const phase = own !== undefined || (way?.forwarded === true && (part === 'connect' || part === 'tls')) ? 'proxy' : part;
  const code = codeOf(error);
  const problem = own?.problem ?? problemOf(error);
  // What stands below a proxy's failure is of the same kind as what would have stood alone.
  const cause = own === undefined ? error : own.cause;
  const data = { url: redactUrl(url), phase, problem, cause: cause === undefined ? undefined : plainCause(cause), proxy: way?.proxy?.url.origin, proxyStatus: own?.status };
  return new AttemptFailure({
    retry: own?.retry ?? (part !== 'tls' && !HOPELESS.has(code)),
    toError: (attempts) => new NetworkError({ ...data, attempts }),
  });
}

/** A body that ended early. With a `Content-Length` that was met a further attempt would bring the same bytes: no `retry`. */
export function incompleteFailure(url: URL, expectedBytes: number, receivedBytes: number, retry: boolean): AttemptFailure {
  return new AttemptFailure({ retry, toError: () => new DownloadIncompleteError(redactUrl(url), expectedBytes, receivedBytes) });
}

/** A body in an encoding that was not asked for: its hash and size would be those of other bytes. */
export function encodingFailure(url: URL, encoding: string): AttemptFailure {
  return new AttemptFailure({
    retry: false,
    toError: (attempts) =>
      new NetworkError({
        url: redactUrl(url),
        phase: 'body',
        attempts,
        problem: `it is encoded as ${JSON.stringify(encoding)}, which was not asked for; a server or proxy on the way compresses it, switch that off`,
      }),
  });
}

/** Whether the connection ended under a body (rather than fell silent). */
export function isConnectionLoss(error: unknown): boolean {
  return codeOf(error) === 'UND_ERR_SOCKET' || codeOf(error) === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' || systemErrorName(error) === 'ECONNRESET';
}

/** The `code` of what ends a request at its own limit. */
export const REQUEST_TIMEOUT = 'RWX_REQUEST_TIMEOUT';

/** A further attempt would meet the same: a malformed request, headers beyond any limit, a client that was closed. */
const HOPELESS: ReadonlySet<string> = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_HEADERS_OVERFLOW', 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED']);

const PROBLEMS: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: 'there was no connection within connectTimeoutMs',
  UND_ERR_HEADERS_TIMEOUT: 'there was no answer within headersTimeoutMs',
  UND_ERR_BODY_TIMEOUT: 'no byte came for idleTimeoutMs',
  [REQUEST_TIMEOUT]: 'it was not answered to its end within requestTimeoutMs (or TF_REGISTRY_CLIENT_TIMEOUT)',
  UND_ERR_DESTROYED: 'the client was closed',
  UND_ERR_CLOSED: 'the client was closed',
};

/** Certificates that do not verify, and handshakes that can never succeed (plain http on an https port, for example). */
const TLS_CODE = /^(?:ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERROR_IN_C|INVALID_|HOSTNAME_MISMATCH|PATH_LENGTH_)/u;

/** Whether it is TLS that failed: a certificate, or a handshake. Another attempt would meet the same. */
export function isTlsFailure(error: unknown): boolean {
  return TLS_CODE.test(codeOf(error));
}

function phaseOf(error: unknown, reached: 'headers' | 'body'): NetworkPhase {
  if (reached === 'body') return 'body';
  if (isTlsFailure(error)) return 'tls';
  if (codeOf(error) === 'UND_ERR_CONNECT_TIMEOUT') return 'connect';
  // A socket that was up fails in 'read' or 'write'; everything else (getaddrinfo, connect, a reset within the handshake) came before.
  const syscall = (error as NodeJS.ErrnoException).syscall;
  return systemErrorName(error) !== undefined && syscall !== 'read' && syscall !== 'write' ? 'connect' : 'headers';
}

/** What an error says, in words that hold no secret. */
export function problemOf(error: unknown): string {
  const known = PROBLEMS[codeOf(error)];
  if (known !== undefined) return known;
  if (!(error instanceof Error)) return 'unknown';
  // OpenSSL's messages begin with a thread id and name files of its own; its `reason` is the part that says something.
  const { reason } = error as { reason?: unknown };
  if (typeof reason === 'string' && reason !== '') return reason;
  return error.message === '' ? codeOf(error) : error.message;
}

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : '';
}

/** A copy with message and code only: undici's errors carry sockets, and its parser errors the bytes of the answer. */
function plainCause(error: unknown): Error {
  const code = codeOf(error);
  return Object.assign(new Error(problemOf(error)), code === '' ? {} : { code });
}
