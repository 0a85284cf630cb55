/** The two documents of the provider network mirror protocol. Pure: fetches nothing, and verifies nothing. */
import { logger } from '../../diagnostics.ts';
import { InvalidVersionError } from '../../errors.ts';
import { compareVersions, parseVersion, type Platform, type Version } from '../../layout/index.ts';
import { field, fields, invalid, quoted, requiredText, texts, type JsonValue } from '../json-guards.ts';
import { resolveUrl } from '../resolve-url.ts';
import type { VersionList } from '../version-list.ts';

const log = logger('registry');

/** What a version document says of one platform's package. */
export interface MirrorArchive {
  /** Where the zip is; absolute, http or https. Its query may hold a secret. */
  readonly url: string;
  /** Its hashes, as sent; may be empty. */
  readonly hashes: readonly string[];
  /** The hashes of all platforms' packages, as sent. */
  readonly allHashes: readonly string[];
}

/** The schemes that can be checked here, as `NewPackageHashAuthentication` of the reference has them. */
const SUPPORTED = /^(?:h1|zh):./u;

/**
 * Reads `index.json`. A version that does not parse is logged and left out, as the reference does.
 * @throws RegistryResponseError - a field is of the wrong type
 */
export function parseMirrorIndex(document: JsonValue): VersionList {
  const versions = new Map<string, Version>();
  for (const [name] of fields(field(document, 'versions'))) {
    try {
      const version = parseVersion(name);
      versions.set(String(version), version);
    } catch (error) {
      if (!(error instanceof InvalidVersionError)) throw error;
      log('%s lists the version %s, which is left out: it is not well-formed', document.url, quoted(name));
    }
  }
  return { versions: [...versions.values()].sort(compareVersions).map((version) => ({ version, protocols: [] })), warnings: [] };
}

/**
 * Reads `VERSION.json`; `undefined` when the platform is not in it. `base` is the URL that answered last: the base of relative ones.
 * @throws RegistryResponseError - a field is missing or wrong, or there are hashes and none of a scheme that can be checked
 */
export function parseMirrorVersion(document: JsonValue, platform: Platform, base: string): MirrorArchive | undefined {
  const archives = fields(field(document, 'archives'));
  const own = archives.find(([name]) => name === String(platform))?.[1];
  if (own === undefined) return undefined;
  const location = field(own, 'url');
  const { url, problem } = resolveUrl(requiredText(location), base);
  if (url === undefined) throw invalid(location, problem);
  const hashes = parseHashes(own);
  if (hashes.length > 0 && !hashes.some((hash) => SUPPORTED.test(hash))) {
    throw invalid(field(own, 'hashes'), `none of the ${hashes.length} is an h1: or zh: hash, so nothing can be checked`);
  }
  return { url: url.href, hashes, allHashes: archives.flatMap(([, archive]) => texts(field(archive, 'hashes'))).filter((hash) => SUPPORTED.test(hash)) };
}

function parseHashes(archive: JsonValue): string[] {
  const node = field(archive, 'hashes');
  const hashes = texts(node);
  const bad = hashes.find((hash) => hash.indexOf(':') < 1);
  if (bad !== undefined) throw invalid(node, `${quoted(bad)} is not a hash with a scheme`);
  return hashes;
}
