/**
 * Versions of providers: the syntax and the precedence of go-versions, which both clients use. It is *not* quite
 * semver: see {@link compareVersions}. Pure.
 */
import { InvalidVersionError } from '../errors.ts';

/** The clients keep each number in an unsigned 64-bit integer. */
const MAX_NUMBER = 2n ** 64n - 1n;

/** An exact version, frozen. The numbers are bigint: the clients allow 64 bits, more than a Number holds. */
export class Version {
  /** The first number. */
  readonly major: bigint;
  /** The second number, 0 where none was given. */
  readonly minor: bigint;
  /** The third number, 0 where none was given. */
  readonly patch: bigint;
  /** What stands after `-`, or the empty string. */
  readonly prerelease: string;
  /** What stands after `+`, or the empty string. */
  readonly metadata: string;

  /** @internal */
  constructor(numbers: readonly [bigint, bigint, bigint], prerelease: string, metadata: string) {
    [this.major, this.minor, this.patch] = numbers;
    this.prerelease = prerelease;
    this.metadata = metadata;
    Object.freeze(this);
  }

  /** The canonical text, as lock files and directory names have it: `1.0.0-beta.1+build`. */
  toString(): string {
    const prerelease = this.prerelease === '' ? '' : `-${this.prerelease}`;
    const metadata = this.metadata === '' ? '' : `+${this.metadata}`;
    return `${this.major.toString()}.${this.minor.toString()}.${this.patch.toString()}${prerelease}${metadata}`;
  }

  /** The canonical text: JSON has no bigint. */
  toJSON(): string {
    return this.toString();
  }
}

// The lone hyphen at the end is accepted and dropped, as the clients do.
const VERSION = /^([0-9]+(?:\.[0-9]+)*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?-?$/u;

/**
 * Reads one exact version: up to three numbers (missing ones are 0, leading zeros are dropped), then perhaps
 * `-prerelease` and `+metadata`. No prefix `v`, no spaces.
 *
 * @throws InvalidVersionError when it is anything else, or when a number does not fit into 64 bits.
 */
export function parseVersion(text: string): Version {
  const [, numbers = '', prerelease = '', metadata = ''] = VERSION.exec(text) ?? [];
  if (numbers === '') throw new InvalidVersionError(text, versionAdvice(text));
  const parts = parseNumbers(numbers);
  if (typeof parts === 'string') throw new InvalidVersionError(text, parts);
  return new Version(parts.numbers, prerelease, metadata);
}

function versionAdvice(text: string): string {
  if (/^\s|\s$/u.test(text)) return 'it begins or ends with a space';
  if (/^v[0-9]/u.test(text)) return 'write it without the "v"';
  if (/^[<>=!~^]/u.test(text)) return 'an exact version is needed here, not a constraint';
  return 'write it as "major.minor.patch"';
}

/** Reads `1`, `1.2` or `1.2.3`; answers with the problem where there is one. */
export function parseNumbers(text: string): { readonly numbers: readonly [bigint, bigint, bigint]; readonly given: number } | string {
  const given = text.split('.');
  if (given.length > 3) return 'it has more than three numbers';
  const numbers: [bigint, bigint, bigint] = [0n, 0n, 0n];
  for (const [index, digits] of given.entries()) {
    const significant = digits.replace(/^0+/u, '');
    // The length first: reading a million digits takes 0.2 s.
    const value = significant.length > 20 ? MAX_NUMBER + 1n : BigInt(significant);
    if (value > MAX_NUMBER) return 'a number in it does not fit into 64 bits';
    numbers[index] = value;
  }
  return { numbers, given: given.length };
}

/**
 * Orders versions as the clients do: negative when `a` is older, positive when it is newer, 0 only for the same version.
 *
 * A prerelease is older than its release. Prereleases are compared part by part, but at each step the side with no
 * further dot is older *before its text is looked at*: `1.0.0-beta` is older than `1.0.0-alpha.1`. Numeric parts
 * compare by length, then text, and are older than others. Build metadata has no precedence; it decides here only
 * between versions that are otherwise equal, so that sorting is the same everywhere.
 */
export function compareVersions(a: Version, b: Version): number {
  return comparePrecedence(a, b) || compareExtra(a.metadata, b.metadata);
}

/** As {@link compareVersions}, but 0 where only the metadata differs. */
export function comparePrecedence(a: Version, b: Version): number {
  return compare(a.major, b.major) || compare(a.minor, b.minor) || compare(a.patch, b.patch) || comparePrerelease(a.prerelease, b.prerelease);
}

function comparePrerelease(a: string, b: string): number {
  if (a === '' || b === '') return Number(a === '') - Number(b === '');
  return compareExtra(a, b);
}

function compareExtra(a: string, b: string): number {
  const left = a.split('.');
  const right = b.split('.');
  for (const [index, part] of left.entries()) {
    const last = index === left.length - 1;
    const otherLast = index === right.length - 1;
    if (last !== otherLast) return last ? -1 : 1;
    const order = compareParts(part, right[index] ?? '');
    if (order !== 0) return order;
  }
  return 0;
}

function compareParts(a: string, b: string): number {
  const aNumeric = /^[0-9]*$/u.test(a);
  const bNumeric = /^[0-9]*$/u.test(b);
  if (aNumeric !== bNumeric) return aNumeric ? -1 : 1;
  return (aNumeric ? a.length - b.length : 0) || compare(a, b);
}

function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
