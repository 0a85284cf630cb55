/**
 * The documents of registries on disk: `state/metadata/shared/<key>/`, and `state/metadata/<uid>/<key>/` for what a token has brought. Each
 * stored document is a file of its own, `<number>.<unique>.json`, with its validators and a check over all of it; the highest number is the newest.
 *
 * Nothing is replaced in place: a rename over a file that another host has read, and so may have been lent by the server, stalls for a lease (13 s
 * measured) when that host is gone, and here everybody would be waiting for the one who stores. What an answer makes obsolete is removed with nobody waiting.
 *
 * Key and check are made with the token (HMAC-SHA256): without it nobody can name a document that it has brought, let alone put one there that would lead
 * the token to another server. The directory of the user (0700) and the files (0600) keep others from reading it.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readdir, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeDirectories, sweepDirectory, uniqueName, writeFileAtomic } from '../atomic/index.ts';
import { inDirectory } from '../atomic/in-directory.ts';
import { openToRead } from '../atomic/open-to-read.ts';
import { UNIQUE } from '../atomic/unique-name.ts';
import { hasSystemError } from '../system-errors.ts';
import type { FetchedDocument, MetadataQuery } from '../registry/index.ts';

/** Where one document is kept. */
export interface DocumentPlace {
  readonly directory: string;
  /** What makes the answer what it is; stands in the file, too. */
  readonly key: readonly string[];
  /** The token, or nothing. */
  readonly secret: string;
}

/** A document that was read back whole. */
export interface KeptDocument extends FetchedDocument {
  readonly number: number;
  /** When it was written, in milliseconds, by the file system's own clock. */
  readonly storedAtMs: number;
}

/** What a look has found. */
export interface Look {
  /** The newest whole document. */
  readonly newest: KeptDocument | undefined;
  /** The files that nobody needs any more: older ones, and damaged ones. */
  readonly obsolete: readonly string[];
}

/** As large as an answer may be (16 MiB), and what is written before it. Anything larger is none of ours. */
const MAX_HEADER_BYTES = 64 * 1024;
const MAX_FILE_BYTES = 16 * 1024 * 1024 + MAX_HEADER_BYTES;

const SHARED = 'shared';
const NAME = new RegExp(`^(\\d{1,12})\\.${UNIQUE}\\.json$`, 'u');
const FORMAT = 'rwx-cache metadata 1';

/** The place of a document below `state/metadata`. */
export function placeOf(metadata: string, { key, token }: Pick<MetadataQuery<unknown>, 'key' | 'token'>): DocumentPlace {
  const secret = token ?? '';
  const owner = token === undefined ? SHARED : String(process.geteuid?.() ?? 'user');
  return { directory: join(metadata, owner, digest(secret, ['key', ...key]).slice(0, 40)), key, secret };
}

/** A name for the document's lock. Tokens share it: they come and go, and lock files stay. */
export function lockNameOf({ key }: DocumentPlace): string {
  return `metadata-${digest('', ['lock', ...key]).slice(0, 40)}.lock`;
}

function digest(secret: string, parts: readonly string[]): string {
  return createHmac('sha256', secret).update(JSON.stringify(parts)).digest('hex');
}

/** Looks for the newest document that is whole. What cannot be read counts as not there. */
export async function lookForDocument(place: DocumentPlace): Promise<Look> {
  const obsolete: string[] = [];
  const names = await inDirectory(place.directory, () => readdir(place.directory)).catch(() => []);
  let newest: KeptDocument | undefined;
  for (const [number, file] of numbered(names)) {
    if (newest !== undefined) {
      obsolete.push(file);
      continue;
    }
    const content = await readWhole(join(place.directory, file));
    if (content === 'unreadable') continue;
    const parsed = content === undefined ? undefined : parseDocument(place, content.bytes);
    if (content === undefined || parsed === undefined) obsolete.push(file);
    else newest = { ...parsed, number, storedAtMs: content.storedAtMs };
  }
  return { newest, obsolete };
}

/** The names of documents, newest first. */
function numbered(names: readonly string[]): (readonly [number, string])[] {
  return names
    .map((name) => [Number(NAME.exec(name)?.[1] ?? NaN), name] as const)
    .filter(([number]) => !Number.isNaN(number))
    .sort(([a, nameA], [b, nameB]) => b - a || (nameA < nameB ? 1 : -1));
}

/** `undefined`: no document could ever be in it. */
async function readWhole(path: string): Promise<{ readonly bytes: Buffer; readonly storedAtMs: number } | 'unreadable' | undefined> {
  try {
    const handle = await openToRead(path, { followLinks: false });
    try {
      const stats = await handle.stat();
      if (!stats.isFile() || stats.size > MAX_FILE_BYTES) return undefined;
      return { bytes: await handle.readFile(), storedAtMs: stats.mtimeMs };
    } finally {
      await handle.close();
    }
  } catch (error) {
    // Another user's, or gone since the directory was read; ELOOP is a symbolic link, and ENXIO a socket.
    return hasSystemError(error, 'ELOOP', 'ENXIO', 'EISDIR') ? undefined : 'unreadable';
  }
}

