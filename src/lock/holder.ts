/**
 * Who holds a lock, as text in the lock file: written by the holder, read by those who wait. For messages only: no decision rests
 * on it, for anyone who may write the file may write anything.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { LockHolder } from '../errors.ts';

/**
 * The record has one size, so that a single write replaces the last holder's whole, nothing has ever to be truncated, and a file of
 * another size is known to be somebody's data before it is touched.
 */
export const RECORD_BYTES = 256;
const LONGEST_HOST = 128;

const host = hostname().slice(0, LONGEST_HOST);

/** This process, as a record for the lock file. */
export function ownRecord(): Buffer {
  const holder: LockHolder = { host, pid: process.pid, since: new Date().toISOString() };
  const record = Buffer.alloc(RECORD_BYTES, ' ');
  record.write(JSON.stringify(holder));
  record[RECORD_BYTES - 1] = 0x0a;
  return record;
}

/** The holder that a file names, or `undefined`. Never rejects. */
export async function readHolder(path: string): Promise<LockHolder | undefined> {
  try {
    const handle = await open(path, constants.O_RDONLY | (process.platform === 'win32' ? 0 : constants.O_NOFOLLOW | constants.O_NONBLOCK));
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(RECORD_BYTES), 0, RECORD_BYTES, 0);
      return parseHolder(buffer.toString('utf8', 0, bytesRead));
    } finally {
      await handle.close();
    }
  } catch {
    return undefined;
  }
}

/** The holder in a record's text. Nothing that could upset a terminal or a log passes. */
export function parseHolder(text: string): LockHolder | undefined {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof given !== 'object' || given === null) return undefined;
  const { host: name, pid, since } = given as Partial<Record<keyof LockHolder, unknown>>;
  if (typeof name !== 'string' || !/^[\w.:-]{1,128}$/u.test(name)) return undefined;
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid < 0) return undefined;
  if (typeof since !== 'string' || !/^[\dTZ:.+-]{10,40}$/u.test(since)) return undefined;
  return { host: name, pid, since };
}
