/**
 * What the reference clients' own packages answer: service-host names, registry addresses, versions and constraints
 * (computed by running them, or asserted by their tests).
 */

/** A given host name and its two forms; without them it is refused. */
export const HOST_NAMES: readonly { readonly given: string; readonly ascii?: string; readonly display?: string }[] = [
  { given: 'EXAMPLE.COM:443', ascii: 'example.com', display: 'example.com' },
  { given: '\u00c9.fr', ascii: 'xn--9ca.fr', display: '\u00e9.fr' },
  { given: '\u1e9e.de', ascii: 'ss.de', display: 'ss.de' },
  { given: '%65xample.com' },
  { given: 'stra\u00dfe.de', ascii: 'xn--strae-oqa.de', display: 'stra\u00dfe.de' },
  { given: 'example.com:443:1' },
  { given: 'ex\u00adample.com', ascii: 'example.com', display: 'example.com' },
  { given: 'example.com:00443', ascii: 'example.com', display: 'example.com' },
  { given: 'example.com/path' },
  { given: 'exa\tmple.com' },
  { given: 'example.com?x' },
  { given: 'xn--mnchen-3ya.de' },
  { given: 'example.com.', ascii: 'example.com.', display: 'example.com.' },
  { given: 'example.com:-1', ascii: 'example.com:-1', display: 'example.com:-1' },
  { given: '\ufb00.com', ascii: 'ff.com', display: 'ff.com' },
  { given: '\u05d0\u05d1.com', ascii: 'xn--4dbc.com', display: '\u05d0\u05d1.com' },
  { given: 'http', ascii: 'http', display: 'http' },
  { given: 'user@example.com' },
  { given: 'example.com:0', ascii: 'example.com:0', display: 'example.com:0' },
  { given: '\uff11\uff12\uff13.com', ascii: '123.com', display: '123.com' },
  { given: '\uff11.\uff11.\uff11.\uff11', ascii: '1.1.1.1', display: '1.1.1.1' },
  { given: '127.0.0.1', ascii: '127.0.0.1', display: '127.0.0.1' },
  { given: `${'a'.repeat(64)}.com`, ascii: `${'a'.repeat(64)}.com`, display: `${'a'.repeat(64)}.com` },
  { given: 'foo-.com' },
  { given: '-foo.com' },
  { given: '::1' },
  { given: 'localhost', ascii: 'localhost', display: 'localhost' },
  { given: '.example.com' },
  { given: 'example.com:65535', ascii: 'example.com:65535', display: 'example.com:65535' },
  { given: 'example.com..', ascii: 'example.com..', display: 'example.com..' },
  { given: 'a\u200db.com' },
  { given: 'e\u0301.fr', ascii: 'xn--9ca.fr', display: '\u00e9.fr' },
  { given: 'a.b-.c' },
  { given: `${'a.'.repeat(130)}com`, ascii: `${'a.'.repeat(130)}com`, display: `${'a.'.repeat(130)}com` },
  { given: 'https', ascii: 'https', display: 'https' },
  { given: 'example.com:+80', ascii: 'example.com:80', display: 'example.com:80' },
];

/** Where Node 20's own `domainToASCII` answers otherwise: the clients' answer (null: refused), and Node's. */
export const NODE_DISAGREES: readonly { readonly given: string; readonly ascii: string | null; readonly node: string }[] = [
  { given: '.example.com', ascii: null, node: '.example.com' },
  { given: 'foo_bar.com', ascii: null, node: 'foo_bar.com' },
  { given: '-foo.com', ascii: null, node: '-foo.com' },
  { given: 'foo-.com', ascii: null, node: 'foo-.com' },
  { given: 'ab--cd.com', ascii: null, node: 'ab--cd.com' },
  { given: 'xn--mnchen-3ya.de', ascii: null, node: 'xn--mnchen-3ya.de' },
  { given: 'example.com/path', ascii: null, node: 'example.com' },
  { given: 'example.com?x', ascii: null, node: 'example.com' },
  { given: '*.example.com', ascii: null, node: '*.example.com' },
  { given: '\u0660.com', ascii: null, node: 'xn--8hb.com' },
  { given: 'a\u0660.com', ascii: null, node: 'xn--a-8pc.com' },
  { given: '1\u05d0.com', ascii: null, node: 'xn--1-0hc.com' },
  { given: 'a\u05d0.com', ascii: null, node: 'xn--a-0hc.com' },
  { given: 'a.b-.c', ascii: null, node: 'a.b-.c' },
  { given: '0', ascii: '0', node: '0.0.0.0' },
  { given: '%65xample.com', ascii: null, node: 'example.com' },
  { given: 'exa\tmple.com', ascii: null, node: 'example.com' },
];