/** Writes a document beside those that are there, as the newest. It may be lost in a power cut: then it is asked for again. */
export async function writeDocument(place: DocumentPlace, document: FetchedDocument, number: number): Promise<void> {
  const isPrivate = place.secret !== '';
  const path = join(place.directory, `${String(number).padStart(6, '0')}.${uniqueName()}.json`);
  const bytes = serializeDocument(place, document);
  if (bytes.length > MAX_FILE_BYTES) return;
  const write = (): Promise<unknown> => writeFileAtomic(path, bytes, { durable: false, mode: isPrivate ? 0o600 : 0o644 });
  try {
    await write();
  } catch (error) {
    if (!hasSystemError(error, 'ENOENT')) throw error;
    // What lies above the user's own directory is everybody's.
    await makeDirectories(dirname(dirname(place.directory)), { durable: false });
    await makeDirectories(place.directory, { durable: false, mode: isPrivate ? 0o700 : 0o777 });
    await write();
  }
}

/** Removes files of a document, as far as that is possible. */
export async function removeFiles(directory: string, files: readonly string[]): Promise<void> {
  for (const file of files) await unlink(join(directory, file)).catch(() => undefined);
}

function serializeDocument({ key, secret }: DocumentPlace, { url, text, validators }: FetchedDocument): Buffer {
  const content = Buffer.from(`${JSON.stringify({ key, url: withoutSecrets(url), ...validators })}\n${text}`);
  return Buffer.concat([Buffer.from(`${FORMAT} ${checkOf(secret, content)}\n`), content]);
}

/** Other URLs are resolved against it, which takes no query and no user name: signed URLs keep secrets there. */
function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

function checkOf(secret: string, content: Uint8Array): string {
  return createHmac('sha256', secret).update(content).digest('hex');
}

/** `undefined` for what is cut, damaged, of another key, or of another format. */
function parseDocument({ key, secret }: DocumentPlace, bytes: Buffer): FetchedDocument | undefined {
  const [first, content] = splitLine(bytes);
  const expected = Buffer.from(`${FORMAT} ${checkOf(secret, content)}`);
  if (first.length !== expected.length || !timingSafeEqual(first, expected)) return undefined;
  // It is as it was written; but what needed no token, or another version of this library, may say anything.
  const [line, text] = splitLine(content);
  const header = headerOf(line);
  if (header === undefined || JSON.stringify(header['key']) !== JSON.stringify(key)) return undefined;
  const { url, etag, lastModified } = header;
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined;
  return { url, text: text.toString(), validators: { etag: textOf(etag), lastModified: textOf(lastModified) } };
}

function headerOf(line: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const header: unknown = JSON.parse(line.toString());
    return typeof header === 'object' && header !== null ? (header as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function splitLine(bytes: Buffer): [line: Buffer, rest: Buffer] {
  const end = bytes.subarray(0, MAX_HEADER_BYTES).indexOf('\n');
  return end === -1 ? [Buffer.alloc(0), bytes] : [bytes.subarray(0, end), bytes.subarray(end + 1)];
}

/** How long documents are left alone, in milliseconds of the file system's own clock. */
export interface DocumentAges {
  /** Documents that nobody has asked for anew. Offline they are used at any age, so this is how long a cache may be offline. */
  readonly metadataMs: number;
  /** What dead processes left half-way. */
  readonly deadMs: number;
}

/** Removes old documents, and what dead processes left among them; of other users only what this one may. `now` is the file system's own time in milliseconds. */
export async function sweepDocuments(metadata: string, now: number, { metadataMs, deadMs }: DocumentAges, signal: AbortSignal): Promise<void> {
  await sweepDirectory(metadata, { olderThanMs: deadMs, isOwnerAlive: () => Promise.resolve(false), signal });
  for (const owner of await namesIn(metadata)) {
    for (const key of await namesIn(join(metadata, owner))) {
      signal.throwIfAborted();
      const directory = join(metadata, owner, key);
      const names = await namesIn(directory);
      const [newest] = numbered(names);
      for (const name of names) {
        const modified = await stat(join(directory, name)).then(({ mtimeMs }) => mtimeMs, () => Infinity);
        if (now - modified > (name === newest?.[1] ? metadataMs : deadMs)) await removeFiles(directory, [name]);
      }
      // Empty, and not just made for a document that is on its way: whoever is too late for that makes it anew.
      if (names.length === 0) await rmdir(directory).catch(() => undefined);
    }
  }
}

async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}
