/** What stands in a record, as a type and as text. Pure: files are the business of `records.ts`. */
import type { SourceDescription } from '../errors.ts';

/** The checksums were signed by a key that the registry named. */
export interface VerifiedProvenance {
  /** Tells the cases apart. */
  readonly status: 'verified';
  /** Fingerprint of the signer's primary key, upper-case hex. */
  readonly fingerprint: string;
  /** Key id of the key that made the signature, upper-case hex. */
  readonly keyId: string;
  /** The key or signature had expired when it was checked. */
  readonly expired: boolean;
  /** The signature was made before its key expired. */
  readonly signedBeforeExpiry: boolean;
}

/** They were not: the registry named no key; or nobody looked (policy `'off'`, or the caller's own hashes were the proof). */
export interface UnsignedProvenance {
  /** Tells the cases apart. */
  readonly status: 'not-offered' | 'not-checked';
}

/** How the checksums of a package were signed, as far as that was looked into. */
export type SignatureProvenance = VerifiedProvenance | UnsignedProvenance;

/** What was, and what was not verified when a package came into the cache. */
export interface Provenance {
  /** What proved the content: the source's own zip, its unpacked directory, or hashes that a caller expected (a dependency lock file). */
  readonly provedBy: 'archive' | 'directory' | 'expected-hashes';
  /** Where it came from; `undefined` where a caller's hashes proved what somebody else had put there. */
  readonly source: SourceDescription | undefined;
  /** Where the zip was downloaded from, without user, password, query and fragment. */
  readonly url: string | undefined;
  /** Size of the zip in bytes. */
  readonly archiveBytes: number | undefined;
  /** `'sums'`: the zip's SHA-256 stands in the SHA256SUMS document (see `signature` for whether that is signed); `'registry'`: only in the registry's answer; `'mirror'`: a hash of it stands in the mirror's answer. */
  readonly checksum: 'sums' | 'registry' | 'mirror' | 'not-checked';
  /** How that document was signed. */
  readonly signature: SignatureProvenance;
  /** When, by the clock of the host that did it (ISO 8601): to show, not to compute with. */
  readonly installedAt: string;
}

/** How large an unpacked package is. */
export interface UnpackedSize {
  readonly files: number;
  readonly bytes: number;
}

/** The content of a record. */
export interface EntryRecord {
  /** The entry's path below `providers/`. */
  readonly package: string;
  /** `h1:` of the unpacked files. */
  readonly h1: string;
  /** `zh:` of the zip, where it was seen. */
  readonly zh: string | undefined;
  /** All that a dependency lock file should hold for this version; not in records of older releases. */
  readonly lockHashes?: readonly string[] | undefined;
  /** Sizes of the unpacked package, where it was unpacked here. */
  readonly unpacked: UnpackedSize | undefined;
  /** The plugin executable: its name in the package, and what it looks like from outside. */
  readonly executable: { readonly name: string; readonly bytes: bigint; readonly mtimeNs: bigint };
  readonly provenance: Provenance;
}

const RECORD_FORMAT = 1;

/** The record as it stands in its file. */
export function serializeRecord(record: EntryRecord): string {
  const decimal = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);
  return `${JSON.stringify({ format: RECORD_FORMAT, ...record }, decimal, 2)}\n`;
}

/** A record that a crash cut short, or that someone edited, is as good as none: `undefined`. */
export function parseRecord(text: string): EntryRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || value['format'] !== RECORD_FORMAT) return undefined;
  const { package: packagePath, h1, zh, lockHashes, unpacked, executable, provenance } = value;
  if (typeof packagePath !== 'string' || typeof h1 !== 'string' || !h1.startsWith('h1:')) return undefined;
  if (zh !== undefined && typeof zh !== 'string') return undefined;
  if (unpacked !== undefined && !isUnpackedSize(unpacked)) return undefined;
  if (!isObject(executable) || !isFileName(executable['name']) || !isDecimal(executable['bytes']) || !isDecimal(executable['mtimeNs'])) return undefined;
  const known = parseProvenance(provenance);
  if (known === undefined) return undefined;
  return {
    package: packagePath,
    h1,
    zh,
    lockHashes: isTexts(lockHashes) ? lockHashes : undefined,
    unpacked,
    executable: { name: executable['name'], bytes: BigInt(executable['bytes']), mtimeNs: BigInt(executable['mtimeNs']) },
    provenance: known,
  };
}

function parseProvenance(value: unknown): Provenance | undefined {
  if (!isObject(value)) return undefined;
  const { provedBy, source, url, archiveBytes, checksum, signature, installedAt } = value;
  if (provedBy !== 'archive' && provedBy !== 'directory' && provedBy !== 'expected-hashes') return undefined;
  if (checksum !== 'sums' && checksum !== 'registry' && checksum !== 'mirror' && checksum !== 'not-checked') return undefined;
  const known = parseSignature(signature);
  const from = parseSource(source, provedBy);
  if (url !== undefined && typeof url !== 'string') return undefined;
  if (archiveBytes !== undefined && typeof archiveBytes !== 'number') return undefined;
  if (typeof installedAt !== 'string') return undefined;
  if (known === undefined || from === 'malformed') return undefined;
  return { provedBy, source: from, url, archiveBytes, checksum, signature: known, installedAt };
}

const SOURCE_TYPES: readonly unknown[] = ['direct', 'network_mirror', 'filesystem_mirror', 'oci_mirror'] satisfies SourceDescription['type'][];

function parseSource(value: unknown, provedBy: Provenance['provedBy']): SourceDescription | undefined | 'malformed' {
  // Before there were mirrors, every zip came from its registry.
  if (value === undefined) return provedBy === 'archive' ? { type: 'direct', location: undefined } : undefined;
  if (!isObject(value)) return 'malformed';
  const { type, location } = value;
  return isSourceType(type) && (location === undefined || typeof location === 'string') ? { type, location } : 'malformed';
}

function isSourceType(value: unknown): value is SourceDescription['type'] {
  return SOURCE_TYPES.includes(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function parseSignature(value: unknown): SignatureProvenance | undefined {
  if (!isObject(value)) return undefined;
  const { status, fingerprint, keyId, expired, signedBeforeExpiry } = value;
  if (status === 'not-offered' || status === 'not-checked') return { status };
  if (status !== 'verified' || typeof fingerprint !== 'string' || typeof keyId !== 'string') return undefined;
  if (typeof expired !== 'boolean' || typeof signedBeforeExpiry !== 'boolean') return undefined;
  return { status, fingerprint, keyId, expired, signedBeforeExpiry };
}

function isUnpackedSize(value: unknown): value is UnpackedSize {
  return isObject(value) && typeof value['files'] === 'number' && typeof value['bytes'] === 'number';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The executable lies at the top of its package: a record that leads elsewhere was not written here. */
function isFileName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value !== '.' && value !== '..' && !/[/\\\0]/u.test(value) && Buffer.byteLength(value) <= 255;
}

function isDecimal(value: unknown): value is string {
  return typeof value === 'string' && /^-?\d+$/u.test(value);
}
