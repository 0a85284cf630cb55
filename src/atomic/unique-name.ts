/** Names that nobody else makes: no pid, host, time or counter, which all repeat in containers. Pure apart from the random source. */
import { randomBytes } from 'node:crypto';

/** What {@link uniqueName} makes, as part of a larger pattern. */
export const UNIQUE = '[0-9a-f]{32}';

/** A name of 128 random bits in lower-case hexadecimal (32 characters). Never reused, on any host. */
export function uniqueName(): string {
  return randomBytes(16).toString('hex');
}

/** Linux, macOS and Windows all take 255 (bytes on Linux, and no unit there is smaller). */
const LONGEST_NAME = 255;

/** The private name beside `base` under which its next content is written: `.<base>.<unique>.tmp`, with `base` cut where that is too long. */
export function temporaryName(base: string): string {
  const rest = `.${uniqueName()}.tmp`;
  return `.${cut(base, LONGEST_NAME - 1 - rest.length)}${rest}`;
}

/** The longest prefix of whole characters that takes at most `bytes` bytes as UTF-8. */
function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  let prefix = '';
  let used = 0;
  for (const character of text) {
    used += Buffer.byteLength(character);
    if (used > bytes) break;
    prefix += character;
  }
  return prefix;
}
