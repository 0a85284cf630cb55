/** Sends one answer of the embedded registry, with or without a fault. What has an entity tag is sent in ranges, too (RFC 9110, section 14). */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Fault } from './faults.ts';

/** What is to be sent. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  /** The body, or the file that has it. */
  readonly source: Uint8Array | { readonly path: string; readonly size: number };
  /** Its strong entity tag, with the quotes; without one there are no ranges. */
  readonly etag?: string | undefined;
  /** When it changed, as an HTTP date. */
  readonly lastModified?: string | undefined;
}

/** A JSON document as an answer. */
export function jsonAnswer(document: unknown, status = 200): Answer {
  return { status, contentType: 'application/json', source: Buffer.from(JSON.stringify(document)) };
}

/** The answer with a validator that changes with its content. */
export function validated(answer: Answer, by: 'etag' | 'date'): Answer {
  if (!(answer.source instanceof Uint8Array)) return answer;
  const digest = createHash('sha256').update(answer.source).digest();
  return by === 'etag' ? { ...answer, etag: `"${digest.toString('hex')}"` } : { ...answer, lastModified: new Date(digest.readUInt32BE() * 100).toUTCString() };
}

/** Sends the answer as it should be, or the part of it that is asked for. Files are streamed from the disk. With `cutAfter` the connection ends after so many bytes of the body. */
export async function send(response: ServerResponse, answer: Answer, asked: IncomingHttpHeaders = {}, cutAfter = Infinity): Promise<void> {
  const { source, etag } = answer;
  const size = source instanceof Uint8Array ? source.byteLength : source.size;
  const from = rangeStart(answer, asked);
  const headers = {
    'content-type': answer.contentType,
    ...(etag === undefined ? {} : { etag, 'accept-ranges': 'bytes' }),
    ...(answer.lastModified === undefined ? {} : { 'last-modified': answer.lastModified }),
  };
  if (isUnchanged(answer, asked)) {
    // With the length of what is not sent, as real servers do.
    response.writeHead(304, { ...headers, 'content-length': size }).end();
    return;
  }
  if (from !== undefined && from >= size) {
    response.writeHead(416, { ...headers, 'content-range': `bytes */${size}`, 'content-length': 0 }).end();
    return;
  }
  const start = from ?? 0;
  response.writeHead(from === undefined ? answer.status : 206, {
    ...headers,
    'content-length': size - start,
    ...(from === undefined ? {} : { 'content-range': `bytes ${start}-${size - 1}/${size}` }),
  });
  const end = Math.min(size, start + cutAfter);
  // No faster than the client reads: what it leaves is not sent.
  const parts = source instanceof Uint8Array ? Readable.from(partsOf(source.subarray(start, end))) : createReadStream(source.path, { highWaterMark: PART, start, end: Math.max(start, end - 1) });
  await pipeline(parts, response, { end: false });
  if (end === size) response.end();
  // What was sent arrives; then the connection is at its end.
  else response.write('', () => response.socket?.destroySoon());
}

const PART = 1 << 18;

function* partsOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += PART) yield bytes.subarray(offset, offset + PART);
}

/** Whether whoever asks has it already (RFC 9110, section 13.2.2). */
function isUnchanged({ status, etag, lastModified }: Answer, asked: IncomingHttpHeaders): boolean {
  if (status !== 200) return false;
  if (asked['if-none-match'] !== undefined) return asked['if-none-match'] === etag;
  return lastModified !== undefined && asked['if-modified-since'] === lastModified;
}

/** Where the part begins that is asked for; `undefined` for the whole. Only the form that downloads send. */
function rangeStart(answer: Answer, asked: IncomingHttpHeaders): number | undefined {
  const [, from] = /^bytes=(\d+)-$/u.exec(asked.range ?? '') ?? [];
  if (answer.etag === undefined || answer.status !== 200 || from === undefined) return undefined;
  return asked['if-range'] === undefined || asked['if-range'] === answer.etag ? Number(from) : undefined;
}

/** Sends the answer with a fault. */
export async function sendFaulty(response: ServerResponse, answer: Answer, fault: Fault, asked: IncomingHttpHeaders = {}): Promise<void> {
  if (fault.delayMs !== undefined) await sleep(fault.delayMs);
  await fault.until;
  if (fault.cutWithin !== undefined) {
    const { least, most } = fault.cutWithin;
    await send(response, answer, asked, least + Math.floor(Math.random() * (most - least)));
    return;
  }
  if (fault.silent === true) return;
  if (fault.destroy === true) {
    response.destroy();
    return;
  }
  const original = await bodyOf(answer, fault);
  const body = fault.gzip === true ? gzipSync(original) : original;
  const isDelimited = fault.closeDelimited === true;
  response.useChunkedEncodingByDefault = !isDelimited;
  // Nothing that comes after a faulty body on its connection would be an answer.
  response.setHeader('connection', 'close');
  response.setHeader('content-type', answer.contentType);
  if (!isDelimited && fault.chunked !== true) response.setHeader('content-length', fault.contentLength ?? body.length);
  if (fault.gzip === true) response.setHeader('content-encoding', 'gzip');
  if (fault.redirectTo !== undefined) response.setHeader('location', fault.redirectTo);
  for (const [name, value] of Object.entries(fault.headers ?? {})) {
    if (value === '') response.removeHeader(name);
    else response.setHeader(name, value);
  }
  response.statusCode = fault.status ?? (fault.redirectTo === undefined ? answer.status : 302);
  await sendBody(response, body, fault);
}

async function bodyOf(answer: Answer, fault: Fault): Promise<Buffer> {
  if (fault.body !== undefined) return Buffer.from(fault.body);
  if (fault.status !== undefined || fault.redirectTo !== undefined) return Buffer.alloc(0);
  let body = answer.source instanceof Uint8Array ? Buffer.from(answer.source) : await readFile(answer.source.path);
  if (fault.json !== undefined) body = Buffer.from(JSON.stringify(fault.json(JSON.parse(body.toString()) as Record<string, unknown>)));
  if (fault.bytes !== undefined) body = Buffer.from(fault.bytes(body));
  if (fault.flipByteAt !== undefined) body[fault.flipByteAt] = (body[fault.flipByteAt] ?? 0) ^ 0xff;
  return body;
}

async function sendBody(response: ServerResponse, body: Buffer, fault: Fault): Promise<void> {
  const end = fault.stallAt ?? fault.truncateAt ?? body.length;
  const step = fault.bytesPerSecond === undefined ? end : Math.max(1, Math.round(fault.bytesPerSecond / 20));
  response.flushHeaders();
  for (let offset = 0; offset < end && !response.destroyed; offset += step) {
    if (offset > 0) await sleep(50);
    const part = body.subarray(offset, Math.min(end, offset + step));
    // A client that has gone away is no fault of this server: its write ends either way.
    await new Promise<void>((resolve) => {
      response.once('close', resolve);
      response.write(part, () => {
        response.off('close', resolve);
        resolve();
      });
    });
  }
  if (fault.stallAt !== undefined) return;
  if (fault.truncateAt !== undefined && fault.closeDelimited !== true) response.destroy();
  else response.end();
}
