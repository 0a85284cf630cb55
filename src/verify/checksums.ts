/** The SHA256SUMS document of a release, read as the reference clients read it (`package_authentication.go`). Pure: checks no signature. */
import { ChecksumsInvalidError } from '../errors.ts';

/** Go's `unicode.IsSpace`; JavaScript's `\s` lacks U+0085 and has U+FEFF besides. Line breaks were cut at before. */
const SPACES = /[\t\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;
const SHA256_HEX = /^[0-9a-f]{64}$/iu;

/**
 * The document as a map from file name to checksum, in its order. The first line of a name wins; blank lines, and lines
 * with one field, are left out; fields after the second are ignored; CRLF is taken. A checksum of 64 hex digits is
 * given in lower case, anything else as it stands there, since only a file that is asked for has to have a good one:
 * ask through {@link checksumFor}. `*name` (sha256sum's binary mark) is a name of its own, as in the reference.
 */
export function parseChecksums(text: string): Map<string, string> {
  const sums = new Map<string, string>();
  for (const [checksum, name] of text.split('\n').map(fieldsOf)) {
    if (checksum === undefined || name === undefined || sums.has(name)) continue;
    sums.set(name, SHA256_HEX.test(checksum) ? checksum.toLowerCase() : checksum);
  }
  return sums;
}

/**
 * The checksum of one file, 64 lower-case hex digits.
 * @throws ChecksumsInvalidError - the file is not named, or what stands before its name is no SHA-256
 */
export function checksumFor(sums: ReadonlyMap<string, string>, filename: string): string {
  const checksum = sums.get(filename);
  if (checksum === undefined) throw new ChecksumsInvalidError(filename, 'it has no line for it');
  if (!SHA256_HEX.test(checksum)) throw new ChecksumsInvalidError(filename, `its line has no SHA-256 (64 hex digits) but ${checksum.length} other characters`);
  return checksum;
}

/**
 * `zh:` hashes of every line, in the document's order: once its signature is verified, they hold for all platforms.
 * One line that is not "64 hex digits, spaces, name" makes it no checksums document, and the answer is empty, as in
 * the reference (which, unlike this, crashes on a blank line).
 */
export function signedHashes(text: string): string[] {
  const lines = text.split('\n').map(fieldsOf).filter((fields) => fields.length > 0);
  const good = lines.every(([checksum, name]) => checksum !== undefined && name !== undefined && SHA256_HEX.test(checksum));
  return good ? lines.map(([checksum]) => `zh:${(checksum ?? '').toLowerCase()}`) : [];
}

function fieldsOf(line: string): string[] {
  return line.split(SPACES).filter((part) => part !== '');
}
