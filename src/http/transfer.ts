/**
 * One download over all its attempts: whose bytes are in the file, what the next attempt asks for, and when everything has to start again.
 * Bytes of two answers are joined only where the server vouches for it; whether it was right, the digest says.
 */
import { raceAbort } from '../abort.ts';
import { logger, publishEvent, redactUrl } from '../diagnostics.ts';
import { FileSystemError } from '../errors.ts';
import type { Answer } from './answer.ts';
import { announcedBytes, checkLength, readBody, type BodyLimits } from './body.ts';
import { BLOCK_BYTES, type DownloadFile } from './download-file.ts';
import type { FoundPartial, KeptPartial, PartialStore } from './partial-store.ts';
import { representationOf, totalOfRest, type RangeRequest, type Representation } from './range.ts';
import { discardBody } from './request.ts';
import type { DownloadOptions } from './types.ts';

const log = logger('http');

/** How many bytes lie between two reports of progress. */
const PROGRESS_BYTES = 1024 * 1024;

/** An attempt that brought fewer than this has made no progress: a server that sends one byte a connection is not waited for. */
export const LEAST_PROGRESS_BYTES: number = 16 * 1024;

/** A smaller download keeps nothing for later: doing it again is cheaper than what keeping costs on a shared volume. */
export const SMALLEST_PARTIAL_BYTES: number = 8 * 1024 * 1024;

/** From here on a larger one is kept: until then it would be the same small one. */
export const KEPT_FROM_BYTES: number = 4 * 1024 * 1024;

/** What became of an answer: the file is complete, or the next request is to be made at once. */
export type Taken = 'complete' | 'again';

/** Ask for {@link range}, give the answer to {@link take}, until the file is complete; then {@link isSpoilt}, and {@link forget}. */
export class Transfer {
  readonly #file: DownloadFile;
  readonly #options: DownloadOptions;
  readonly #signal: AbortSignal;
  /** Where the start of this download may lie, or may be left. */
  readonly #partials: PartialStore | undefined;
  readonly #sha256: string | undefined;
  /** What the file's bytes are the beginning of; `undefined` where their rest cannot be asked for. */
  #ground: Representation | undefined;
  #mayResume = true;
  /** The most bytes that an attempt has reached so far. */
  #highest = 0;
  /** Whether the file's bytes come from more than one answer. */
  #joined = false;
  #scratched = false;
  #sought = false;
  #offered = false;
  #found: FoundPartial | undefined;
  #kept: KeptPartial | undefined;

  constructor(file: DownloadFile, options: DownloadOptions, signal: AbortSignal) {
    this.#file = file;
    this.#options = options;
    this.#signal = signal;
    this.#partials = options.expectedSha256 === undefined ? undefined : options.partial;
    this.#sha256 = options.expectedSha256;
  }

