/** The client that the floors above use: every call is attempts, each with its redirects, retried under one policy. */
import { delay, raceAbort } from '../abort.ts';
import { logger, redactUrl } from '../diagnostics.ts';
import { InvalidOptionError, NetworkError, RwxCacheError } from '../errors.ts';
import { attempt, type AttemptOptions } from './attempt.ts';
import { readBody } from './body.ts';
import { beginCall, type Call } from './call.ts';
import { DownloadFile } from './download-file.ts';
import { AttemptFailure } from './failures.ts';
import { checkHeaders } from './origin-headers.ts';
import type { Answer } from './answer.ts';
import { discardBody } from './request.ts';
import { withRetries } from './retry.ts';
import { resolveSettings } from './settings.ts';
import { spoilsFile, Transfer } from './transfer.ts';
import { createTransport } from './transport.ts';
import type { DownloadOptions, DownloadResult, DownloadTarget, HttpClient, HttpClientOptions, HttpResponse, OpenDownload, ReadOptions, RequestOptions } from './types.ts';

const DEFAULT_MAX_BYTES = 1024 * 1024;

/** How long an aborted download waits for its file to be closed: an open one cannot be removed cleanly on NFS, and a hung server must not hold up an abort. */
const CLOSE_GRACE_MS = 50;

const log = logger('http');

/**
 * Makes a client. Nothing is loaded or connected before the first request; `close` it when it is not needed any more.
 * Throws `InvalidOptionError` for a number out of range, or a proxy that is none.
 *
 * Calls reject with the signal's reason at once when it aborts, else with `HttpStatusError`, `NetworkError`, `RedirectError`,
 * `ResponseTooLargeError`, `DownloadIncompleteError`, `AccessPolicyError`, `InvalidOptionError`, or, for the file of a download,
 * `FileSystemError`. No error holds a token, a header, or the query of a URL.
 */
export function createHttpClient(options: HttpClientOptions = {}): HttpClient {
  const settings = resolveSettings(options);
  const transport = createTransport(settings);
  const calls = new Set<Call>();
  let closed = false;

  async function run<T>(given: string | URL, request: RequestOptions, use: (url: URL, call: Call) => Promise<T>): Promise<T> {
    request.signal?.throwIfAborted();
    const url = parseUrl(given);
    checkHeaders(request);
    if (closed) throw new NetworkError({ url: redactUrl(url), phase: 'connect', attempts: 0, problem: 'the client was closed' });
    const call = beginCall(url, request.signal, settings.totalTimeoutMs);
    calls.add(call);
    try {
      return await use(url, call);
    } finally {
      calls.delete(call);
      call.end();
    }
  }

  function exchange<T>(url: URL, request: AttemptOptions, call: Call, consume: (answer: Answer) => Promise<T>, transfer?: Transfer): Promise<T> {
    const retries = transfer === undefined ? settings.retries : settings.downloadRetries;
    return withRetries({ ...settings, retries }, call.signal, async (number) => {
      call.attempts = number;
      call.phase = 'headers';
      const began = performance.now();
      const report = (outcome: string): void => {
        log('GET %s, attempt %d of %d: %s (%d ms)', redactUrl(url), number, retries + 1, outcome, Math.round(performance.now() - began));
      };
      try {
        const answer = await attempt(transport, url, request, settings.userAgent, call.signal, transfer?.range);
        call.phase = 'body';
        const result = await consume(answer).finally(() => { discardBody(answer.body); });
        report(`${answer.status} from ${redactUrl(answer.url)}`);
        return result;
      } catch (error) {
        report(outcomeText(error, number));
        throw error;
      }
    }, () => transfer?.madeProgress() ?? false);
  }

  async function getBytes(given: string | URL, request: ReadOptions = {}): Promise<HttpResponse & { readonly bytes: Uint8Array }> {
    const maxBytes = request.maxBytes ?? DEFAULT_MAX_BYTES;
    return run(given, request, (url, call) =>
      exchange(url, { ...request, requestTimeoutMs: settings.requestTimeoutMs }, call, async (answer) => {
        const chunks: Uint8Array[] = [];
        await readBody(answer, { maxBytes }, call.signal, (chunk) => {
          chunks.push(chunk);
          return undefined;
        });
        return { status: answer.status, url: answer.url.href, headers: answer.headers, bytes: Buffer.concat(chunks) };
      }),
    );
  }

  async function getText(given: string | URL, request: ReadOptions = {}): Promise<HttpResponse & { readonly text: string }> {
    const { bytes, ...response } = await getBytes(given, request);
    return { ...response, text: new TextDecoder().decode(bytes) };
  }

  async function download(given: string | URL, target: DownloadTarget, request: DownloadOptions = {}): Promise<DownloadResult> {
    const { finalUrl, bytes, sha256, contentType } = await downloadInto(given, target, request, (file) => file.close());
    return { finalUrl, bytes, sha256, contentType };
  }

  function downloadOpen(given: string | URL, target: DownloadTarget, request: DownloadOptions = {}): Promise<OpenDownload> {
    return downloadInto(given, target, request, () => Promise.resolve());
  }

  async function downloadInto(given: string | URL, { path }: DownloadTarget, request: DownloadOptions, end: (file: DownloadFile) => Promise<void>): Promise<OpenDownload> {
    return run(given, request, async (url, call) => {
      const { signal } = call;
      const file = await raceAbort(DownloadFile.create(path), signal, (late) => void late.abandon());
      const transfer = new Transfer(file, request, signal);
      try {
        let answer: Answer;
        let sha256: string;
        do {
          answer = await fetchWhole(url, request, call, transfer);
          sha256 = await raceAbort(file.finish(), signal);
        } while (await transfer.isSpoilt(sha256));
        await transfer.forget();
        const { bytes, openFile } = file;
        await raceAbort(end(file), signal);
        return { finalUrl: answer.url.href, bytes, sha256, contentType: answer.headers['content-type'], file: openFile };
      } catch (error) {
        const closing = file.abandon();
        if (spoilsFile(error)) await transfer.forget().catch(() => undefined);
        await (signal.aborted ? Promise.race([closing, delay(CLOSE_GRACE_MS)]) : closing);
        throw error;
      }
    });
  }

  /** Until the file is complete: with retries for what fails, and at once where the answer only told what to ask for. */
  async function fetchWhole(url: URL, request: DownloadOptions, call: Call, transfer: Transfer): Promise<Answer> {
    for (;;) {
      const { taken, answer } = await exchange(url, request, call, async (answered) => ({ taken: await transfer.take(answered), answer: answered }), transfer);
      if (taken === 'complete') return answer;
    }
  }

  return {
    getText,
    getBytes,
    download,
    downloadOpen,
    async close() {
      closed = true;
      for (const call of calls) call.cancel('the client was closed');
      await transport.destroy();
    },
  };
}

function parseUrl(given: string | URL): URL {
  if (typeof given === 'string' && !URL.canParse(given)) throw new InvalidOptionError('url', 'it is not an absolute URL');
  return new URL(given);
}

function outcomeText(error: unknown, attempts: number): string {
  if (error instanceof AttemptFailure) return error.toError(attempts).message;
  return error instanceof RwxCacheError ? error.message : 'ended by its caller';
}
