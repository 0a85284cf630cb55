/**
 * Which headers go to which URL. An allow-list: a header of the caller's reaches its own origin and no other, so that
 * no redirect can carry away a token (lists of headers to strip always miss one, such as `private-token`).
 */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { InvalidOptionError } from '../errors.ts';
import type { RequestOptions } from './types.ts';

/** What the hop before has left: once a chain has led to an origin that may not see them, they stay withheld, also on its way back. */
export interface Trust {
  readonly headers: boolean;
  readonly bearer: boolean;
}

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
  };
  const headers: Record<string, string> = {};
  if (isPrivate(url)) {
    const credentials = basicCredentials(url);
    if (credentials !== undefined) headers['authorization'] = credentials;
    if (trust.headers) for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = value;
    // Object stores refuse a signed URL that comes with a second kind of credentials.
    if (trust.bearer && options.bearer !== undefined && !isSigned(url)) headers['authorization'] = `Bearer ${options.bearer.token}`;
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

/** Whether the URL names this machine itself. `URL` has already brought every spelling of an address to one form. */
export function isLoopback(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/u.test(url.hostname);
}

/** URLs that carry their own credentials in the query: S3, Google Cloud Storage, CloudFront, Azure. */
function isSigned(url: URL): boolean {
  const names = new Set([...url.searchParams.keys()].map((name) => name.toLowerCase()));
  return ['x-amz-signature', 'x-goog-signature', 'signature', 'sig'].some((name) => names.has(name));
}

/** The user and password of a URL as `Authorization` (or a proxy's) has them; they belong to that URL alone. */
export function basicCredentials(url: URL): string | undefined {
  if (url.username === '' && url.password === '') return undefined;
  return `Basic ${Buffer.from(`${decoded(url.username)}:${decoded(url.password)}`).toString('base64')}`;
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
