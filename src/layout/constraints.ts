/**
 * Version constraints in the clients' Ruby-like syntax (`">= 1.2, != 1.4.0"`), which versions they allow, and their
 * canonical text as lock files hold it. Pure.
 */
import { InvalidConstraintsError } from '../errors.ts';
import { comparePrecedence, compareVersions, parseNumbers, Version } from './versions.ts';

/** In the order in which the canonical text has terms of one boundary. `~patch` is `~> 1.2.3`, `~minor` is `~> 1.2`. */
const OPERATORS = ['>', '>=', '=', '~patch', '~minor', '<=', '<', '!='] as const;
type Operator = (typeof OPERATORS)[number];

interface Term {
  readonly operator: Operator;
  readonly boundary: Version;
}

/** A list of constraints that all must hold, immutable. An empty list allows every release. */
export class Constraints {
  readonly #terms: readonly Term[];
  readonly #text: string;

  /** @internal */
  constructor(terms: readonly Term[]) {
    this.#terms = terms;
    this.#text = canonicalText(terms);
    Object.freeze(this);
  }

  /**
   * Whether the version meets all constraints, as the clients decide it: a prerelease only when a term names exactly
   * it; `0.0.0` never (it stands for "no version"); build metadata counts only for exact terms, so `1.0.0` does not
   * allow `1.0.0+a`.
   */
  allows(version: Version): boolean {
    if (version.toString() === '0.0.0') return false;
    if (version.prerelease !== '' && !this.#terms.some((term) => term.operator === '=')) return false;
    return this.#terms.every((term) => holds(term, version));
  }

  /** The canonical text: sorted, without duplicates, versions in full; empty for no constraints. */
  toString(): string {
    return this.#text;
  }
}

/**
 * Reads constraints: terms separated by commas, each an operator (`=` or none, `!=`, `>`, `>=`, `<`, `<=`, `~>`), at most one
 * space, and a version of one to three numbers. Empty text means no constraints.
 *
 * @throws InvalidConstraintsError when it is anything else, or when a number does not fit into 64 bits.
 */
export function parseConstraints(text: string): Constraints {
  const terms = parseTerms(text);
  if (typeof terms === 'string') throw new InvalidConstraintsError(text, terms);
  return new Constraints(terms);
}

/**
 * The newest of the versions that the constraints allow; undefined when there is none. The order of the versions does
 * not matter; of two that differ only in build metadata the later in {@link compareVersions} is taken.
 */
export function newestMatching(versions: Iterable<Version>, constraints: Constraints): Version | undefined {
  let newest: Version | undefined;
  for (const version of versions) {
    if (constraints.allows(version) && (newest === undefined || compareVersions(version, newest) > 0)) newest = version;
  }
  return newest;
}

/**
 * The version that a request names when it leaves no choice (`"3.2.4"`, `"= 3.2.4"`); undefined when it is to be
 * chosen by constraints (`"~> 5.0"`) or is not valid at all, which {@link parseConstraints} then says.
 */
export function exactVersion(text: string): Version | undefined {
  const terms = parseTerms(text);
  const [only, ...more] = typeof terms === 'string' ? [] : terms;
  return only?.operator === '=' && more.length === 0 ? only.boundary : undefined;
}

// ---- reading -------------------------------------------------------------------------------------------------------

const OPERATOR = /[^0-9\sA-Za-z.*]*/uy;
const SEPARATOR = /[\sv]*/uy;
const BOUNDARY = /([0-9]+(?:\.[0-9]+)*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?-?/uy;

function parseTerms(text: string): readonly Term[] | string {
  const terms: Term[] = [];
  let rest = text.trim();
  while (rest !== '') {
    const read = parseTerm(rest);
    if (typeof read === 'string') return read;
    terms.push(read.term);
    rest = rest.slice(read.length).trim();
    if (rest === '') break;
    if (!rest.startsWith(',')) return `a comma is missing before ${JSON.stringify(rest)}`;
    rest = rest.slice(1).trim();
  }
  return terms;
}

/** Reads the term at the beginning of the text; answers with the problem where there is one. */
function parseTerm(text: string): { readonly term: Term; readonly length: number } | string {
  const [sign] = matchAt(OPERATOR, text, 0) ?? [''];
  const [separator] = matchAt(SEPARATOR, text, sign.length) ?? [''];
  if (separator.includes('v')) return 'write versions without the "v"';
  if (separator !== '' && separator !== ' ') return 'at most one space may follow an operator';
  const start = sign.length + separator.length;
  const boundary = matchAt(BOUNDARY, text, start);
  if (boundary === null) return `no version stands at ${JSON.stringify(text.slice(start))}`;
  const [whole, digits = '', prerelease = '', metadata = ''] = boundary;
  const numbers = parseNumbers(digits);
  if (typeof numbers === 'string') return numbers;
  const operator = operatorFor(sign, numbers.given);
  if (operator === undefined) return `${JSON.stringify(sign)} is not an operator`;
  return { term: { operator, boundary: new Version(numbers.numbers, prerelease, metadata) }, length: start + whole.length };
}

function matchAt(pattern: RegExp, text: string, index: number): RegExpExecArray | null {
  pattern.lastIndex = index;
  return pattern.exec(text);
}

function operatorFor(sign: string, numbersGiven: number): Operator | undefined {
  if (sign === '') return '=';
  if (sign === '~>') return numbersGiven === 3 ? '~patch' : '~minor';
  return OPERATORS.find((operator) => operator === sign);
}

// ---- deciding ------------------------------------------------------------------------------------------------------

function holds({ operator, boundary }: Term, version: Version): boolean {
  const order = comparePrecedence(version, boundary);
  switch (operator) {
    case '=':
      return compareVersions(version, boundary) === 0;
    case '!=':
      return compareVersions(version, boundary) !== 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '~patch':
      return order >= 0 && comparePrecedence(version, new Version([boundary.major, boundary.minor + 1n, 0n], '', '')) < 0;
    case '~minor':
      return order >= 0 && comparePrecedence(version, new Version([boundary.major + 1n, 0n, 0n], '', '')) < 0;
  }
}

// ---- writing -------------------------------------------------------------------------------------------------------

function canonicalText(terms: readonly Term[]): string {
  const sorted = terms.toSorted(
    (a, b) => compareVersions(a.boundary, b.boundary) || OPERATORS.indexOf(a.operator) - OPERATORS.indexOf(b.operator),
  );
  return [...new Set(sorted.map(termText))].join(', ');
}

function termText({ operator, boundary }: Term): string {
  switch (operator) {
    case '=':
      return boundary.toString();
    case '~patch':
      return `~> ${boundary.toString()}`;
    case '~minor':
      // Two numbers make it what it is; "~> 1" is written "~> 1.0".
      return `~> ${boundary.toString().replace(/^([0-9]+\.[0-9]+)\.[0-9]+/u, '$1')}`;
    default:
      return `${operator} ${boundary.toString()}`;
  }
}
