/** What the clients' CLI configuration, or a file beside it, does not say as it must. */
import { because, RwxCacheError, type CausedBy } from './base.ts';

/** A CLI configuration (or `.netrc`) that parses and means nothing, or that the clients refuse as well. */
export class CliConfigError extends RwxCacheError {
  readonly code = 'ERR_CLI_CONFIG';
  /** The file; `undefined` where an environment variable is at fault. */
  readonly path: string | undefined;
  /** From 1; `undefined` where the file as a whole is at fault. */
  readonly line: number | undefined;
  /** In characters, from 1. */
  readonly column: number | undefined;
  /** The setting at fault, for example `'provider_installation'`. */
  readonly setting: string;

  constructor(
    data: { readonly path?: string | undefined; readonly line?: number | undefined; readonly column?: number | undefined; readonly setting: string; readonly problem: string } & CausedBy,
  ) {
    const place = data.path === undefined ? '' : `${data.path}${data.line === undefined ? '' : `:${data.line}:${data.column ?? 1}`}: `;
    super(`${place}${data.setting}: ${data.problem}`, because(data));
    this.path = data.path;
    this.line = data.line;
    this.column = data.column;
    this.setting = data.setting;
  }
}
