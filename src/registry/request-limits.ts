/** The environment's word on time limits and retries (OpenTofu's `internal/httpclient`, `internal/getproviders`). Pure. */
import type { HttpClientOptions } from '../http/index.ts';
import { DEFAULT_RETRIES } from '../http/settings.ts';
import type { Environment } from './credentials.ts';

/** The part of the http options that the environment may decide. */
export type RequestLimits = Pick<HttpClientOptions, 'requestTimeoutMs' | 'retries' | 'downloadRetries'>;

/** What a CLI configuration says of them. */
export interface ConfiguredLimits {
  readonly registryProtocols: { readonly retryCount: number | undefined; readonly requestTimeoutMs: number | undefined };
  readonly downloadRetryCount: number | undefined;
}

/** The largest value that is passed on; Node's timers take no more milliseconds. */
const MOST = 2 ** 31 - 1;

/**
 * What the variables say, and where they say nothing what `given` says, and then what `configured` says; but the configured number of
 * downloads (`download_retry_count`) beats the variable for it, in OpenTofu as here. As in the reference only whole numbers above 0 count, and
 * everything else is as if it were not set: "no retries" can be said by option only.
 */
export function requestLimits(environment: Environment, given: RequestLimits = {}, configured?: ConfiguredLimits): RequestLimits {
  const seconds = positiveNumber(environment['TF_REGISTRY_CLIENT_TIMEOUT']);
  const decided = given.downloadRetries === undefined ? limited(configured?.downloadRetryCount) : undefined;
  return {
    requestTimeoutMs: seconds === undefined ? (given.requestTimeoutMs ?? limited(configured?.registryProtocols.requestTimeoutMs)) : Math.min(seconds * 1000, MOST),
    retries: positiveNumber(environment['TF_REGISTRY_DISCOVERY_RETRY']) ?? given.retries ?? limited(configured?.registryProtocols.retryCount),
    // Without a word on downloads an option for all requests holds for them, but not the variable of the metadata.
    downloadRetries: decided ?? positiveNumber(environment['TF_PROVIDER_DOWNLOAD_RETRY']) ?? given.downloadRetries ?? given.retries ?? DEFAULT_RETRIES,
  };
}

function limited(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.min(value, MOST);
}

/** As Go's `strconv.Atoi`: a sign is allowed, white space is not. */
function positiveNumber(text: string | undefined): number | undefined {
  const number = text !== undefined && /^\+?\d+$/u.test(text) ? Math.min(Number(text), MOST) : 0;
  return number > 0 ? number : undefined;
}
