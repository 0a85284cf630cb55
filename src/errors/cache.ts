/** What a cache cannot do. */
import { because, RwxCacheError } from './base.ts';

/** An entry stands in the cache that is not the package it should be, and `onConflict: 'error'` was asked for. */
export class EntryConflictError extends RwxCacheError {
  readonly code = 'ERR_ENTRY_CONFLICT';
  /** The entry's path. */
  readonly path: string;
  /** The hash that the package has. */
  readonly expected: string;
  /** The hash of what stands there, or what is wrong with it. */
  readonly actual: string;

  constructor(path: string, expected: string, actual: string) {
    super(`${path} is not the package that it should be: it has ${actual}, the package has ${expected}; open the cache with onConflict: 'repair', or move it aside`);
    this.path = path;
    this.expected = expected;
    this.actual = actual;
  }
}

/** A package without its plugin executable. */
export class ExecutableMissingError extends RwxCacheError {
  readonly code = 'ERR_EXECUTABLE_MISSING';
  /** The package, or its path. */
  readonly subject: string;

  constructor(subject: string, executable: string) {
    super(`${subject} holds no executable that starts with ${executable}; the release is broken, tell its authors`);
    this.subject = subject;
  }
}

/** The directory was written by another format of this library. */
export class CacheFormatError extends RwxCacheError {
  readonly code = 'ERR_CACHE_FORMAT';
  /** The cache's directory. */
  readonly directory: string;
  /** The format that was found. */
  readonly found: string;

  constructor(directory: string, found: string, supported: string) {
    super(`${directory} has the state format ${JSON.stringify(found)}, this version reads ${supported}; use another directory, or the version that made it`);
    this.directory = directory;
    this.found = found;
  }
}

/** The cache was closed. */
export class CacheClosedError extends RwxCacheError {
  readonly code = 'ERR_CACHE_CLOSED';
  /** The cache's directory. */
  readonly directory: string;

  constructor(directory: string) {
    super(`The cache in ${directory} was closed; open it again`);
    this.directory = directory;
  }
}

/** A package would have to be installed, and the cache was opened `readOnly`. */
export class ReadOnlyError extends RwxCacheError {
  readonly code = 'ERR_READ_ONLY';
  /** What is missing. */
  readonly missing: string;

  constructor(missing: string) {
    super(`${missing} would have to be written, and the cache was opened readOnly; fill it from a process that may write`);
    this.missing = missing;
  }
}

/** A package was to be pinned, and is not in the cache any more. */
export class PackageMissingError extends RwxCacheError {
  readonly code = 'ERR_PACKAGE_MISSING';
  /** The package's path below the providers directory. */
  readonly package: string;

  constructor(packagePath: string) {
    super(`${packagePath} is not in the cache any more, or is another package by now; ensure it again, with pin: true`);
    this.package = packagePath;
  }
}

/** One request of an `ensureAll` that failed. */
export interface EnsureFailure {
  /** Where it stood in the list, from 0; of equal requests the first. */
  readonly index: number;
  /** What was asked for, in words: `registry.example.com/acme/thing 1.2.3 linux_amd64`. */
  readonly request: string;
  /** Why it failed: an error of this library, unless a listener or the machine itself is at fault. */
  readonly error: Error;
}

/** How many failures a message tells of; all of them are in the error. */
const TOLD_FAILURES = 10;

/**
 * Some packages of an `ensureAll` or `ensureLockFile` could not be had. It is thrown when all others have ended: what succeeded is in the cache, and
 * asking again finds it there.
 *
 * @typeParam Package - what the cache hands out; `ProviderPackage` of `rwx-cache`.
 */
export class EnsureAllError<Package = unknown> extends RwxCacheError {
  readonly code = 'ERR_ENSURE_ALL';
  /** The errors, in the order of their requests (as in an `AggregateError`). */
  readonly errors: readonly Error[];
  /** The same, with the request that each belongs to. */
  readonly failures: readonly EnsureFailure[];
  /** What was had, at the index of its request; `undefined` where that failed. Nothing here is pinned. */
  readonly packages: readonly (Package | undefined)[];

  constructor(failures: readonly EnsureFailure[], packages: readonly (Package | undefined)[]) {
    const told = failures.slice(0, TOLD_FAILURES).map(({ request, error }) => `\n- ${request}: ${error.message}`);
    const more = failures.length > told.length ? `\n- and ${failures.length - told.length} more` : '';
    super(`${failures.length} of ${packages.length} packages could not be had; the others are in the cache:${told.join('')}${more}`, because({ cause: failures[0]?.error }));
    this.failures = failures;
    this.errors = failures.map(({ error }) => error);
    this.packages = packages;
  }
}
