/**
 * The text of a dependency lock file, read as strictly as the reference reads it (`internal/depsfile/locks_file.go`
 * `decodeLocksFromHCL`): what it refuses is refused here, at the same place. Pure.
 */
import { DependencyLocksError, RwxCacheError } from '../errors.ts';
import { parseHcl, type HclAttribute, type HclBlock, type HclFile, type HclLiteral, type SourceRange } from '../hcl/index.ts';
import { isBuiltInProvider, parseConstraints, parseProviderAddress, parseVersion, type Constraints, type ProviderAddress, type Version } from '../layout/index.ts';
import type { LockedProvider } from './dependency-locks-types.ts';
import { parseHash } from './package-hash.ts';

/** A provider, and where the file says so. */
export interface LockedBlock {
  readonly locked: LockedProvider;
  readonly block: HclBlock;
}

/** A lock file, and where everything stands in it. */
export interface ParsedLocks {
  readonly text: string;
  readonly file: HclFile;
  /** In the order of the file. */
  readonly blocks: readonly LockedBlock[];
}

/**
 * Reads the text of a lock file. Blocks of the type `module`, which the reference passes over with a warning, are passed over.
 *
 * @throws HclSyntaxError - it is no literal HCL
 * @throws DependencyLocksError - it is, and no lock file
 */
export function parseLocks(text: string, path: string): ParsedLocks {
  const file = parseHcl(text, { subject: path, dialect: 'hcl2' });
  const seen = new Map<string, HclBlock>();
  const blocks: LockedBlock[] = [];
  for (const item of file.items) {
    if (item.kind === 'attribute') throw failure(path, item.nameRange, `an argument "${item.name}" is not expected here; a lock file has provider blocks only`);
    if (item.type !== 'provider' && item.type !== 'module') throw failure(path, item.headerRange, `blocks of the type "${item.type}" are not supported; a lock file has provider blocks only`);
    if (item.labels.length !== 1) throw failure(path, item.headerRange, `a ${item.type} block has one label, not ${item.labels.length}`);
    if (item.type === 'module') continue;
    const locked = readProvider(path, item);
    const before = seen.get(String(locked.address));
    if (before !== undefined) throw failure(path, item.headerRange, `${String(locked.address)} is locked a second time, after line ${before.range.start.line}; remove one of the blocks`);
    seen.set(String(locked.address), item);
    blocks.push({ locked, block: item });
  }
  return { text, file, blocks };
}

/** Each hash once, in the order of their bytes, as the reference has them. */
export function sortedHashes(hashes: Iterable<string>): string[] {
  return [...new Set(hashes)].sort(compareBytes);
}

/** Orders texts by their UTF-8 bytes, as Go does; JavaScript's own order differs above U+FFFF. */
export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Why a provider has no place in a lock file; `undefined` where it has one. */
export function whyNotLockable(address: ProviderAddress): string | undefined {
  if (isBuiltInProvider(address)) return `${String(address)} is built into the client, and cannot be locked`;
  return address.namespace === '-' ? `${String(address)} has the legacy namespace "-", and cannot be locked` : undefined;
}

function readProvider(path: string, block: HclBlock): LockedProvider {
  const attributes = new Map<string, HclAttribute>();
  for (const item of block.body.items) {
    if (item.kind === 'block') throw failure(path, item.headerRange, `blocks of the type "${item.type}" are not expected in a provider block`);
    if (!['version', 'constraints', 'hashes'].includes(item.name)) throw failure(path, item.nameRange, `an argument "${item.name}" is not expected here; a provider block has version, constraints and hashes`);
    attributes.set(item.name, item);
  }
  const address = readAddress(path, block);
  return {
    address,
    version: readVersion(path, block, attributes.get('version')),
    constraints: readConstraints(path, attributes.get('constraints')),
    hashes: readHashes(path, attributes.get('hashes')),
  };
}

function readAddress(path: string, block: HclBlock): ProviderAddress {
  const raw = block.labels[0] ?? '';
  const range = block.labelRanges[0] ?? block.headerRange;
  const address = understood(path, range, () => parseProviderAddress(raw), 'a provider address is written in full, "host/namespace/type"');
  const problem = whyNotLockable(address);
  if (problem !== undefined) throw failure(path, range, problem);
  if (String(address) !== raw) {
    const advice = raw.split('/').length === 3 ? `as ${JSON.stringify(String(address))}` : 'in full, "host/namespace/type"';
    throw failure(path, range, `the provider address ${JSON.stringify(raw)} is not in normalized form; write it ${advice}`);
  }
  return address;
}

function readVersion(path: string, block: HclBlock, attribute: HclAttribute | undefined): Version {
  if (attribute === undefined || attribute.value === null) throw failure(path, attribute?.valueRange ?? block.headerRange, 'a provider block must have the argument "version"');
  const raw = readString(path, attribute.valueRange, attribute.value, 'the version');
  const version = understood(path, attribute.valueRange, () => parseVersion(raw), 'the version is not valid');
  if (String(version) !== raw) throw failure(path, attribute.valueRange, `the version ${JSON.stringify(raw)} is not in normalized form; write it as "${String(version)}"`);
  return version;
}

function readConstraints(path: string, attribute: HclAttribute | undefined): Constraints | undefined {
  if (attribute === undefined) return undefined;
  const raw = readString(path, attribute.valueRange, attribute.value, 'what "constraints" says');
  const constraints = understood(path, attribute.valueRange, () => parseConstraints(raw), 'the constraints are not valid');
  if (String(constraints) !== raw) throw failure(path, attribute.valueRange, `the constraints ${JSON.stringify(raw)} are not in normalized form; write them as "${String(constraints)}"`);
  return raw === '' ? undefined : constraints;
}

function readHashes(path: string, attribute: HclAttribute | undefined): string[] {
  if (attribute === undefined) return [];
  const { value, valueRange, elementRanges } = attribute;
  if (!isList(value)) throw failure(path, valueRange, '"hashes" must be a list of strings');
  if (value.length === 0) throw failure(path, valueRange, '"hashes" must have at least one hash, or be left out');
  const hashes = value.map((element, index) => {
    const range = elementRanges[index] ?? valueRange;
    const raw = readString(path, range, element, 'a hash');
    understood(path, range, () => parseHash(raw), 'this is no provider hash');
    return raw;
  });
  return sortedHashes(hashes);
}

function isList(value: HclLiteral): value is readonly HclLiteral[] {
  return Array.isArray(value);
}

function readString(path: string, range: SourceRange, value: HclLiteral, what: string): string {
  if (typeof value !== 'string') throw failure(path, range, `${what} must be a quoted string`);
  return value;
}

/** What `read` gives, or the complaint with the place in the file before it. */
function understood<T>(path: string, range: SourceRange, read: () => T, problem: string): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof RwxCacheError) throw failure(path, range, `${problem}: ${error.message}`, error);
    throw error;
  }
}

function failure(path: string, { start }: SourceRange, problem: string, cause?: unknown): DependencyLocksError {
  return new DependencyLocksError({ path, line: start.line, column: start.column, problem, cause });
}
