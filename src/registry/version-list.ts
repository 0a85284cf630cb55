/** The answer to a request for all versions of a provider (provider registry protocol v1, `…/versions`). Pure. */
import { logger } from '../diagnostics.ts';
import { InvalidVersionError } from '../errors.ts';
import { compareVersions, parseVersion, type Version } from '../layout/index.ts';
import { elements, field, quoted, requiredText, texts, type JsonValue } from './json-guards.ts';
import { supportsProtocol } from './package-metadata.ts';

const log = logger('registry');

/** One version that the registry offers. */
export interface AvailableVersion {
  /** The version. */
  readonly version: Version;
  /** The plugin protocols that it speaks, as sent; may be empty. */
  readonly protocols: readonly string[];
}

/** All versions of a provider. */
export interface VersionList {
  /** Sorted by precedence, lowest first, without duplicates; may be empty. */
  readonly versions: readonly AvailableVersion[];
  /** What the registry wants people to read, as sent. */
  readonly warnings: readonly string[];
  /** `true`: it is kept from an earlier answer, and the registry has not been asked for it now. */
  readonly kept?: boolean | undefined;
}

/**
 * Reads the answer. A version that does not parse is logged and left out, as recent Terraform does: one bad release must
 * not hide all others (OpenTofu fails the whole query).
 * @throws RegistryResponseError - a field is missing or of the wrong type
 */
export function parseVersionList(document: JsonValue): VersionList {
  const versions = new Map<string, AvailableVersion>();
  for (const node of elements(field(document, 'versions'))) {
    const text = requiredText(field(node, 'version'));
    const version = tryParseVersion(text);
    if (version === undefined) log('%s lists the version %s, which is left out: it is not well-formed', document.url, quoted(text));
    else versions.set(String(version), { version, protocols: texts(field(node, 'protocols')) });
  }
  return {
    versions: [...versions.values()].sort((a, b) => compareVersions(a.version, b.version)),
    warnings: texts(field(document, 'warnings')),
  };
}

/** The newest version of which the clients speak a protocol: what to offer instead of one that they do not. */
export function closestUsable(list: VersionList): Version | undefined {
  return list.versions.findLast(({ protocols }) =>
    protocols.some((text) => {
      const protocol = tryParseVersion(text);
      return protocol !== undefined && supportsProtocol(protocol);
    }),
  )?.version;
}

function tryParseVersion(text: string): Version | undefined {
  try {
    return parseVersion(text);
  } catch (error) {
    if (error instanceof InvalidVersionError) return undefined;
    throw error;
  }
}
