/**
 * Which token belongs to a host. The order of the reference clients: `TF_TOKEN_*` of the environment, then what was
 * configured, then whoever is asked after that (a CLI configuration, a helper). Never puts a token into a message.
 */
import { CredentialsHelperError, InvalidOptionError } from '../errors.ts';
import { hostFromTokenVariable, normalizeHostname } from '../layout/index.ts';

/** What a host is shown. */
export interface HostCredentials {
  /** Sent as `Authorization: Bearer <token>`. */
  readonly token: string;
}

/** Credentials by host, in any spelling of it (`Registry.Example.com:443` is `registry.example.com`). */
export type CredentialsByHost = Readonly<Record<string, HostCredentials>>;

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The credentials of a host, by its ASCII form; `undefined` when it has none. Rejects when nobody can say, and that is then so for this
 * host only: with a `CredentialsHelperError`, or with an `InvalidOptionError` for a token that no header can carry.
 */
export type CredentialSource = (asciiHost: string, signal?: AbortSignal) => Promise<HostCredentials | undefined>;

// RFC 6750 section 2.1 allows less, but real tokens do not always keep to it. A line break (a token read from a file with
// its newline) or a character beyond ASCII is never meant, and the error of the HTTP layer would not say whose token it is.
const SENDABLE = /^[\u0021-\u007e]+$/u;

/** Whether a header can carry the token. */
export function isSendable(token: string): boolean {
  return SENDABLE.test(token);
}

/**
 * The source of `TF_TOKEN_*` and configured credentials, and of `further` for a host that has none there. The environment is
 * read once, here. A token that cannot be sent is an error for its own host only, when that host is asked for.
 * @throws InvalidHostnameError - a key of `configured` is no host name
 */
export function credentialSource(configured: CredentialsByHost, environment: Environment, further?: CredentialSource): CredentialSource {
  const entries = new Map<string, { readonly from: string; readonly token: string }>();
  for (const [host, { token }] of Object.entries(configured)) entries.set(normalizeHostname(host).ascii, { from: `credentials[${JSON.stringify(host)}]`, token });
  for (const [name, token] of Object.entries(environment)) {
    const host = hostFromTokenVariable(name);
    if (host !== undefined && token !== undefined && token !== '') entries.set(host, { from: name, token });
  }
  return async (asciiHost, signal) => {
    signal?.throwIfAborted();
    const entry = entries.get(asciiHost);
    if (entry === undefined) return further?.(asciiHost, signal);
    if (!isSendable(entry.token)) throw new InvalidOptionError(entry.from, 'the token holds a space, a line break or a character that no header can carry');
    return { token: entry.token };
  };
}

/** What a look-up came to: credentials, none, or a helper that failed. */
export interface CredentialLookup {
  /** The token, where there is one. */
  readonly token: string | undefined;
  /** Why nobody can say whether there is one. */
  readonly failure: CredentialsHelperError | undefined;
}

/**
 * Looks up a host's token for a request that is worth sending without one. A helper that fails must not stop what needs no token, so
 * its failure is an answer here, and an error only once the host asks for credentials.
 */
export async function lookUpToken(source: CredentialSource, asciiHost: string, signal: AbortSignal | undefined): Promise<CredentialLookup> {
  try {
    return { token: (await source(asciiHost, signal))?.token, failure: undefined };
  } catch (error) {
    if (error instanceof CredentialsHelperError) return { token: undefined, failure: error };
    throw error;
  }
}
