/** What goes wrong between a request and its answer. */
import { because, RwxCacheError, type CausedBy } from './base.ts';

/** An answer with a status that is not wanted, after all retries. */
export class HttpStatusError extends RwxCacheError {
  readonly code = 'ERR_HTTP_STATUS';
  /** The final URL, without secrets. */
  readonly url: string;
  /** The status, for example 503. */
  readonly status: number;
  /** How many requests were made. */
  readonly attempts: number;
  /** What `Retry-After` asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(data: { readonly url: string; readonly status: number; readonly attempts: number; readonly retryAfterMs?: number | undefined }) {
    super(`${data.url} answered ${data.status} (${data.attempts} ${data.attempts === 1 ? 'attempt' : 'attempts'})`);
    this.url = data.url;
    this.status = data.status;
    this.attempts = data.attempts;
    this.retryAfterMs = data.retryAfterMs;
  }
}

/** What part of a request failed; `'proxy'`: the way to or through a proxy, before the host that was asked for heard of it. */
export type NetworkPhase = 'connect' | 'proxy' | 'tls' | 'headers' | 'body';

/** What a {@link NetworkError} is made of. */
export interface NetworkErrorData extends CausedBy {
  /** The URL, without secrets. */
  readonly url: string;
  /** Where it failed. */
  readonly phase: NetworkPhase;
  /** How many requests were made. */
  readonly attempts: number;
  /** What happened, as a part of the message. */
  readonly problem: string;
  /** The proxy's origin, where one was on the way. */
  readonly proxy?: string | undefined;
  /** The status by which the proxy refused. */
  readonly proxyStatus?: number | undefined;
}

/** No usable answer: the connection failed, a proxy refused, a time limit passed, or a certificate was refused. */
export class NetworkError extends RwxCacheError {
  readonly code = 'ERR_NETWORK';
  /** The URL, without secrets. */
  readonly url: string;
  /** Where it failed. `'tls'` is never retried, nor is a proxy that refuses (407, 403) or whose own certificate is refused. */
  readonly phase: NetworkPhase;
  /** How many requests were made. */
  readonly attempts: number;
  /** The proxy that it went through, as its origin: without user and password. `undefined`: directly. */
  readonly proxy: string | undefined;
  /** What the proxy answered where it refused: 407, it wants credentials, or other ones; 403, it does not let this client through. */
  readonly proxyStatus: number | undefined;

  constructor(data: NetworkErrorData) {
    const where = [data.phase, ...(data.proxy === undefined ? [] : [`by way of ${data.proxy}`]), `${data.attempts} ${data.attempts === 1 ? 'attempt' : 'attempts'}`];
    super(`${data.url} could not be read (${where.join(', ')}): ${data.problem}`, because(data));
    this.url = data.url;
    this.phase = data.phase;
    this.attempts = data.attempts;
    this.proxy = data.proxy;
    this.proxyStatus = data.proxyStatus;
  }
}

/** A redirect that is not followed. */
export class RedirectError extends RwxCacheError {
  readonly code = 'ERR_REDIRECT';
  /** Where the redirect came from, without secrets. */
  readonly url: string;
  /** Where it led, without secrets. */
  readonly location: string;
  /** Why it was refused. */
  readonly reason: 'downgrade' | 'too-many' | 'invalid';

  constructor(data: { readonly url: string; readonly location: string; readonly reason: 'downgrade' | 'too-many' | 'invalid' }) {
    const why = { downgrade: 'it leads from https to http', 'too-many': 'there were more than 5', invalid: 'its location is missing or not http' }[data.reason];
    super(`${data.url} redirects to ${data.location}, which is not followed: ${why}`);
    this.url = data.url;
    this.location = data.location;
    this.reason = data.reason;
  }
}

/** An answer larger than its limit. */
export class ResponseTooLargeError extends RwxCacheError {
  readonly code = 'ERR_RESPONSE_TOO_LARGE';
  /** The URL, without secrets. */
  readonly url: string;
  /** The limit in bytes. */
  readonly limitBytes: number;

  constructor(url: string, limitBytes: number) {
    super(`${url} sent more than ${limitBytes} bytes`);
    this.url = url;
    this.limitBytes = limitBytes;
  }
}

/** A body that ended before its announced length, after all retries. */
export class DownloadIncompleteError extends RwxCacheError {
  readonly code = 'ERR_DOWNLOAD_INCOMPLETE';
  /** The URL, without secrets. */
  readonly url: string;
  /** The announced length in bytes. */
  readonly expectedBytes: number;
  /** The bytes that were read; what was in flight when the connection went is not among them. */
  readonly receivedBytes: number;

  constructor(url: string, expectedBytes: number, receivedBytes: number) {
    super(`${url} ended after ${receivedBytes} of ${expectedBytes} bytes; check the network or the proxy, then call again`);
    this.url = url;
    this.expectedBytes = expectedBytes;
    this.receivedBytes = receivedBytes;
  }
}

/** Plain http, or another scheme, where the policy asks for https. */
export class AccessPolicyError extends RwxCacheError {
  readonly code = 'ERR_ACCESS_POLICY';
  /** The URL, without secrets. */
  readonly url: string;

  constructor(url: string, problem: string) {
    super(`${url} is not read: ${problem}`);
    this.url = url;
  }
}
