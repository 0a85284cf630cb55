/** The client's options with their defaults, checked once. */
import { InvalidOptionError } from '../errors.ts';
import { proxyChooser, type ProxyChooser } from './proxies.ts';
import type { ClientCertificate, HttpClientOptions } from './types.ts';

/** {@link HttpClientOptions} in full. */
export interface HttpSettings {
  readonly userAgent: string;
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly requestTimeoutMs: number | undefined;
  readonly totalTimeoutMs: number | undefined;
  readonly retries: number;
  readonly downloadRetries: number;
  readonly backoffMs: number;
  readonly maxRetryAfterMs: number;
  readonly connectionsPerHost: number;
  readonly certificates: readonly (string | Buffer)[];
  readonly clientCertificate: ClientCertificate | undefined;
  /** SSL_CERT_FILE, '' where it is unset or this system's Go programs do not read it. */
  readonly certFile: string;
  /** SSL_CERT_DIR, likewise. */
  readonly certDirectories: string;
  readonly proxyFor: ProxyChooser;
}

/** Fills in the defaults; throws {@link InvalidOptionError} for a number or a proxy that makes no sense. */
export function resolveSettings(options: HttpClientOptions): HttpSettings {
  const { ca, environment = process.env } = options;
  // Go asks the system itself on macOS and Windows, and reads these two nowhere there.
  const hasBundles = process.platform !== 'darwin' && process.platform !== 'win32';
  const retries = wholeNumber('retries', options.retries ?? DEFAULT_RETRIES, 0);
  return {
    userAgent: options.userAgent ?? 'rwx-cache',
    connectTimeoutMs: wholeNumber('connectTimeoutMs', options.connectTimeoutMs ?? 10_000, 1),
    headersTimeoutMs: wholeNumber('headersTimeoutMs', options.headersTimeoutMs ?? 30_000, 1),
    idleTimeoutMs: wholeNumber('idleTimeoutMs', options.idleTimeoutMs ?? 30_000, 1),
    requestTimeoutMs: options.requestTimeoutMs === undefined ? undefined : wholeNumber('requestTimeoutMs', options.requestTimeoutMs, 1),
    totalTimeoutMs: options.totalTimeoutMs === undefined ? undefined : wholeNumber('totalTimeoutMs', options.totalTimeoutMs, 1),
    retries,
    downloadRetries: wholeNumber('downloadRetries', options.downloadRetries ?? retries, 0),
    backoffMs: wholeNumber('backoffMs', options.backoffMs ?? 500, 0),
    maxRetryAfterMs: wholeNumber('maxRetryAfterMs', options.maxRetryAfterMs ?? 60_000, 0),
    connectionsPerHost: wholeNumber('connectionsPerHost', options.connectionsPerHost ?? 8, 1),
    certificates: ca === undefined ? [] : typeof ca === 'string' || Buffer.isBuffer(ca) ? [ca] : ca,
    clientCertificate: options.clientCertificate,
    certFile: hasBundles ? (environment['SSL_CERT_FILE'] ?? '') : '',
    certDirectories: hasBundles ? (environment['SSL_CERT_DIR'] ?? '') : '',
    proxyFor: proxyChooser(options.proxy, environment),
  };
}

/** Further attempts, where nothing else is said. */
export const DEFAULT_RETRIES = 3;

/** The longest time that Node's timers take; a longer one would fire at once. */
const MAX_TIMER = 2 ** 31 - 1;

function wholeNumber(option: string, value: number, least: number): number {
  if (!Number.isInteger(value) || value < least || value > MAX_TIMER) {
    throw new InvalidOptionError(option, `${value} is not a whole number from ${least} to ${MAX_TIMER}`);
  }
  return value;
}
