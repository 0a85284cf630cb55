/** What callers ask for, checked and put together with what a lock file says already. Pure. */
import { InvalidOptionError, RwxCacheError } from '../errors.ts';
import { parseConstraints, parseProviderAddress, parseVersion, type Constraints, type ProviderAddress } from '../layout/index.ts';
import { sortedHashes, whyNotLockable, type ParsedLocks } from './dependency-locks-parse.ts';
import type { LockedProvider, LockedProviderChange } from './dependency-locks-types.ts';
import { parseHash } from './package-hash.ts';

/**
 * The providers that are named, each as the file is to have it.
 * @throws InvalidOptionError - a change that no lock file can hold, or two versions of one provider
 */
export function afterChanges({ blocks }: ParsedLocks, changes: readonly LockedProviderChange[]): LockedProvider[] {
  const present = new Map(blocks.map(({ locked }) => [String(locked.address), locked]));
  const wanted = new Map<string, LockedProvider>();
  for (const change of changes) {
    const address = addressOf(change.address);
    const key = String(address);
    const earlier = wanted.get(key);
    const next = afterChange(earlier ?? present.get(key), address, change);
    if (earlier !== undefined && String(earlier.version) !== String(next.version)) throw new InvalidOptionError('change', `it answers with two versions of ${key}: ${String(earlier.version)} and ${String(next.version)}`);
    wanted.set(key, next);
  }
  return [...wanted.values()];
}

function afterChange(there: LockedProvider | undefined, address: ProviderAddress, change: LockedProviderChange): LockedProvider {
  const version = given(`the version of ${String(address)}`, () => parseVersion(String(change.version)));
  const isSame = String(there?.version) === String(version);
  for (const hash of change.hashes) given(`a hash of ${String(address)}`, () => parseHash(hash));
  return {
    address,
    version,
    constraints: change.constraints === undefined ? there?.constraints : constraintsOf(address, change.constraints),
    hashes: sortedHashes([...(isSame ? (there?.hashes ?? []) : []), ...change.hashes.map((hash) => hash.normalize('NFC'))]),
  };
}

function addressOf(text: ProviderAddress | string): ProviderAddress {
  const source = String(text);
  if (source.split('/').length !== 3) throw new InvalidOptionError('change', `the address ${JSON.stringify(source)} must be written in full, "host/namespace/type"`);
  const address = given('a provider address', () => parseProviderAddress(source));
  const problem = whyNotLockable(address);
  if (problem !== undefined) throw new InvalidOptionError('change', problem);
  return address;
}

function constraintsOf(address: ProviderAddress, text: Constraints | string): Constraints | undefined {
  const constraints = given(`what is to be said of the constraints of ${String(address)}`, () => parseConstraints(String(text)));
  return String(constraints) === '' ? undefined : constraints;
}

function given<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof RwxCacheError) throw new InvalidOptionError('change', `${what} is not valid: ${error.message}`);
    throw error;
  }
}
