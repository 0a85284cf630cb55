/** Where the documents of registries are kept between calls, processes and hosts: what a store takes and gives. Types only. */

/** A document as a server sent it. */
export interface MetadataDocument {
  /** The URL that answered, after redirects: the base of the relative URLs in it. */
  readonly url: string;
  /** Its content. */
  readonly text: string;
}

/** What a server can tell by whether its document is still the one that is kept. */
export interface Validators {
  /** The `ETag` header. */
  readonly etag?: string | undefined;
  /** The `Last-Modified` header. */
  readonly lastModified?: string | undefined;
}

/** A document that has just come. */
export interface FetchedDocument extends MetadataDocument {
  /** What to ask with the next time. */
  readonly validators: Validators;
}

/** A document that is wanted. */
export interface MetadataQuery<T> {
  /** All that makes the answer what it is, but the token: its kind, the URL that is asked, and what else the request says. */
  readonly key: readonly string[];
  /** What it is, in words: `'the list of versions of registry.example.com/acme/thing'`. */
  readonly subject: string;
  /** The token that it is asked with. What one token has brought is answered to that token alone. */
  readonly token: string | undefined;
  /** Asks the server; `undefined` where it says that what the validators stand for is still right. */
  fetch(validators: Validators | undefined, signal: AbortSignal | undefined): Promise<FetchedDocument | undefined>;
  /** Reads a document, kept or fetched; throws where it is not what it should be. */
  read(document: MetadataDocument): T;
  /** Whether an answer is worth keeping: "there is none" never is. */
  keeps(value: T): boolean;
}

/** Options of {@link MetadataStore.get}. */
export interface MetadataOptions {
  /** Ends this call at once, with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
  /** Asks the server even where a kept document is young enough. Default false. */
  readonly revalidate?: boolean | undefined;
}

/** What a document says. */
export interface MetadataAnswer<T> {
  /** The document, as its query has read it. */
  readonly value: T;
  /** Whether it was kept from an earlier answer, and the server has not been asked since this call began. */
  readonly kept: boolean;
}

/** Keeps documents. Any number of calls may run at once. */
export interface MetadataStore {
  /**
   * A document: the kept one where that is young enough, else the server's.
   * @throws OfflineError - none is kept, and the server may not be asked
   * @throws what `query.fetch` and `query.read` throw; nothing else: whatever the store itself fails in costs a request
   */
  get<T>(query: MetadataQuery<T>, options?: MetadataOptions): Promise<MetadataAnswer<T>>;
}
