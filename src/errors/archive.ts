/** Archives that are damaged, or refused for what they would do. */
import { because, RwxCacheError } from './base.ts';

/** The file is no archive of its kind, or a damaged one. */
export class InvalidArchiveError extends RwxCacheError {
  readonly code = 'ERR_ARCHIVE_INVALID';
  /** The archive. */
  readonly archive: string;
  /** The entry at fault, where it is one. */
  readonly entry: string | undefined;
  /** What is wrong with it, in words. */
  readonly problem: string;

  constructor(archive: string, problem: string, entry?: string, cause?: unknown) {
    super(`${archive} is not a good archive${entry === undefined ? '' : ` (entry ${JSON.stringify(entry)})`}: ${problem}`, because({ cause }));
    this.archive = archive;
    this.entry = entry;
    this.problem = problem;
  }
}

/** Which rule an archive broke. */
export type ArchiveRule = 'name' | 'type' | 'duplicate' | 'overlap' | 'header' | 'encrypted' | 'entries' | 'bytes' | 'ratio';

/** An archive that is refused for what it would do, not for damage. */
export class UnsafeArchiveError extends RwxCacheError {
  readonly code = 'ERR_ARCHIVE_UNSAFE';
  /** The archive. */
  readonly archive: string;
  /** The entry's name as it stands in the archive. */
  readonly entry: string;
  /** The rule that it broke. */
  readonly rule: ArchiveRule;
  /** How it broke it, in words. */
  readonly problem: string;

  constructor(archive: string, entry: string, rule: ArchiveRule, problem: string) {
    super(`${archive} is refused, entry ${JSON.stringify(entry)}: ${problem}`);
    this.archive = archive;
    this.entry = entry;
    this.rule = rule;
    this.problem = problem;
  }
}
