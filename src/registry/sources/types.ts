/**
 * Where packages may come from, as the clients' `provider_installation` block says it. Types only: what each source does
 * is in the files beside this one.
 */

/**
 * Which providers a source is asked for. A pattern has two or three segments, `[HOST/]NAMESPACE/TYPE`; without a host it
 * means the default one. `*` may stand for the type, for namespace and type, or for all three. Names are normalised as addresses
 * are. What `exclude` matches is not asked for, whatever `include` says.
 */
export interface SourcePatterns {
  /** The providers that the source is asked for. Default: all. An empty list is the same as none, as in the clients. */
  readonly include?: readonly string[] | undefined;
  /** The providers that it is not asked for. It beats `include`. Default: none. */
  readonly exclude?: readonly string[] | undefined;
}

/** The provider's own registry: the one that the host of its address names. */
export interface DirectSource extends SourcePatterns {
  /** Tells the kinds apart. */
  readonly type: 'direct';
}

/** A server that speaks the provider network mirror protocol. */
export interface NetworkMirrorSource extends SourcePatterns {
  /** Tells the kinds apart. */
  readonly type: 'network_mirror';
  /** Its base URL: https, and it should end with `/`, since what stands behind the last one is dropped (RFC 3986). */
  readonly url: string;
  /**
   * Whether all hashes that its documents list, those of other platforms too, may go into a lock file (`trust_all_hashes` of OpenTofu
   * 1.12). Default false: only what was seen of this platform's package.
   */
  readonly trustAllHashes?: boolean | undefined;
}

/** A directory in the clients' layout, with packed (`.zip`) or unpacked packages, or both. */
export interface FilesystemMirrorSource extends SourcePatterns {
  /** Tells the kinds apart. */
  readonly type: 'filesystem_mirror';
  /** Its path. A relative one counts from the working directory of this process. */
  readonly path: string;
}

/** OpenTofu's mirror in an OCI registry. It is read from configuration, and answered with a typed error when it is its turn. */
export interface OciMirrorSource extends SourcePatterns {
  /** Tells the kinds apart. */
  readonly type: 'oci_mirror';
  /** Its `repository_template`. */
  readonly repositoryTemplate: string;
}

/** One place that packages may come from. */
export type ProviderSource = DirectSource | NetworkMirrorSource | FilesystemMirrorSource | OciMirrorSource;

/**
 * What makes the next source be asked: `'not-found'` (default, as the reference clients): only the answer that a source does not
 * have the package; `'unreachable'`: also that a source cannot be asked (no connection, one that breaks off in a download, a status
 * of 408, 429 or 5xx, a host that offers no registry, a directory that cannot be read, an `oci_mirror`). An answer that is wrong, or
 * that asks for credentials, ends the search under both: a mirror that lies is not to be passed over in silence.
 */
export type SourceFallback = 'not-found' | 'unreachable';
