/**
 * What the library tells an operator: text for people through `debug` (`DEBUG=rwx-cache:*`), events for
 * programs through `node:diagnostics_channel`. Nothing that is passed in here may hold a secret: no header,
 * no token, no query of a URL.
 */
import { channel } from 'node:diagnostics_channel';
import { createRequire } from 'node:module';
import type createDebug from 'debug';

/** One namespace for each room of the library. */
export type Room = 'atomic' | 'lock' | 'http' | 'registry' | 'verify' | 'archive' | 'cache';

/**
 * The text log of one room. `debug` is loaded with the first line that is logged: with what it needs for colours it would be a fifth
 * of the import of this library (15 of 77 ms, measured), and a hit logs nothing. By `require`, since a line cannot wait for an `import`.
 */
export function logger(room: Room): (format: string, ...values: unknown[]) => void {
  let log: createDebug.Debugger | undefined;
  return (format, ...values) => {
    log ??= (createRequire(import.meta.url)('debug') as typeof createDebug)(`rwx-cache:${room}`);
    log(format, ...values);
  };
}

/** Publishes an event on the channel `rwx-cache:<name>`; costs a few nanoseconds while nobody listens. */
export function publishEvent(name: string, data: Readonly<Record<string, unknown>>): void {
  const events = channel(`rwx-cache:${name}`);
  if (events.hasSubscribers) events.publish(data);
}

/** A URL as it may stand in a message or log: without user, password, query (signed URLs keep secrets there) and fragment. */
export function redactUrl(url: string | URL): string {
  const parsed = typeof url === 'string' ? (URL.canParse(url) ? new URL(url) : undefined) : url;
  if (parsed === undefined) return '(not a URL)';
  const query = parsed.search === '' ? '' : '?…';
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}${query}`;
}
