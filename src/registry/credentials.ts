/**
 * Which token belongs to a host. The order of the reference clients: `TF_TOKEN_*` of the environment, then what was
 * configured. Reads nothing but what it is given; never puts a token into a message.
 */
import { InvalidOptionError } from '../errors.ts';
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

/** The credentials of a host, by its ASCII form. */
export type CredentialSource = (asciiHost: string) => HostCredentials | undefined;

// RFC 6750 section 2.1 allows less, but real tokens do not always keep to it. A line break (a token read from a file with
// its newline) or a character beyond ASCII is never meant, and the error of the HTTP layer would not say whose token it is.
const SENDABLE = /^[\u0021-\u007e]+$/u;

/**
 * The source of `TF_TOKEN_*` and configured credentials. The environment is read once, here. A token that cannot be
 * sent is an error for its own host only, when that host is asked for.
 * @throws InvalidHostnameError - a key of `configured` is no host name
 */
export function credentialSource(configured: CredentialsByHost, environment: Environment): CredentialSource {
  const entries = new Map<string, { readonly from: string; readonly token: string }>();
  for (const [host, { token }] of Object.entries(configured)) entries.set(normalizeHostname(host).ascii, { from: `credentials[${JSON.stringify(host)}]`, token });
  for (const [name, token] of Object.entries(environment)) {
    const host = hostFromTokenVariable(name);
    if (host !== undefined && token !== undefined && token !== '') entries.set(host, { from: name, token });
  }
  return (asciiHost) => {
    const entry = entries.get(asciiHost);
    if (entry === undefined) return undefined;
    if (!SENDABLE.test(entry.token)) throw new InvalidOptionError(entry.from, 'the token holds a space, a line break or a character that no header can carry');
    return { token: entry.token };
  };
}
