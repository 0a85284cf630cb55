/** What a cache cannot do. */
import { RwxCacheError } from './base.ts';

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
