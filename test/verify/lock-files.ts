/** Lock files for tests: every malformation that the reference refuses, and an arbitrary of good ones. */
import fc from 'fast-check';

/** A provider block with this body. */
export function providerBlock(body: string, address = 'registry.opentofu.org/hashicorp/aws'): string {
  return `provider "${address}" {\n${body}\n}\n`;
}

/** What is wrong with a lock file, and where. */
export interface Malformation {
  readonly text: string;
  /** Line and column. */
  readonly at: readonly [line: number, column: number];
  readonly problem: RegExp;
}

const VERSION = '  version = "1.0.0"';

const withAddress = (address: string, problem: RegExp): Malformation => ({ text: providerBlock(VERSION, address), at: [1, 10], problem });
const withVersion = (value: string, problem: RegExp): Malformation => ({ text: providerBlock(`  version = ${value}`), at: [2, 13], problem });
const withMore = (line: string, column: number, problem: RegExp): Malformation => ({ text: providerBlock(`${VERSION}\n${line}`), at: [3, column], problem });

/** By the reference's `locks_file_test.go`, its `testdata/locks-files`, and the refusals in `decodeLocksFromHCL`. */
export const MALFORMATIONS: readonly Malformation[] = [
  withAddress('', /written in full, "host\/namespace\/type": Invalid provider address ""/u),
  withAddress('x/registry.opentofu.org/hashicorp/aws', /more than three parts/u),
  withAddress('hashicorp/aws', /"hashicorp\/aws" is not in normalized form; write it in full, "host\/namespace\/type"/u),
  withAddress('aws', /not in normalized form; write it in full/u),
  withAddress('Registry.opentofu.org/example/example', /write it as "registry\.opentofu\.org\/example\/example"/u),
  withAddress('registry.opentofu.org/eXample/example', /write it as "registry\.opentofu\.org\/example\/example"/u),
  withAddress('registry.opentofu.org/example/Example', /write it as "registry\.opentofu\.org\/example\/example"/u),
  withAddress('registry.opentofu.org:443/example/example', /write it as "registry\.opentofu\.org\/example\/example"/u),
  withAddress('registry.opentofu.org/-/null', /legacy namespace/u),
  withAddress('registry.example.com/-/null', /legacy namespace/u),
  withAddress('terraform.io/builtin/foo', /built into the client/u),
  withAddress('registry.opentofu.org/exa mple/example', /its namespace is not valid/u),
  { text: `${providerBlock(VERSION)}\n${providerBlock(VERSION)}`, at: [5, 1], problem: /hashicorp\/aws is locked a second time, after line 1/u },
  withVersion('""', /the version is not valid/u),
  withVersion('"v1.0.0"', /without the "v"/u),
  withVersion('"1.0"', /"1\.0" is not in normalized form; write it as "1\.0\.0"/u),
  withVersion('"1"', /write it as "1\.0\.0"/u),
  withVersion('"1.02"', /write it as "1\.2\.0"/u),
  withVersion('"~> 1.0"', /an exact version is needed here/u),
  withVersion('null', /must have the argument "version"/u),
  withVersion('1', /the version must be a quoted string/u),
  withVersion('["1.0.0"]', /the version must be a quoted string/u),
  { text: 'provider "registry.opentofu.org/hashicorp/aws" {}\n', at: [1, 1], problem: /must have the argument "version"/u },
  withMore('  constraints = "nope"', 17, /the constraints are not valid/u),
  withMore('  constraints = "~> 1"', 17, /"~> 1" are not in normalized form; write them as "~> 1\.0"/u),
  withMore('  constraints = "1.2"', 17, /write them as "1\.2\.0"/u),
  withMore('  constraints = ">= 2.0.0, >= 1.0.0"', 17, /write them as ">= 1\.0\.0, >= 2\.0\.0"/u),
  withMore('  constraints = null', 17, /must be a quoted string/u),
  withMore('  hashes = "h1:a"', 12, /must be a list of strings/u),
  withMore('  hashes = null', 12, /must be a list of strings/u),
  withMore('  hashes = []', 12, /at least one hash/u),
  withMore('  hashes = ["h1:a", ""]', 21, /no provider hash/u),
  withMore('  hashes = ["h1:a", "b"]', 21, /no provider hash.*has no scheme/u),
  withMore('  hashes = ["h1:a", ":b"]', 21, /no provider hash/u),
  withMore('  hashes = ["h1:a", null]', 21, /must be a quoted string/u),
  withMore('  hashes = ["h1:a", ["h1:b"]]', 21, /must be a quoted string/u),
  withMore('  source = "x"', 3, /"source" is not expected here/u),
  withMore('  nested {\n  }', 3, /blocks of the type "nested" are not expected/u),
  { text: `x = 1\n${providerBlock(VERSION)}`, at: [1, 1], problem: /"x" is not expected here/u },
  { text: `doodad "blah" {\n}\n${providerBlock(VERSION)}`, at: [1, 1], problem: /"doodad" are not supported/u },
  { text: `provider {\n${VERSION}\n}\n`, at: [1, 1], problem: /has one label, not 0/u },
  { text: `provider "registry.opentofu.org/a/b" "c" {\n${VERSION}\n}\n`, at: [1, 1], problem: /has one label, not 2/u },
];