  /** What the next attempt asks for; `undefined`: everything. */
  get range(): RangeRequest | undefined {
    if (!this.#mayResume || this.#ground === undefined || this.#file.bytes === 0) return undefined;
    return { from: this.#file.bytes, etag: this.#ground.etag };
  }

  /** Whether the attempt that has just failed brought bytes which none before had reached, and which the next one goes on from. */
  madeProgress(): boolean {
    const { bytes } = this.#file;
    const further = this.range !== undefined && bytes >= this.#highest + LEAST_PROGRESS_BYTES;
    this.#highest = Math.max(this.#highest, bytes);
    return further;
  }

  /** Takes the answer to a request with {@link range}. Rejects as `readBody` does, and with the `FileSystemError` of a failed write. */
  async take(answer: Answer): Promise<Taken> {
    const { range } = this;
    if (range !== undefined && this.#ground !== undefined) {
      const total = totalOfRest(answer, this.#ground, range.from);
      if (total !== undefined) {
        log('%s goes on at byte %d of %d', redactUrl(answer.url), range.from, total);
        publishEvent('http:resumed', { url: redactUrl(answer.url), fromBytes: range.from, totalBytes: total });
        this.#joined = true;
        await raceAbort(this.#file.goOn((error) => answer.body.destroy(error)), this.#signal);
        await this.#fill(answer, { maxBytes: this.#options.maxBytes, expectedBytes: total, from: range.from });
        return 'complete';
      }
      if (answer.status !== 200) {
        // A server that cannot do it once is not asked again, so this ends.
        log('%s cannot be continued: %d, %s', redactUrl(answer.url), answer.status, answer.headers['content-range'] ?? 'no range');
        this.#mayResume = false;
        this.#ground = undefined;
        return 'again';
      }
    }
    return this.#takeWhole(answer);
  }

  /** Whether what came together over several answers is not what it should be. Then it has been thrown away, and the next attempt starts from scratch; once. */
  async isSpoilt(sha256: string): Promise<boolean> {
    if (this.#sha256 === undefined || sha256 === this.#sha256 || !this.#joined || this.#scratched) return false;
    log('what was joined to a download is not its rest; starting from scratch');
    publishEvent('http:resume-spoilt', { expected: this.#sha256, actual: sha256 });
    this.#scratched = true;
    this.#sought = true;
    this.#ground = undefined;
    this.#highest = 0;
    await this.forget();
    return true;
  }

  /** Removes what lies on disk for later: it is complete, or of no use. */
  async forget(): Promise<void> {
    const [found, kept] = [this.#found, this.#kept];
    this.#found = undefined;
    this.#kept = undefined;
    await raceAbort(Promise.all([found?.remove(), kept?.remove()]), this.#signal);
  }

  async #takeWhole(answer: Answer): Promise<Taken> {
    checkLength(answer, this.#options);
    // First, so that no one takes up what is about to be written over.
    await this.#kept?.remove();
    this.#kept = undefined;
    this.#offered = false;
    this.#joined = false;
    await raceAbort(this.#file.begin((error) => answer.body.destroy(error)), this.#signal);
    this.#ground = representationOf(answer, announcedBytes(answer, this.#options));
    const taken = await this.#takeUp(answer);
    if (taken !== undefined) return taken;
    await this.#fill(answer, this.#options);
    return 'complete';
  }

  async #fill(answer: Answer, limits: BodyLimits): Promise<void> {
    const file = this.#file;
    const totalBytes = announcedBytes(answer, limits);
    let reported = 0;
    const report = (): void => {
      reported = file.bytes;
      this.#options.onProgress?.({ receivedBytes: reported, totalBytes });
    };
    report();
    await readBody(answer, limits, this.#signal, async (chunk) => {
      await raceAbort(file.add(chunk), this.#signal);
      if (!this.#offered && file.bytes >= KEPT_FROM_BYTES) await this.#keep();
      if (file.bytes - reported >= PROGRESS_BYTES) report();
    });
    if (file.bytes > reported) report();
  }

  /** What both need: the store, the digest, and a representation whose rest a later process can ask for. */
  get #keepable(): { readonly store: PartialStore; readonly sha256: string; readonly of: Representation & { readonly totalBytes: number } } | undefined {
    const [store, sha256, of] = [this.#partials, this.#sha256, this.#ground];
    if (store === undefined || sha256 === undefined || of?.totalBytes === undefined || of.totalBytes < SMALLEST_PARTIAL_BYTES) return undefined;
    return { store, sha256, of: { ...of, totalBytes: of.totalBytes } };
  }

  /** Once a file: from now on, whatever ends this process, the next one finds what is there. */
  async #keep(): Promise<void> {
    this.#offered = true;
    const keepable = this.#keepable;
    if (keepable === undefined || !this.#mayResume) return;
    const { store, sha256, of } = keepable;
    this.#kept = await raceAbort(store.keep(sha256, of, this.#file.openFile), this.#signal);
    // The one that this file began with has served.
    if (this.#kept === undefined || this.#found === undefined) return;
    await raceAbort(this.#found.remove(), this.#signal);
    this.#found = undefined;
  }

  /** Begins with what an earlier process has left of the very representation that has just answered, if there is something. */
  async #takeUp(answer: Answer): Promise<Taken | undefined> {
    const keepable = this.#sought || !this.#mayResume ? undefined : this.#keepable;
    if (keepable === undefined) return undefined;
    this.#sought = true;
    const { store, sha256, of } = keepable;
    const found = await raceAbort(store.find(sha256, of, this.#file.openFile), this.#signal, (late) => void late?.handle.close());
    if (found === undefined) return undefined;
    this.#found = found;
    // The body is not read meanwhile, so little of it is in flight; its rest is asked for when the copy is there.
    discardBody(answer.body);
    try {
      await this.#copy(found);
    } finally {
      void found.handle.close().catch(() => undefined);
    }
    this.#joined = true;
    this.#highest = this.#file.bytes;
    log('%s: took up %d of %d bytes that an earlier download left', redactUrl(answer.url), this.#file.bytes, of.totalBytes);
    publishEvent('http:taken-up', { url: redactUrl(answer.url), bytes: this.#file.bytes, totalBytes: of.totalBytes });
    return this.#file.bytes === of.totalBytes ? 'complete' : 'again';
  }

  /** Into this file, through its hash. What cannot be read ends the copy, and no more than that. */
  async #copy({ handle, bytes }: FoundPartial): Promise<void> {
    const block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    for (let position = 0; position < bytes;) {
      const length = Math.min(block.length, bytes - position);
      const read = await raceAbort(
        handle.read(block, 0, length, position).then(({ bytesRead }) => bytesRead).catch((error: unknown) => {
          log('a partial download cannot be read: %o', error);
          return 0;
        }),
        this.#signal,
      );
      if (read === 0) return;
      await raceAbort(this.#file.add(block.subarray(0, read)), this.#signal);
      position += read;
    }
  }
}

/** Whether a failure makes what was kept worthless: then the file does not hold what was hashed, and on a full disk its space is needed. */
export function spoilsFile(error: unknown): boolean {
  return error instanceof FileSystemError;
}
