/** What goes wrong while a token is looked for. */
import { because, RwxCacheError, type CausedBy } from './base.ts';

/** The credentials helper of the CLI configuration could not say whether it has a token for a host. Nothing of it is remembered: the next call asks again. */
export class CredentialsHelperError extends RwxCacheError {
  readonly code = 'ERR_CREDENTIALS_HELPER';
  /** The host that a token was looked for, in display form. */
  readonly hostname: string;
  /** The program's path; its name where it was not found. */
  readonly program: string;
  /** What is wrong, in words. What the program printed as an error is in it, shortened, and without what looks like a secret. */
  readonly problem: string;

  constructor(data: { readonly hostname: string; readonly program: string; readonly problem: string } & CausedBy) {
    super(`The credentials helper ${data.program} has no answer for ${data.hostname}: ${data.problem}; repair it, or give a token another way (credentials, or TF_TOKEN_…)`, because(data));
    this.hostname = data.hostname;
    this.program = data.program;
    this.problem = data.problem;
  }
}
