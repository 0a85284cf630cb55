/**
 * The one place that names system errors. Node has no name for some that a shared volume gives: `code` then
 * reads 'Unknown system error -116', and the lock addon sets no `errno` at all. Everything else in the
 * library compares through {@link systemErrorName} or {@link hasSystemError}, never `error.code`.
 */
import { constants } from 'node:os';
import { FileSystemError } from './errors.ts';

/** Linux numbers of the errors that Node 20 cannot name. */
const UNNAMED: ReadonlyMap<number, string> = new Map([
  [35, 'EDEADLK'],
  [37, 'ENOLCK'],
  [116, 'ESTALE'],
  [122, 'EDQUOT'],
]);

const NAMES: ReadonlyMap<number, string> = new Map([
  ...Object.entries(constants.errno).map(([name, number]): [number, string] => [number, name]),
  ...(process.platform === 'linux' ? UNNAMED : []),
  // Linux has one number for both; libuv says ENOTSUP, and so does this library.
  ...(process.platform === 'linux' ? [[constants.errno.EOPNOTSUPP, 'ENOTSUP'] as const] : []),
]);

/** The symbolic name of a system error (`'ENOSPC'`, `'ESTALE'`, …), or `undefined` when `error` is none. */
export function systemErrorName(error: unknown): string | undefined {
  if (error instanceof FileSystemError) return error.systemCode;
  if (!(error instanceof Error)) return undefined;
  const { code, errno } = error as NodeJS.ErrnoException;
  const number = unnamedNumber(code) ?? unnamedNumber(error.message) ?? (typeof errno === 'number' ? Math.abs(errno) : undefined);
  const name = number === undefined ? undefined : NAMES.get(number);
  if (name !== undefined) return name;
  if (code === 'EOPNOTSUPP') return 'ENOTSUP';
  return code !== undefined && /^E[A-Z0-9]+$/u.test(code) ? code : undefined;
}

/** Whether `error` is one of the named system errors. */
export function hasSystemError(error: unknown, ...names: readonly string[]): boolean {
  const name = systemErrorName(error);
  return name !== undefined && names.includes(name);
}

/**
 * The error as this library throws it: a {@link FileSystemError} that says what was being done, where, and what to
 * do about it. Errors of the library itself, and everything that is no system error, pass through unchanged.
 */
export function fileSystemError(error: unknown, operation: string, path: string): Error {
  if (error instanceof FileSystemError) return error;
  const systemCode = systemErrorName(error);
  if (systemCode !== undefined) return new FileSystemError({ systemCode, operation, path, cause: error });
  return error instanceof Error ? error : new Error(String(error));
}

/** Node writes 'Unknown system error -116' where it has no name, in `code` as well as in the message. */
function unnamedNumber(text: string | undefined): number | undefined {
  const match = /Unknown system error -?(\d+)/u.exec(text ?? '');
  return match === null ? undefined : Number(match[1]);
}
