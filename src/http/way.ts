/** What a request goes through. Types only. */

/** A proxy. */
export interface Proxy {
  /** Its address: scheme (http or https), host and port. As `URL.origin`, and free of secrets. */
  readonly url: URL;
  /** The value of `Proxy-Authorization`, where its URL had a user. */
  readonly authorization: string | undefined;
  /** What names it, for messages: `HTTPS_PROXY`, or `proxy.https`. */
  readonly variable: string;
}

/** What lies between this client and an origin. */
export interface Way {
  readonly proxy: Proxy | undefined;
  /** Whether the proxy reads the request itself. */
  readonly forwarded: boolean;
}
