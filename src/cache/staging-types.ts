/** What the steps of a package through private staging take and give. Types only. */
import type { ArchiveLimits, ExtractedFile } from '../archive/index.ts';
import type { PartialStore } from '../http/index.ts';
import type { RegistryClient } from '../registry/index.ts';
import type { PackageSources } from '../registry/sources/multi-source.ts';
import type { SignatureThread } from '../verify/signature-thread.ts';
import type { ProgressListener } from './progress.ts';
import type { EntryRecord, Provenance } from './record-format.ts';
import type { VerificationRules } from './verification-policy.ts';

/** What a package is fetched with. */
export interface StageOptions {
  readonly registry: RegistryClient;
  /** Where it may come from. */
  readonly sources: PackageSources;
  readonly rules: VerificationRules;
  readonly expectedHashes: readonly string[];
  readonly limits: ArchiveLimits | undefined;
  /** The thread that checks signatures; started with the first call. */
  readonly signatures: () => SignatureThread;
  /** Downloads that earlier processes left. */
  readonly partials: PartialStore | undefined;
  readonly signal: AbortSignal;
  readonly report: ProgressListener;
}

/** Where in staging a package is put together. */
export interface StagingPaths {
  /** The zip; it does not exist yet. */
  readonly zip: string;
  /** The unpacked tree; neither does it. */
  readonly directory: string;
}

/** A package that lies unpacked in staging, and what was verified of it. */
export interface UnpackedPackage {
  readonly files: readonly ExtractedFile[];
  /** `zh:` of its zip, where there was one. */
  readonly zh: EntryRecord['zh'];
  readonly provenance: Omit<Provenance, 'installedAt' | 'source'>;
  /** Hashes that a lock file may hold beside those of the package itself. */
  readonly otherHashes: readonly string[];
}
