/**
 * Which headers go to which URL. An allow-list: a header of the caller's reaches its own origin and no other, so that
 * no redirect can carry away a token (lists of headers to strip always miss one, such as `private-token`).
 */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { InvalidOptionError } from '../errors.ts';
import { isLoopback } from './loopback.ts';
import type { RequestOptions } from './types.ts';

/** What the hop before has left: once a chain has led to an origin that may not see them, they stay withheld, also on its way back. */
export interface Trust {
  readonly headers: boolean;
  readonly bearer: boolean;
  readonly basic: boolean;
}

/** The trust that a chain begins with. */
export const FULL_TRUST: Trust = { headers: true, bearer: true, basic: true };

/** The headers of the request to `url`, which a chain that began at `start` has reached. */
export function headersFor(
  url: URL,
  start: URL,
  before: Trust,
  options: RequestOptions,
  userAgent: string,
): { readonly headers: Readonly<Record<string, string>>; readonly trust: Trust } {
  const trust: Trust = {
    headers: before.headers && url.origin === start.origin,
    bearer: before.bearer && (options.bearer?.origins.includes(url.origin) ?? false),
    basic: before.basic && (options.basic?.origins.includes(url.origin) ?? false),
  };
  const headers: Record<string, string> = {};
  if (isPrivate(url)) {
    // Object stores refuse a signed URL that comes with a second kind of credentials. What stands in the URL itself was meant for it.
    const signed = isSigned(url);
    if (trust.basic && options.basic !== undefined && !signed) headers['authorization'] = basicAuthorization(options.basic.login, options.basic.password);
    const own = basicCredentials(url);
    if (own !== undefined) headers['authorization'] = own;
    if (trust.headers) for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = value;
    if (trust.bearer && options.bearer !== undefined && !signed) headers['authorization'] = `Bearer ${options.bearer.token}`;
  }
  headers['user-agent'] = userAgent;
  if (options.accept !== undefined) headers['accept'] = options.accept;
  // Hashes are taken over the bytes as they are; nothing here unpacks an encoding.
  headers['accept-encoding'] = 'identity';
  return { headers, trust };
}

/** Throws {@link InvalidOptionError} for what no header can carry; the message has the name, never the value. */
export function checkHeaders(options: RequestOptions): void {
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (!isValid(() => { validateHeaderName(name); })) throw new InvalidOptionError('headers', `${JSON.stringify(name)} is not a header name`);
    if (!isValid(() => { validateHeaderValue(name, value); })) throw new InvalidOptionError('headers', `the value of ${name} has a character that a header cannot carry`);
  }
  const { accept, bearer } = options;
  if (accept !== undefined && !isValid(() => { validateHeaderValue('accept', accept); })) {
    throw new InvalidOptionError('accept', 'it has a character that a header cannot carry');
  }
  if (bearer !== undefined && !isValid(() => { validateHeaderValue('authorization', `Bearer ${bearer.token}`); })) {
    throw new InvalidOptionError('bearer', 'the token has a character that a header cannot carry, such as a line break');
  }
}

/** Whether nobody on the network reads along: https, or http that does not leave the machine. */
export function isPrivate(url: URL): boolean {
  return url.protocol === 'https:' || isLoopback(url);
}

/** URLs that carry their own credentials in the query: S3, Google Cloud Storage, CloudFront, Azure, and others that name it a signature. */
function isSigned(url: URL): boolean {
  return [...url.searchParams.keys()].some((name) => /^sig$|signature$/iu.test(name));
}

/** The user and password of a URL as `Authorization` (or a proxy's) has them; they belong to that URL alone. */
export function basicCredentials(url: URL): string | undefined {
  if (url.username === '' && url.password === '') return undefined;
  return basicAuthorization(decoded(url.username), decoded(url.password));
}

function basicAuthorization(login: string, password: string): string {
  return `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isValid(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}
