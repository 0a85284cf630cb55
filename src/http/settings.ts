/** The client's options with their defaults, checked once. */
import { InvalidOptionError } from '../errors.ts';
import type { HttpClientOptions } from './types.ts';

/** {@link HttpClientOptions} in full. */
export interface HttpSettings {
  readonly userAgent: string;
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly totalTimeoutMs: number | undefined;
  readonly retries: number;
  readonly backoffMs: number;
  readonly maxRetryAfterMs: number;
  readonly connectionsPerOrigin: number;
  readonly certificates: readonly (string | Buffer)[];
}

/** Fills in the defaults; throws {@link InvalidOptionError} for a number that makes no sense. */
export function resolveSettings(options: HttpClientOptions): HttpSettings {
  const { ca } = options;
  return {
    userAgent: options.userAgent ?? 'rwx-cache',
    connectTimeoutMs: wholeNumber('connectTimeoutMs', options.connectTimeoutMs ?? 10_000, 1),
    headersTimeoutMs: wholeNumber('headersTimeoutMs', options.headersTimeoutMs ?? 30_000, 1),
    idleTimeoutMs: wholeNumber('idleTimeoutMs', options.idleTimeoutMs ?? 30_000, 1),
    totalTimeoutMs: options.totalTimeoutMs === undefined ? undefined : wholeNumber('totalTimeoutMs', options.totalTimeoutMs, 1),
    retries: wholeNumber('retries', options.retries ?? 3, 0),
    backoffMs: wholeNumber('backoffMs', options.backoffMs ?? 500, 0),
    maxRetryAfterMs: wholeNumber('maxRetryAfterMs', options.maxRetryAfterMs ?? 60_000, 0),
    connectionsPerOrigin: wholeNumber('connectionsPerOrigin', options.connectionsPerOrigin ?? 8, 1),
    certificates: ca === undefined ? [] : typeof ca === 'string' || Buffer.isBuffer(ca) ? [ca] : ca,
  };
}

/** The longest time that Node's timers take; a longer one would fire at once. */
const MAX_TIMER = 2 ** 31 - 1;

function wholeNumber(option: string, value: number, least: number): number {
  if (!Number.isInteger(value) || value < least || value > MAX_TIMER) {
    throw new InvalidOptionError(option, `${value} is not a whole number from ${least} to ${MAX_TIMER}`);
  }
  return value;
}