/** The host that a variable gives a token for; null: it is ignored. */
export const TOKEN_VARIABLES: readonly { readonly name: string; readonly host: string | null }[] = [
  { name: 'TF_TOKEN_fa\u00df_de', host: 'fass.de' },
  { name: 'TF_TOKEN___foo_com', host: null },
  { name: 'TF_TOKEN_localhost:8080', host: 'localhost:8080' },
  { name: 'TF_TOKEN_a_____b_com', host: null },
  { name: 'TF_TOKEN_app.terraform.io', host: 'app.terraform.io' },
  { name: 'TF_TOKEN_xn__fa__hia_de', host: 'xn-fa-hia.de' },
  { name: 'TF_TOKEN_xn--caf-dma_fr', host: 'xn--caf-dma.fr' },
  { name: 'TF_TOKEN_localhost_8080', host: 'localhost.8080' },
  { name: 'TF_TOKEN_my-registry_example_com', host: 'my-registry.example.com' },
  { name: 'TF_TOKEN_10_0_0_1', host: '10.0.0.1' },
  { name: 'TF_TOKEN_xn--caf-dma.fr', host: 'xn--caf-dma.fr' },
  { name: 'TF_TOKEN_env_xn____caf__dma_fr', host: 'env.xn--caf-dma.fr' },
  { name: 'TF_TOKEN_registry_opentofu_org', host: 'registry.opentofu.org' },
  { name: 'TF_TOKEN_xn____caf__dma_fr', host: 'xn--caf-dma.fr' },
  { name: 'TF_TOKEN_app_terraform_io', host: 'app.terraform.io' },
  { name: 'TF_TOKEN_APP_TERRAFORM_IO', host: 'app.terraform.io' },
  { name: 'TF_TOKEN_configured_example_com', host: 'configured.example.com' },
  { name: 'TF_TOKEN_env_xn--eckwd4c7cu47r2wf_com', host: 'env.xn--eckwd4c7cu47r2wf.com' },
  { name: 'TF_TOKEN_configured.example.com', host: 'configured.example.com' },
  { name: 'TF_TOKEN_CONFIGUREDUPPERCASE_EXAMPLE_COM', host: 'configureduppercase.example.com' },
];

