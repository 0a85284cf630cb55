/**
 * `.netrc`: user names and passwords by host, as `curl`, `git` and Terraform (1.11 and later, for provider archives) use them. Reads
 * the file once; nothing of its content is ever shown.
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { CliConfigError } from '../errors.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import type { Environment } from './credentials.ts';

/** What a server is shown as `Authorization: Basic`. */
export interface NetrcEntry {
  /** The user name; `''` where the entry has none. */
  readonly login: string;
  /** The password; `''` where the entry has none. */
  readonly password: string;
}

/** The entry for a `URL.host`: with its port, unless that is the scheme's own. */
export type NetrcLookup = (host: string) => NetrcEntry | undefined;

/** Where the file is. */
export interface NetrcPlace {
  readonly path: string;
  /** Whether a caller named it: then it has to be there. */
  readonly required: boolean;
}

const MAX_BYTES = 1024 * 1024;

/**
 * Where the file is looked for: `given`, else `$NETRC`, else `.netrc` in the home directory (`_netrc` on Windows).
 */
export function netrcPlace(given: string | undefined, environment: Environment, platform: NodeJS.Platform = process.platform): NetrcPlace {
  if (given !== undefined) return { path: resolve(given), required: true };
  const named = environment['NETRC'] ?? '';
  if (named !== '') return { path: resolve(named), required: false };
  const home = (platform === 'win32' ? environment['USERPROFILE'] : environment['HOME']) ?? '';
  return { path: join(home === '' ? homedir() : home, platform === 'win32' ? '_netrc' : '.netrc'), required: false };
}

/**
 * Reads the file. One that is not there has no entries, unless it was named.
 * @throws FileSystemError - it cannot be read
 * @throws CliConfigError - it is malformed, or larger than 1 MiB
 */
export async function readNetrc({ path, required }: NetrcPlace): Promise<NetrcLookup> {
  try {
    return parseNetrc(await readFile(path, 'utf8'), path);
  } catch (error) {
    if (!required && hasSystemError(error, 'ENOENT')) return () => undefined;
    throw fileSystemError(error, 'read', path);
  }
}

/**
 * Reads a `.netrc`: entries `machine NAME` and `default` with `login`, `password` and `account`, separated by white space of any kind;
 * comments from `#` to the end of the line where a word of the format may stand; macros (`macdef`, to the next empty line) are passed over.
 * The first entry of a host counts, and `default` counts for every host without one.
 * @throws CliConfigError - a word that is none of the format, or one whose value is missing
 */
export function parseNetrc(text: string, path: string): NetrcLookup {
  if (text.length > MAX_BYTES) throw new CliConfigError({ path, setting: 'netrc', problem: `it is larger than ${MAX_BYTES} bytes` });
  const machines = new Map<string, NetrcEntry>();
  let fallback: NetrcEntry | undefined;
  let current: { login: string; password: string } | undefined;
  const words = new Words(text);

  const refuse = (at: number, problem: string): CliConfigError => new CliConfigError({ path, ...words.position(at), setting: 'netrc', problem });
  const valueOf = (keyword: string, at: number): string => {
    const value = words.next();
    if (value === undefined) throw refuse(at, `nothing follows after ${keyword}`);
    return value.text;
  };

  for (let word = words.next(); word !== undefined; word = words.next()) {
    const { text: keyword, at } = word;
    if (keyword.startsWith('#')) {
      words.skipLine(at);
    } else if (keyword === 'machine') {
      const host = valueOf(keyword, at).toLowerCase();
      current = { login: '', password: '' };
      if (!machines.has(host)) machines.set(host, current);
    } else if (keyword === 'default') {
      current = { login: '', password: '' };
      fallback ??= current;
    } else if (keyword === 'macdef') {
      valueOf(keyword, at);
      words.skipMacro();
    } else if (keyword === 'login' || keyword === 'password' || keyword === 'account') {
      // What stands before the first machine belongs to nobody.
      if (current === undefined) throw refuse(at, `${keyword} stands before the first machine`);
      const value = valueOf(keyword, at);
      if (keyword !== 'account') current[keyword] = value;
    } else {
      // The word itself may be a part of a password with a space in it.
      throw refuse(at, 'a word is expected that the format knows (machine, default, login, password, account, macdef)');
    }
  }
  return (host) => machines.get(host.toLowerCase()) ?? fallback;
}

/** The words of a text, and where they stand. */
class Words {
  readonly #text: string;
  readonly #word = /\S+/gu;

  constructor(text: string) {
    this.#text = text;
  }

  next(): { readonly text: string; readonly at: number } | undefined {
    const match = this.#word.exec(this.#text);
    if (match === null) {
      // The expression would begin at the start again.
      this.#word.lastIndex = this.#text.length;
      return undefined;
    }
    return { text: match[0], at: match.index };
  }

  /** Goes on after the line that `at` is in. */
  skipLine(at: number): void {
    const end = this.#text.indexOf('\n', at);
    this.#word.lastIndex = end === -1 ? this.#text.length : end;
  }

  /** Goes on after the next empty line. */
  skipMacro(): void {
    const empty = /\n[ \t\r]*\n/gu;
    empty.lastIndex = this.#word.lastIndex;
    this.#word.lastIndex = empty.exec(this.#text) === null ? this.#text.length : empty.lastIndex;
  }

  position(at: number): { readonly line: number; readonly column: number } {
    const before = this.#text.slice(0, at);
    const start = before.lastIndexOf('\n') + 1;
    return { line: before.split('\n').length, column: Array.from(before.slice(start)).length + 1 };
  }
}
