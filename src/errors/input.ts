/** What a caller passed in and nothing can be done with. */
import { because, RwxCacheError } from './base.ts';

/** An option or argument that the called function does not take. */
export class InvalidOptionError extends RwxCacheError {
  readonly code = 'ERR_INVALID_OPTION';
  /** The option's name, as the documentation writes it. */
  readonly option: string;

  constructor(option: string, problem: string) {
    super(`Invalid option ${option}: ${problem}`);
    this.option = option;
  }
}

/** A host name that the reference clients refuse as well. */
export class InvalidHostnameError extends RwxCacheError {
  readonly code = 'ERR_INVALID_HOSTNAME';
  /** The text as given. */
  readonly given: string;

  constructor(given: string, problem: string) {
    super(`Invalid host name ${JSON.stringify(given)}: ${problem}`);
    this.given = given;
  }
}

/** A provider source address that the reference clients refuse as well. */
export class InvalidProviderAddressError extends RwxCacheError {
  readonly code = 'ERR_INVALID_PROVIDER_ADDRESS';
  /** The text as given. */
  readonly given: string;

  constructor(given: string, problem: string, cause?: unknown) {
    super(`Invalid provider address ${JSON.stringify(given)}: ${problem}; write it as "namespace/type" or "host/namespace/type"`, because({ cause }));
    this.given = given;
  }
}

/** A version that is not exact and well-formed. */
export class InvalidVersionError extends RwxCacheError {
  readonly code = 'ERR_INVALID_VERSION';
  /** The text as given. */
  readonly given: string;

  constructor(given: string, problem: string) {
    super(`Invalid version ${JSON.stringify(given)}: ${problem}`);
    this.given = given;
  }
}

/** Version constraints that do not parse. */
export class InvalidConstraintsError extends RwxCacheError {
  readonly code = 'ERR_INVALID_CONSTRAINTS';
  /** The text as given. */
  readonly given: string;

  constructor(given: string, problem: string) {
    super(`Invalid version constraints ${JSON.stringify(given)}: ${problem}`);
    this.given = given;
  }
}

/** A platform that is not of the form `os_arch`. */
export class InvalidPlatformError extends RwxCacheError {
  readonly code = 'ERR_INVALID_PLATFORM';
  /** The text as given. */
  readonly given: string;

  constructor(given: string) {
    super(`Invalid platform ${JSON.stringify(given)}: write it as "os_arch", for example "linux_amd64"`);
    this.given = given;
  }
}
