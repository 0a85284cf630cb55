/** Versions and constraints for property tests, from few numbers and words so that they often meet. */
import fc from 'fast-check';

const number = fc.oneof({ weight: 8, arbitrary: fc.constantFrom('0', '1', '2', '3', '10') }, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String));
const words = fc.array(fc.constantFrom('0', '1', '007', '12', 'a', 'b', 'beta', 'beta2', 'A', '-', ''), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
const numbers = fc.array(number, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
const extra = (prefix: string): fc.Arbitrary<string> => fc.oneof({ weight: 3, arbitrary: fc.constant('') }, words.filter((text) => text !== '').map((text) => prefix + text));

/** The text of a version, not always canonical. */
export const anyVersion: fc.Arbitrary<string> = fc.tuple(numbers, extra('-'), extra('+')).map((parts) => parts.join(''));

const operator = fc.constantFrom('', '=', '= ', '!= ', '!=', '>', '> ', '>= ', '<', '<=', '<= ', '~>', '~> ');

/** The text of constraints, hardly ever canonical. */
export const anyConstraints: fc.Arbitrary<string> = fc
  .array(fc.tuple(operator, anyVersion), { maxLength: 4 })
  .chain((terms) => fc.constantFrom(',', ', ', ' , ').map((comma) => terms.map((term) => term.join('')).join(comma)));