/** A provider source and what it means; without that it is refused. */
export const PROVIDER_SOURCES: readonly { readonly given: string; readonly host?: string; readonly ns?: string; readonly type?: string; readonly fqn?: string; readonly display?: string }[] = [
  { given: 'registry.opentofu.org/-/aws', host: 'registry.opentofu.org', ns: '-', type: 'aws', fqn: 'registry.opentofu.org/-/aws', display: '-/aws' },
  { given: '-/aws', host: 'registry.opentofu.org', ns: '-', type: 'aws', fqn: 'registry.opentofu.org/-/aws', display: '-/aws' },
  { given: 'HashiCorp/AWS', host: 'registry.opentofu.org', ns: 'hashicorp', type: 'aws', fqn: 'registry.opentofu.org/hashicorp/aws', display: 'hashicorp/aws' },
  { given: 'foo/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', host: 'registry.opentofu.org', ns: 'foo', type: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', fqn: 'registry.opentofu.org/foo/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', display: 'foo/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' },
  { given: 'example.com:0443/foo/bar', host: 'example.com', ns: 'foo', type: 'bar', fqn: 'example.com/foo/bar', display: 'example.com/foo/bar' },
  { given: 'a//b' },
  { given: 'foo/opentofu-bar' },
  { given: 'foo/my_provider' },
  { given: '' },
  { given: 'a/b/c/d' },
  { given: 'example.com/-/aws' },
  { given: 'foo/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', host: 'registry.opentofu.org', ns: 'foo', type: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', fqn: 'registry.opentofu.org/foo/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', display: 'foo/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' },
  { given: 'registry.opentofu.org/HashiCorp/AWS', host: 'registry.opentofu.org', ns: 'hashicorp', type: 'aws', fqn: 'registry.opentofu.org/hashicorp/aws', display: 'hashicorp/aws' },
  { given: 'Registry.OpenTofu.ORG/hashicorp/aws', host: 'registry.opentofu.org', ns: 'hashicorp', type: 'aws', fqn: 'registry.opentofu.org/hashicorp/aws', display: 'hashicorp/aws' },
  { given: '?/aws' },
  { given: 'foo/fa\u00df', host: 'registry.opentofu.org', ns: 'foo', type: 'fa\u00df', fqn: 'registry.opentofu.org/foo/fa\u00df', display: 'foo/fa\u00df' },
  { given: 'foo/bar_baz' },
  { given: 'foo/1pass', host: 'registry.opentofu.org', ns: 'foo', type: '1pass', fqn: 'registry.opentofu.org/foo/1pass', display: 'foo/1pass' },
  { given: 'foo/\u2603', host: 'registry.opentofu.org', ns: 'foo', type: '\u2603', fqn: 'registry.opentofu.org/foo/\u2603', display: 'foo/\u2603' },
  { given: 'foo/terraform_x' },
  { given: '/' },
];

/** A namespace or type and its normalised form; null: refused. */
export const PROVIDER_PARTS: readonly { readonly given: string; readonly out: string | null }[] = [
  { given: '\ufb01', out: 'fi' },
  { given: 'ab-cd-', out: null },
  { given: '\u0130', out: 'i\u0307' },
  { given: 'FOO', out: 'foo' },
  { given: 'foo/bar', out: null },
  { given: 'a', out: 'a' },
  { given: 'K', out: 'k' },
  { given: 'foo_bar', out: null },
  { given: '\u03c2', out: '\u03c2' },
  { given: 'foo:bar', out: null },
  { given: '\u2460', out: '1' },
  { given: 'foo', out: 'foo' },
];

/** A version and its canonical text; null: refused. */
export const VERSIONS: readonly { readonly given: string; readonly out: string | null }[] = [
  { given: '00.1.2', out: '0.1.2' },
  { given: '1.0.0-beta.1', out: '1.0.0-beta.1' },
  { given: '=1.0.0', out: null },
  { given: '0.0.0-dev', out: '0.0.0-dev' },
  { given: '1.0.0_1', out: null },
  { given: '1.0.0-a..b', out: '1.0.0-a..b' },
  { given: '1.0.0-beta1', out: '1.0.0-beta1' },
  { given: '1.0', out: '1.0.0' },
  { given: ' 1.0.0', out: null },
  { given: '1.0-beta', out: '1.0.0-beta' },
  { given: '1.0.0-', out: '1.0.0' },
  { given: '1.0.0+meta', out: '1.0.0+meta' },
  { given: '0.0.0', out: '0.0.0' },
  { given: '1.0.0--', out: '1.0.0--' },
  { given: '1.0.0.0', out: null },
  { given: '1.0.0-01', out: '1.0.0-01' },
  { given: '1.0.0', out: '1.0.0' },
];

/** Whether constraints allow a version. */
export const CONSTRAINT_MATCHES: readonly { readonly constraint: string; readonly version: string; readonly match: boolean }[] = [
  { constraint: '!= 1.2', version: '1.2.5', match: true },
  { constraint: '> 1', version: '1.5.0', match: true },
  { constraint: '~> 1.2.3', version: '1.3.0', match: false },
  { constraint: '>= 5, <7', version: '6.9.0', match: true },
  { constraint: '1.2', version: '1.2.0', match: true },
  { constraint: '= 1.0.0-beta1, >= 0.9', version: '1.0.0-beta1', match: true },
  { constraint: '~> 1.2.3', version: '1.2.3', match: true },
  { constraint: '>= 1.0.0-beta1', version: '1.0.0', match: true },
  { constraint: '1.2', version: '1.2.1', match: false },
  { constraint: '~> 1', version: '1.9.0', match: true },
  { constraint: '~> 0.2', version: '0.3.0', match: true },
  { constraint: '1.0.0+a', version: '1.0.0+a', match: true },
  { constraint: '>= 1.0.0-beta1', version: '1.0.0-beta1', match: false },
  { constraint: '~> 1.0.0-beta1', version: '1.0.5', match: true },
  { constraint: '!= 1.2', version: '1.2.0', match: false },
  { constraint: '1', version: '1.0.0', match: true },
  { constraint: '> 1', version: '1.0.1', match: true },
  { constraint: '!= 1.0.0', version: '1.0.0+a', match: true },
  { constraint: '< 2', version: '2.0.0-beta1', match: false },
  { constraint: '~> 1.2', version: '1.9.0', match: true },
  { constraint: '>= 1.0.0', version: '1.0.0+a', match: true },
  { constraint: '~> 1', version: '2.0.0', match: false },
  { constraint: '> 1.2', version: '1.2.1', match: true },
  { constraint: '>= 1.0', version: '1.0.0-beta1', match: false },
  { constraint: '<= 1.2', version: '1.2.0', match: true },
  { constraint: '1.0.0-beta1', version: '1.0.0-beta1', match: true },
  { constraint: '~> 1.0.0-beta1', version: '1.1.0', match: false },
];

/** Whether constraints parse, and into how many terms. */
export const CONSTRAINT_SYNTAX: readonly { readonly given: string; readonly ok: boolean; readonly terms: number | null }[] = [
  { given: '^1.0', ok: false, terms: null },
  { given: '>=1 <2', ok: false, terms: null },
  { given: 'v1.0', ok: false, terms: null },
  { given: '>=', ok: false, terms: null },
  { given: '>= v1', ok: false, terms: null },
  { given: '> =1', ok: false, terms: null },
  { given: '>=1,<2', ok: true, terms: 2 },
  { given: '1.0,', ok: true, terms: 1 },
  { given: '~1.0', ok: false, terms: null },
  { given: '1.0.0,,2.0.0', ok: false, terms: null },
  { given: '>1.0.0.0', ok: false, terms: null },
  { given: '>= 1.0 || 2.0', ok: false, terms: null },
  { given: '~>  1.0', ok: false, terms: null },
  { given: '!1.0', ok: false, terms: null },
  { given: '~>1.0', ok: true, terms: 1 },
];

/** Constraints and their canonical text, as lock files have it. */
export const CANONICAL_CONSTRAINTS: readonly { readonly given: string; readonly out: string }[] = [
  { given: '1.2.3', out: '1.2.3' },
  { given: '1.2.3+foo.bar', out: '1.2.3+foo.bar' },
  { given: '>= 3', out: '>= 3.0.0' },
  { given: '~> 3.0', out: '~> 3.0' },
  { given: '> 1.0.0, < 1.0.0, >= 1.0.0, <= 1.0.0, != 1.0.0', out: '> 1.0.0, >= 1.0.0, <= 1.0.0, < 1.0.0, != 1.0.0' },
  { given: '>= 1.2.3, 1.2.3, ~> 1.2, 1.2.3', out: '~> 1.2, >= 1.2.3, 1.2.3' },
  { given: '< 1.2.3, <= 1.2.3, != 1.2.3, 1.2.3+local.2, 1.2.3+local.1, = 1.2.4, = 1.2.3, > 2, > 1.2.3, >= 1.2.3, ~> 1.2.3, ~> 1.2', out: '~> 1.2, > 1.2.3, >= 1.2.3, 1.2.3, ~> 1.2.3, <= 1.2.3, < 1.2.3, != 1.2.3, 1.2.3+local.1, 1.2.3+local.2, 1.2.4, > 2.0.0' },
  { given: '>= 2, >= 1.2, < 1.3', out: '>= 1.2.0, < 1.3.0, >= 2.0.0' },
];

/** A platform and its parts; without them it is refused. */
export const PLATFORMS: readonly { readonly given: string; readonly os?: string; readonly arch?: string }[] = [
  { given: '' },
  { given: 'too_many_notes' },
  { given: 'extra _ whitespaces ' },
  { given: 'arbitrary_os', os: 'arbitrary', arch: 'os' },
  { given: '.tmp-linux_amd64', os: '.tmp-linux', arch: 'amd64' },
];

/** Versions from the oldest to the newest; those of one row have the same precedence. */
export const SORTED_VERSIONS: readonly (readonly string[])[] = [
  ['0.9.0'],
  ['1.0.0-1'],
  ['1.0.0-alpha'],
  ['1.0.0-beta'],
  ['1.0.0-beta1'],
  ['1.0.0-beta10'],
  ['1.0.0-beta2'],
  ['1.0.0-alpha.1'],
  ['1.0.0-alpha.beta'],
  ['1.0.0-beta.2'],
  ['1.0.0-beta.11'],
  ['1.0.0-rc.1'],
  ['1.0.0', '1.0.0+a', '1.0.0+b'],
  ['2.0.0'],
  ['10.0.0'],
];

/** What a mirror's directory holds, and the package that the clients see there; without it they skip it. */
export const PACKAGE_PATHS: readonly { readonly given: string; readonly canonical?: string }[] = [
  { given: 'registry.opentofu.org/hashicorp/null/2.0.0/darwin_amd64', canonical: 'registry.opentofu.org/hashicorp/null/2.0.0/darwin_amd64' },
  { given: 'registry.opentofu.org/hashicorp/null/2.0.0/linux_amd64', canonical: 'registry.opentofu.org/hashicorp/null/2.0.0/linux_amd64' },
  { given: 'registry.opentofu.org/hashicorp/null/2.0.0/windows_amd64', canonical: 'registry.opentofu.org/hashicorp/null/2.0.0/windows_amd64' },
  { given: 'registry.opentofu.org/hashicorp/random/1.2.0/linux_amd64', canonical: 'registry.opentofu.org/hashicorp/random/1.2.0/linux_amd64' },
  { given: 'registry.opentofu.org/hashicorp/random-beta/1.2.0/linux_amd64', canonical: 'registry.opentofu.org/hashicorp/random-beta/1.2.0/linux_amd64' },
  { given: 'registry.opentofu.org/-/legacy/1.0.0/linux_amd64', canonical: 'registry.opentofu.org/-/legacy/1.0.0/linux_amd64' },
  { given: 'tfe.example.com/AwesomeCorp/happycloud/0.1.0-alpha.2/darwin_amd64', canonical: 'tfe.example.com/awesomecorp/happycloud/0.1.0-alpha.2/darwin_amd64' },
  { given: 'registry.opentofu.org/hashicorp/null/invalid' },
  { given: 'registry.opentofu.org/hashicorp/null/invalid/linux_amd64' },
  { given: 'registry.opentofu.org/hashicorp/null/2.0.0' },
  { given: 'registry.opentofu.org/hashicorp/null/2.0.0/linux' },
  { given: 'registry.opentofu.org/hashicorp/null/2.0.0/linux_amd64.lock/x' },
  { given: 'hashicorp/null/2.0.0/linux_amd64' },
  { given: '.staging/hashicorp/null/2.0.0/linux_amd64' },
];
