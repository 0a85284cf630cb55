/** What goes wrong when a package is looked for in several places. */
import { because, RwxCacheError, type CausedBy } from './base.ts';

/** A place that packages may come from, as it stands in messages and records. */
export interface SourceDescription {
  /** What kind of place it is, in the words of the clients' configuration. */
  readonly type: 'direct' | 'network_mirror' | 'filesystem_mirror' | 'oci_mirror';
  /** A mirror's URL (without user, password, query and fragment), absolute path, or repository template; `undefined` for `direct`. */
  readonly location: string | undefined;
}

/** What one source answered. */
export interface SourceAnswer {
  /** The source. */
  readonly source: SourceDescription;
  /** Why it is not the one. */
  readonly error: RwxCacheError;
}

/** None of the configured sources has what is wanted. */
export class NoSourceError extends RwxCacheError {
  readonly code = 'ERR_NO_SOURCE';
  /** What was looked for: a provider's address, with version and platform where one package was wanted. */
  readonly wanted: string;
  /** What each source answered, in the order in which they were asked. Empty: the configuration has none for this provider. */
  readonly report: readonly SourceAnswer[];

  constructor(wanted: string, report: readonly SourceAnswer[]) {
    const answers = report.map(({ source, error }) => `\n- ${sourceName(source)}: ${error.message}`).join('');
    super(
      report.length === 0
        ? `No source is configured for ${wanted}; check the include and exclude patterns of the sources`
        : `No source has ${wanted}:${answers}`,
      because({ cause: report.length === 1 ? report[0]?.error : undefined }),
    );
    this.wanted = wanted;
    this.report = report;
  }
}

/** A source that cannot be asked: a mirror's directory that cannot be read, or a kind of source that this library does not know. */
export class SourceUnavailableError extends RwxCacheError {
  readonly code = 'ERR_SOURCE_UNAVAILABLE';
  /** The source. */
  readonly source: SourceDescription;

  constructor(source: SourceDescription, problem: string, options: CausedBy = {}) {
    super(`${sourceName(source)} cannot be used: ${problem}`, because(options));
    this.source = source;
  }
}

/** A source's name in messages: `network_mirror https://mirror.example.com/`. */
export function sourceName({ type, location }: SourceDescription): string {
  return location === undefined ? type : `${type} ${location}`;
}
