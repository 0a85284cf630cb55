/** Requests for documents that may be kept: how the server is asked whether what is kept is still right. Knows no disk. */
import type { HttpClient, HttpResponse, ReadOptions } from '../http/index.ts';
import type { FetchedDocument, MetadataStore, Validators } from './metadata-store.ts';

/** An answer with its body. */
export type TextAnswer = HttpResponse & { readonly text: string };

/** The store of a client that was given none: it keeps nothing. */
export const KEEPS_NOTHING: MetadataStore = {
  async get(query, { signal } = {}) {
    const document = await query.fetch(undefined, signal);
    if (document === undefined) throw new TypeError('nothing was asked for that could be unchanged');
    return { value: query.read(document), kept: false };
  },
};

/**
 * Reads a text unless it is what the validators stand for: then the answer is `undefined`. They go to the origin that is asked and no
 * further, as all headers do, so a document that lies behind a redirect to another origin comes whole each time.
 */
export async function getUnlessUnchanged(http: HttpClient, url: URL, options: ReadOptions, validators: Validators | undefined): Promise<TextAnswer | undefined> {
  const conditions = conditionsOf(validators);
  if (conditions === undefined) return http.getText(url, options);
  const answer = await http.getText(url, {
    ...options,
    headers: { ...options.headers, ...conditions },
    acceptStatus: [...(options.acceptStatus ?? [200]), 304],
  });
  return answer.status === 304 ? undefined : answer;
}

/** The document of an answer. */
export function documentOf({ url, text, headers }: TextAnswer): FetchedDocument {
  return { url, text, validators: { etag: headers['etag'], lastModified: headers['last-modified'] } };
}

/** What no header can carry back, or nobody would send in earnest, is no validator; and what was kept may have been written by anyone. */
const ETAG = /^(?:W\/)?"[\u0021\u0023-\u007e]{0,1000}"$/u;
const DATE = /^[\u0020-\u007e]{1,64}$/u;

function conditionsOf({ etag, lastModified }: Validators = {}): Readonly<Record<string, string>> | undefined {
  // RFC 9110 section 13.1.3: the date counts only where there is no entity tag.
  if (etag !== undefined && ETAG.test(etag)) return { 'if-none-match': etag };
  return lastModified !== undefined && DATE.test(lastModified) ? { 'if-modified-since': lastModified } : undefined;
}
