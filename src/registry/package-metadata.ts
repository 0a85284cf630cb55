/**
 * The answer to a request for one package (provider registry protocol v1, `…/VERSION/download/OS/ARCH`): its shape,
 * and the checks of the reference clients in their order. Pure: fetches nothing.
 */
import { InvalidVersionError } from '../errors.ts';
import { parseVersion, type Platform, type ProviderAddress, type Version } from '../layout/index.ts';
import { elements, field, fields, invalid, number, quoted, requiredText, text, texts, type JsonValue } from './json-guards.ts';
import { resolveUrl } from './resolve-url.ts';

/** A public key that the registry names as the signer of the checksums. */
export interface SigningKey {
  /** The key id, as the registry writes it (usually 16 upper-case hex digits). A label: trust only the key itself. */
  readonly keyId: string;
  /** The public key, ASCII-armored. */
  readonly asciiArmor: string;
  /** HashiCorp's signature over the key, ASCII-armored; `''` when there is none. */
  readonly trustSignature: string;
  /** Whose key it is said to be; `''` when the registry does not say. */
  readonly source: string;
  /** Where to read more; `''` when the registry does not say. */
  readonly sourceUrl: string;
}

/** What the registry says of one platform's package beside the signed checksums (OpenTofu's registry, since 1.12). */
export interface PlatformHashes {
  /** Hashes with their schemes, as sent. */
  readonly hashes: readonly string[];
  /** The size of the zip in bytes. */
  readonly size: number;
}

/** Where one package is, and what it must be. Nothing of it is verified yet, beyond its own consistency. */
export interface PackageMetadata {
  /** The provider. */
  readonly address: ProviderAddress;
  /** The version asked for. */
  readonly version: Version;
  /** The platform asked for; the registry echoed it. */
  readonly platform: Platform;
  /** Where this came from, after redirects; without secrets, for messages. */
  readonly metadataUrl: string;
  /** The plugin protocols that the package speaks, as sent; may be empty. */
  readonly protocols: readonly string[];
  /** The name of the zip in the checksums document. Data of a stranger: never use it as a path. */
  readonly filename: string;
  /** Where the zip is; absolute, http or https. Its query may hold a secret: show it through `redactUrl` only. */
  readonly downloadUrl: string;
  /** SHA-256 of the zip, 64 lower-case hex digits. */
  readonly shasum: string;
  /** Where the SHA256SUMS document is; absolute. Its query may hold a secret. */
  readonly checksumsUrl: string;
  /** Where its detached signature is; absolute. `undefined` when the registry names none. Its query may hold a secret. */
  readonly signatureUrl: string | undefined;
  /** The keys of which one must have signed the checksums, in the registry's order. */
  readonly signingKeys: readonly SigningKey[];
  /** By `os_arch`, where the registry says more of all packages of this version. */
  readonly packages: ReadonlyMap<string, PlatformHashes> | undefined;
}

/** What was asked for. */
export interface PackageRequest {
  readonly address: ProviderAddress;
  readonly version: Version;
  readonly platform: Platform;
}

/**
 * Reads the protocols, the first of the checks: the caller has to look for another version when none of them will do.
 * @throws RegistryResponseError - a protocol is no version
 */
export function parseProtocols(document: JsonValue): { readonly protocols: readonly string[]; readonly supported: boolean } {
  const nodes = elements(field(document, 'protocols'));
  const supported = nodes.map((node) => {
    try {
      return supportsProtocol(parseVersion(text(node)));
    } catch (cause) {
      if (!(cause instanceof InvalidVersionError)) throw cause;
      throw invalid(node, `${quoted(text(node))} is not a version`, cause);
    }
  });
  return { protocols: nodes.map(text), supported: nodes.length === 0 || supported.includes(true) };
}

/**
 * Reads the rest of the answer, with the checks of the reference clients in their order. `metadataUrl` is the URL that
 * answered last: the base of relative URLs.
 *
 * A zip over plain http is taken as the reference takes it, even from metadata that came over https: the digest and the
 * signature decide what is installed, not the way that the bytes came.
 * @throws RegistryResponseError - a field is missing or wrong
 */
export function parsePackageMetadata(document: JsonValue, request: PackageRequest, metadataUrl: string): PackageMetadata {
  const { address, version, platform } = request;
  const { protocols } = parseProtocols(document);
  for (const name of ['os', 'arch'] as const) {
    const node = field(document, name);
    if (text(node) !== platform[name]) throw invalid(node, `${quoted(text(node))} stands there, and ${quoted(platform[name])} was asked for`);
  }
  const downloadUrl = absolute(field(document, 'download_url'), metadataUrl);
  const checksumsUrl = absolute(field(document, 'shasums_url'), metadataUrl);
  const signature = field(document, 'shasums_signature_url');
  // The reference resolves a missing one to the metadata's own URL, and then finds no signature there.
  const signatureUrl = text(signature) === '' ? undefined : absolute(signature, metadataUrl);
  const shasum = parseShasum(field(document, 'shasum'));
  return {
    address,
    version,
    platform,
    metadataUrl: document.url,
    protocols,
    filename: requiredText(field(document, 'filename')),
    downloadUrl,
    shasum,
    checksumsUrl,
    signatureUrl,
    signingKeys: parseSigningKeys(field(document, 'signing_keys')),
    packages: parsePackages(field(document, 'packages')),
  };
}

/** Whether the clients speak a plugin protocol: `>= 5, < 7`. */
export function supportsProtocol(protocol: Version): boolean {
  return (protocol.major === 5n || protocol.major === 6n) && protocol.prerelease === '';
}

function absolute(node: JsonValue, base: string): string {
  const { url, problem } = resolveUrl(requiredText(node), base);
  if (url === undefined) throw invalid(node, problem);
  return url.href;
}

function parseShasum(node: JsonValue): string {
  const shasum = requiredText(node);
  if (!/^[0-9a-fA-F]{64}$/u.test(shasum)) throw invalid(node, `64 hex digits are expected, and ${shasum.length} characters stand there`);
  return shasum.toLowerCase();
}

function parseSigningKeys(node: JsonValue): SigningKey[] {
  return elements(field(node, 'gpg_public_keys')).map((key) => ({
    keyId: text(field(key, 'key_id')),
    asciiArmor: text(field(key, 'ascii_armor')),
    trustSignature: text(field(key, 'trust_signature')),
    source: text(field(key, 'source')),
    sourceUrl: text(field(key, 'source_url')),
  }));
}

function parsePackages(node: JsonValue): ReadonlyMap<string, PlatformHashes> | undefined {
  const packages = new Map(fields(node).map(([platform, one]) => [platform, { hashes: texts(field(one, 'hashes')), size: number(field(one, 'package_size')) }]));
  return packages.size === 0 ? undefined : packages;
}