/** Lock files that are no literal HCL; the clients refuse them, too. */
export const NO_LITERAL_HCL: readonly string[] = [
  providerBlock('  version = "${1}.0.0"'),
  providerBlock('  version = var.version'),
  providerBlock('  version = "1.0.0'),
  providerBlock('  version = "1.0.0" constraints = "1.0.0"'),
  providerBlock(`${VERSION}\n${VERSION}`),
  providerBlock('  version = "1.0.0"\n  hashes = [\n    "h1:a"\n    "h1:b"\n  ]'),
  providerBlock(VERSION).slice(0, -2),
  `${providerBlock(VERSION)}}`,
  `provider "registry.opentofu.org/a/b" {\n  version = "1.0.0" }\n`,
  '/* without end',
  '<<<<<<< HEAD\n',
];

/** A lock file's provider, as text. */
export interface GeneratedProvider {
  readonly address: string;
  readonly version: string;
  readonly constraints: string;
  readonly hashes: readonly string[];
}

const name = fc.stringMatching(/^[a-z][a-z0-9]{0,6}(?:-[a-z0-9]{1,4})?$/u).filter((text) => !/^(?:terraform|opentofu)(?:-|$)/u.test(text) && text !== 'builtin');
const host = fc.constantFrom('registry.terraform.io', 'registry.opentofu.org', 'example.com', 'example.com:8443', 'bücher.example', 'a.example');
const number = fc.nat({ max: 40 });
const version = fc.tuple(number, number, number, fc.constantFrom('', '', '', '-beta.1', '-rc1', '+build.5')).map(([major, minor, patch, extra]) => `${major}.${minor}.${patch}${extra}`);
const constraints = fc.oneof(fc.constant(''), version, version.map((text) => `>= ${text}`), fc.tuple(number, number).map(([major, minor]) => `~> ${major}.${minor}`));
const digest = fc.uint8Array({ minLength: 32, maxLength: 32 });
const hash = fc.oneof(
  digest.map((bytes) => `h1:${Buffer.from(bytes).toString('base64')}`),
  digest.map((bytes) => `zh:${Buffer.from(bytes).toString('hex')}`),
  fc.string({ unit: 'binary', maxLength: 12 }).map((text) => `x9:${text}\${"%{`.normalize('NFC')),
);

/** What a lock file may say about one provider. */
export const anyProvider: fc.Arbitrary<GeneratedProvider> = fc.record({
  address: fc.tuple(host, name, name).map((parts) => parts.join('/')),
  version,
  constraints,
  hashes: fc.uniqueArray(hash, { maxLength: 8 }),
});

/** Providers of one lock file. */
export const anyProviders: fc.Arbitrary<GeneratedProvider[]> = fc.uniqueArray(anyProvider, { maxLength: 5, selector: ({ address }) => address });
