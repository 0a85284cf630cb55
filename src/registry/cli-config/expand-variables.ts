/** Variables in a value of the configuration, filled in as Go's `os.ExpandEnv` does. Pure. */
import type { Environment } from '../credentials.ts';

/** `${name}`, `$name` and the one-letter names of shells; `${` without an end, and `${}`, disappear; any other `$` stays. */
const VARIABLE = /\$(?:\{([^}]*)\}|(\{)|([*#$@!?0-9-])|([A-Za-z0-9_]+))/gu;

/** The text with its variables filled in; one that is not set is empty. */
export function expandVariables(text: string, environment: Environment): string {
  return text.replaceAll(VARIABLE, (_, braced: string | undefined, open: string | undefined, special: string | undefined, name: string | undefined) => {
    if (open !== undefined) return '';
    return environment[braced ?? special ?? name ?? ''] ?? '';
  });
}
