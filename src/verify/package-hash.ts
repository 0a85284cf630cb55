/**
 * Package hashes as dependency lock files write them: `zh:` (SHA-256 of the zip, hex) and `h1:` (SHA-256 over the
 * sorted list of file hashes, base64; golang.org/x/mod `sumdb/dirhash` Hash1). Pure: reads nothing.
 */
import { createHash } from 'node:crypto';
import { InvalidOptionError, UnreadableDirectoryError } from '../errors.ts';

/** A package hash taken apart. */
export interface PackageHash {
  /** What stands before the first colon: `'h1'`, `'zh'`, or a scheme that is not known here. */
  readonly scheme: string;
  /** What stands behind it; may be empty, and then it matches nothing. */
  readonly value: string;
}

/** A file of a package, for {@link packageHashFromFiles}. */
export interface HashedFile {
  /** Path below the package's root, with '/' between the segments; bytes where the name is not UTF-8. */
  readonly name: string | Uint8Array;
  /** SHA-256 of its content, 64 lower-case hex digits. */
  readonly sha256: string;
}

/** What {@link matchesExpected} found. */
export type HashVerdict = 'match' | 'mismatch' | 'unproven';

const KNOWN_SCHEMES: ReadonlySet<string> = new Set(['h1', 'zh']);

/**
 * Takes a package hash apart, as the reference's `ParseHash` does: unknown schemes and empty values pass.
 * @throws InvalidOptionError - nothing, or no colon, stands where the scheme should
 */
export function parseHash(text: string): PackageHash {
  const colon = text.indexOf(':');
  if (colon < 1) throw new InvalidOptionError('hash', `${JSON.stringify(text)} has no scheme; write it as "h1:…" or "zh:…"`);
  return { scheme: text.slice(0, colon), value: text.slice(colon + 1) };
}

/**
 * The `h1:` hash of a package with these files, in any order. Equal names are all counted, as the reference counts
 * them. Order is that of the names' UTF-8 bytes: JavaScript's own (UTF-16) differs above U+FFFF.
 * @throws UnreadableDirectoryError - a name has a line break, which the reference refuses as well
 */
export function packageHashFromFiles(files: Iterable<HashedFile>): string {
  const lines = Array.from(files, ({ name, sha256 }) => ({ name: Buffer.from(name), sha256 }));
  const broken = lines.find(({ name }) => name.includes(0x0a));
  if (broken !== undefined) throw new UnreadableDirectoryError(JSON.stringify(broken.name.toString()), 'its name has a line break, which h1 hashes cannot express');
  lines.sort((a, b) => Buffer.compare(a.name, b.name));
  const hash = createHash('sha256');
  for (const { name, sha256 } of lines) hash.update(`${sha256}  `).update(name).update('\n');
  return `h1:${hash.digest('base64')}`;
}

/**
 * Whether something with the hashes `actual` is what `expected` (usually of a dependency lock file) allows.
 * - `'match'`: one of the expected hashes is among the actual ones. They are compared as text, as the reference does.
 * - `'mismatch'`: none is, and nothing that could still be found out would change that.
 * - `'unproven'`: none is, but some expected hash has a scheme (`h1`, `zh`) that `actual` lacks. A lock file written on
 *   another platform is the common case: it has that platform's `h1:` and every platform's `zh:`, so an unpacked
 *   directory, of which only `h1:` is known, may well be right, and its zip would tell.
 *
 * Unknown schemes match nothing and are left out; where nothing is left, the answer is `'unproven'`.
 */
export function matchesExpected(expected: readonly string[], actual: readonly string[]): HashVerdict {
  const known = expected.filter((hash) => KNOWN_SCHEMES.has(schemeOf(hash)));
  if (known.some((hash) => actual.includes(hash) && parseHash(hash).value !== '')) return 'match';
  const actualSchemes = new Set(actual.map(schemeOf));
  return known.length > 0 && known.every((hash) => actualSchemes.has(schemeOf(hash))) ? 'mismatch' : 'unproven';
}

function schemeOf(hash: string): string {
  return hash.slice(0, Math.max(0, hash.indexOf(':')));
}
