/** Generated lock files, written here and read by hashicorp/hcl itself (hcl2-parser: compiled from Go to JavaScript), and by the parser here. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import hcl from 'hcl2-parser';
import { afterChanges } from '../../src/verify/dependency-locks-changes.ts';
import { parseLocks } from '../../src/verify/dependency-locks-parse.ts';
import { textWith } from '../../src/verify/dependency-locks-text.ts';
import { anyProvider, anyProviders, MALFORMATIONS, NO_LITERAL_HCL, type GeneratedProvider } from './lock-files.ts';

interface Oracle {
  /** The file as JSON, `null` where it does not parse; then the error, of which nothing is readable from here. */
  readonly parseToString: (text: string) => readonly [json: string | null, error: unknown];
}

const oracle = hcl as Oracle;

type Plain = Readonly<Record<string, { readonly version: string; readonly constraints: string; readonly hashes: readonly string[] }>>;

/** What hashicorp/hcl reads. */
function theirs(text: string): Plain | undefined {
  const [json] = oracle.parseToString(text);
  if (json === null || json === '') return undefined;
  const { provider = {} } = JSON.parse(json) as { provider?: Readonly<Record<string, readonly { version: string; constraints?: string; hashes?: readonly string[] }[]>> };
  return Object.fromEntries(Object.entries(provider).map(([address, [body]]) => [address, { version: body?.version ?? '', constraints: body?.constraints ?? '', hashes: body?.hashes ?? [] }]));
}

function ours(text: string): Plain {
  const { blocks } = parseLocks(text, '/x');
  return Object.fromEntries(blocks.map(({ locked: { address, version, constraints, hashes } }) => [String(address), { version: String(version), constraints: String(constraints ?? ''), hashes }]));
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** What was meant: hashes in the order of their bytes. */
function meant(providers: readonly GeneratedProvider[]): Plain {
  return Object.fromEntries(providers.map(({ address, version, constraints, hashes }) => [address, { version, constraints, hashes: hashes.toSorted(byBytes) }]));
}

function written(text: string, providers: readonly GeneratedProvider[]): string {
  const parsed = parseLocks(text, '/x');
  return textWith(parsed, afterChanges(parsed, providers), 'tofu');
}

describe('hashicorp/hcl reads', () => {
  it('200 generated lock files as they were meant, and so does the parser here', () => {
    fc.assert(
      fc.property(anyProviders, (providers) => {
        const text = written('', providers);
        assert.deepEqual(ours(text), meant(providers));
        if (providers.length > 0) assert.deepEqual(theirs(text), meant(providers));
      }),
      { numRuns: 200 },
    );
  });

  it('lock files with comments, other spacing and CRLF the same way, before and after an update', () => {
    const gap = fc.constantFrom('', ' ', '\t', '/* } */', ' /* " \n ] */ ');
    const lineEnd = fc.constantFrom('\n', '\n\n', ' # "x" }\n', ' // [\n', '/* { */\n', ' \n  # alone\n');
    const messy = fc.tuple(anyProviders, fc.infiniteStream<string>(gap), fc.infiniteStream<string>(lineEnd), fc.boolean()).map(([providers, gaps, lineEnds, crlf]) => {
      const next = (stream: typeof gaps): string => (stream.next() as IteratorResult<string, undefined>).value ?? '';
      const text = written('', providers)
        .replaceAll('\n', () => next(lineEnds))
        .replaceAll(' = ', () => ` ${next(gaps)}=${next(gaps)}`);
      return { text: crlf ? text.replaceAll('\n', '\r\n') : text, providers };
    });
    fc.assert(
      fc.property(messy, anyProvider, ({ text, providers }, more) => {
        assert.deepEqual(ours(text), meant(providers));
        if (providers.length > 0) assert.deepEqual(theirs(text), meant(providers));
        const added = { ...more, address: 'm.example/a/b' };
        const [first] = providers;
        // The first one gets more hashes, by which no other may change.
        const grown = first === undefined ? [] : [{ ...first, hashes: [...new Set([...first.hashes, 'h1:new=', 'zh:new'])] }];
        const result = written(text, [...grown, added]);
        const expected = meant([...grown, ...providers.slice(1), added]);
        assert.deepEqual(ours(result), expected);
        assert.deepEqual(theirs(result), expected);
        for (const comment of text.match(/# "x" \}|\/\/ \[|\/\* \{ \*\/|# alone/gu) ?? []) assert.ok(result.includes(comment));
        assert.equal(result.includes('\r\n'), text.includes('\r\n') || (!text.includes('\n') && result.includes('\r\n')));
      }),
      { numRuns: 40 },
    );
  });

  it('what is no HCL here either', () => {
    for (const text of NO_LITERAL_HCL.filter((each) => !/\$\{|var\./u.test(each))) assert.equal(theirs(text), undefined, text);
    for (const { text } of MALFORMATIONS.filter((each) => !/^provider \{|"c" \{/u.test(each.text))) assert.notEqual(theirs(text), undefined, text);
  });
});
