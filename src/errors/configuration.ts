/** What the files that people and clients write do not say as they must. */
import { because, RwxCacheError, type CausedBy } from './base.ts';

/** A configuration or lock file that is no HCL of the kind that is read here. */
export class HclSyntaxError extends RwxCacheError {
  readonly code = 'ERR_HCL_SYNTAX';
  /** The file. */
  readonly path: string;
  /** From 1. */
  readonly line: number;
  /** In characters, from 1. */
  readonly column: number;
  /** What stands there, in words; never text of the file, which may be a secret. */
  readonly found: string;
  /** What should stand there, in words. */
  readonly expected: string;

  constructor(data: { readonly path: string; readonly line: number; readonly column: number; readonly found: string; readonly expected: string }) {
    super(`${data.path}:${data.line}:${data.column}: found ${data.found}, expected ${data.expected}`);
    this.path = data.path;
    this.line = data.line;
    this.column = data.column;
    this.found = data.found;
    this.expected = data.expected;
  }
}

/** A dependency lock file that the clients refuse as well, or whose content cannot be kept. */
export class DependencyLocksError extends RwxCacheError {
  readonly code = 'ERR_DEPENDENCY_LOCKS';
  /** The lock file. */
  readonly path: string;
  /** From 1; `undefined` where the file as a whole is at fault. */
  readonly line: number | undefined;
  /** In characters, from 1. */
  readonly column: number | undefined;
  /** What is wrong with it, in words. */
  readonly problem: string;

  constructor(data: { readonly path: string; readonly line?: number | undefined; readonly column?: number | undefined; readonly problem: string } & CausedBy) {
    const place = data.line === undefined ? data.path : `${data.path}:${data.line}:${data.column ?? 1}`;
    super(`${place}: ${data.problem}`, because(data));
    this.path = data.path;
    this.line = data.line;
    this.column = data.column;
    this.problem = data.problem;
  }
}
