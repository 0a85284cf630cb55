/** What the http room takes and gives. Types only. */
import type { OpenFile } from '../atomic/index.ts';
import type { PartialStore } from './partial-store.ts';

/** Proxies, where the environment is not to say them. */
export interface ProxyOptions {
  /** URL of the proxy for http URLs. Without a scheme it is an http proxy; `https://` speaks TLS to the proxy itself; a user and password in it are sent to the proxy only. */
  readonly http?: string | undefined;
  /** URL of the proxy for https URLs, which are reached by CONNECT. `http` is never used for them. */
  readonly https?: string | undefined;
  /** What is reached directly, as in `NO_PROXY`: addresses, CIDR blocks, domains, each but blocks with a port if wanted, or `*`. */
  readonly noProxy?: string | undefined;
}

/** A certificate that this client shows to servers (and https proxies) that ask for one. */
export interface ClientCertificate {
  /** PEM: the certificate, and those between it and its authority. */
  readonly cert: string | Buffer;
  /** PEM: its private key. It never appears in an error or a log line. */
  readonly key: string | Buffer;
  /** Of the key, where it is encrypted. */
  readonly passphrase?: string | undefined;
}

/** Options of one client. Times are in milliseconds. */
export interface HttpClientOptions {
  /** Default `rwx-cache`. */
  readonly userAgent?: string | undefined;
  /** Limit for name resolution, TCP and TLS together, and for the way through a proxy. Default 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Limit from the request to the answer's headers; waiting for a free connection is not counted. Default 30,000. */
  readonly headersTimeoutMs?: number | undefined;
  /** Longest silence within a body. Default 30,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** Limit for one request that is no download, from when it is sent to the end of its body; another attempt has it anew. None by default. */
  readonly requestTimeoutMs?: number | undefined;
  /** Limit for a whole call with its redirects, retries and waits. None by default. */
  readonly totalTimeoutMs?: number | undefined;
  /** Further attempts after the first one. Default 3. */
  readonly retries?: number | undefined;
  /** The same for downloads. Default: `retries`. */
  readonly downloadRetries?: number | undefined;
  /** Upper end of the first random wait; doubled for each further one, never above 10,000. Default 500. */
  readonly backoffMs?: number | undefined;
  /** The most that a `Retry-After` is obeyed for, and that a request waits for a host that has answered 429. Default 60,000. */
  readonly maxRetryAfterMs?: number | undefined;
  /** Requests under way to one host, whatever its ports, each on a connection of its own; further ones wait for a free one. Default 8. */
  readonly connectionsPerHost?: number | undefined;
  /**
   * PEM certificates to trust beside the others. Those are Node's own and `NODE_EXTRA_CA_CERTS`. Where `SSL_CERT_FILE` or `SSL_CERT_DIR`
   * (directories, with `:` between them) is set, the system's certificates stand in for Node's own, read as Go programs read them on
   * Linux: the file replaces the system's bundle, the directories replace `/etc/ssl/certs` and `/etc/pki/tls/certs`.
   */
  readonly ca?: string | Buffer | readonly (string | Buffer)[] | undefined;
  /** Shown to every server that asks for a certificate. */
  readonly clientCertificate?: ClientCertificate | undefined;
  /**
   * Where requests go through. Default `'environment'`: `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, or the same in lower case, by the rules
   * of Go: https URLs never use `HTTP_PROXY`, `localhost` and loopback addresses are reached directly, and `HTTP_PROXY` is refused where
   * `REQUEST_METHOD` is set. `'none'`: always directly.
   */
  readonly proxy?: 'environment' | 'none' | ProxyOptions | undefined;
  /** Where the variables named here are read from, once, when the client is made. Default `process.env`. `NODE_EXTRA_CA_CERTS` is Node's own business. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

/** A token and the origins that may see it. */
export interface BearerToken {
  /** The token itself; it never appears in an error or a log line. */
  readonly token: string;
  /** Origins as `URL.origin` writes them, for example `https://registry.example.com` or `http://127.0.0.1:8080`. */
  readonly origins: readonly string[];
}

/** A user name and password, and the origins that may see them. */
export interface BasicCredentials {
  /** The user name. */
  readonly login: string;
  /** The password; it never appears in an error or a log line. */
  readonly password: string;
  /** Origins as `URL.origin` writes them. */
  readonly origins: readonly string[];
}

/** Options of one request. */
export interface RequestOptions {
  /** Value of the `accept` header, sent to every origin of a redirect chain. */
  readonly accept?: string | undefined;
  /** Further headers. They go to the first URL's origin only, and never over plain http except to loopback. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as `Authorization: Bearer` to its origins only, never over plain http except to loopback, never with a URL that is signed itself. */
  readonly bearer?: BearerToken | undefined;
  /** Sent as `Authorization: Basic` by the same rules. A bearer token beats it, and so do a user and password in the URL itself. */
  readonly basic?: BasicCredentials | undefined;
  /** Statuses that are an answer; every other one is an `HttpStatusError`. Default `[200]`. */
  readonly acceptStatus?: readonly number[] | undefined;
  /** Where plain http is read. Default `'always'`; a redirect from https to http is refused whatever stands here. */
  readonly allowHttp?: 'loopback' | 'always' | undefined;
  /** Ends the call at once, with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a request whose answer is held in memory. */
export interface ReadOptions extends RequestOptions {
  /** The largest body that is taken, in bytes. Default 1 MiB. */
  readonly maxBytes?: number | undefined;
}

/** How far a download is. `receivedBytes` goes on where an attempt continues the one that failed, and starts at 0 again where it cannot. */
export interface DownloadProgress {
  /** Bytes of the whole that are there. */
  readonly receivedBytes: number;
  /** Bytes to come in all, where that is known. */
  readonly totalBytes?: number | undefined;
}

/** Options of a download. */
export interface DownloadOptions extends RequestOptions {
  /** The exact size in bytes, where it is known: the only way to notice that a body without a length was cut. */
  readonly expectedBytes?: number | undefined;
  /** The largest body that is taken, in bytes. No limit by default. */
  readonly maxBytes?: number | undefined;
  /**
   * SHA-256 of the whole in lower-case hex, where it is known. It is not enforced (compare {@link DownloadResult.sha256}), but a download that was put together from
   * several answers and is not this one starts from scratch once before it is handed out.
   */
  readonly expectedSha256?: string | undefined;
  /** Where a large download leaves what it has for a later process, and finds what an earlier one left; used where `expectedSha256` is known. */
  readonly partial?: PartialStore | undefined;
  /** Called as bytes arrive, for every mebibyte or so, and at the end. */
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

/** Where a download goes. */
export interface DownloadTarget {
  /** A file that does not exist yet. It is created by the download; after a failure it may be there, closed, and the caller removes it. */
  readonly path: string;
}

/** An answer. */
export interface HttpResponse {
  /** One of `acceptStatus`. */
  readonly status: number;
  /** The URL that answered, after redirects; it may hold secrets (signed URLs), `redactUrl` before it is shown. */
  readonly url: string;
  /** By lower-case name; a header that came more than once is joined with `', '`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A finished download. */
export interface DownloadResult {
  /** The URL that answered, after redirects; it may hold secrets (signed URLs), `redactUrl` before it is shown. */
  readonly finalUrl: string;
  /** The size in bytes. */
  readonly bytes: number;
  /** SHA-256 of the bytes, in lower-case hex, taken while they arrived. */
  readonly sha256: string;
  /** The `content-type` header, where there was one. */
  readonly contentType?: string | undefined;
}

/** A finished download whose file is still open. */
export interface OpenDownload extends DownloadResult {
  /** Its file, open for reading and writing. The caller closes it. */
  readonly file: OpenFile;
}

/** A client: connections are shared by all its calls, which may run at once. */
export interface HttpClient {
  /** Reads a text (UTF-8) into memory. */
  getText(url: string | URL, options?: ReadOptions): Promise<HttpResponse & { readonly text: string }>;
  /** Reads bytes into memory. */
  getBytes(url: string | URL, options?: ReadOptions): Promise<HttpResponse & { readonly bytes: Uint8Array }>;
  /** Streams a body into a new file, and hashes it on the way. */
  download(url: string | URL, target: DownloadTarget, options?: DownloadOptions): Promise<DownloadResult>;
  /** As `download`, and leaves the file open for whoever reads it: on NFS closing and opening it again is three round trips. After a failure it is closed. */
  downloadOpen(url: string | URL, target: DownloadTarget, options?: DownloadOptions): Promise<OpenDownload>;
  /** Ends all calls that still run (they reject with a `NetworkError`) and closes all connections. Idempotent. */
  close(): Promise<void>;
}
