/** What a dependency lock file says, and what can be said to one. Types only. */
import type { Constraints, ProviderAddress, Version } from '../layout/index.ts';

/** A provider of a dependency lock file. */
export interface LockedProvider {
  /** Its full address. */
  readonly address: ProviderAddress;
  /** The one version that is allowed. */
  readonly version: Version;
  /** Those of the configuration when the version was chosen; `undefined` where the file has none. They decide nothing. */
  readonly constraints: Constraints | undefined;
  /** With their schemes (`h1:…`, `zh:…`), each once, in the order of their bytes; empty where the file has none. */
  readonly hashes: readonly string[];
}

/** The content of a dependency lock file, at the moment when it was read. */
export interface DependencyLocks {
  /** As it was given. */
  readonly path: string;
  /** By their full addresses (`String(address)`), in the order of the file. */
  readonly providers: ReadonlyMap<string, LockedProvider>;
}

/** What a lock file is to say about one provider. */
export interface LockedProviderChange {
  /** Text must be the full address, with its host: the clients have different default hosts. */
  readonly address: ProviderAddress | string;
  /** One exact version. */
  readonly version: Version | string;
  /** Left out: those that are there stay. Empty: the file has none afterwards. */
  readonly constraints?: Constraints | string | undefined;
  /** With their schemes. Hashes that are there for the same version stay, too. */
  readonly hashes: readonly string[];
}

/** What an update has done. */
export interface DependencyLocksUpdate {
  /** Whether the file was written. `false`: it says all of this already, and was not touched. */
  readonly changed: boolean;
}
