/** What a CLI configuration of `terraform` or `tofu` says. Types only. */
import type { Environment, HostCredentials } from '../credentials.ts';
import type { ServicesByHost } from '../discovery.ts';
import type { ProviderSource } from '../sources/types.ts';

/** The two clients, which look for their configuration in different places. */
export type CliTool = 'terraform' | 'tofu';

/** Options of {@link loadCliConfig}. */
export interface LoadCliConfigOptions {
  /**
   * Whose configuration: `'terraform'` looks for `~/.terraformrc`; `'tofu'` for `~/.tofurc`, then `~/.terraformrc`, then
   * `$XDG_CONFIG_HOME/opentofu/tofurc`. Default: as `'tofu'`, which finds what is there for either.
   */
  readonly tool?: CliTool | undefined;
  /** Where all variables are read from, and what a credentials helper sees. Default `process.env`. */
  readonly environment?: Environment | undefined;
  /** Default: that of the environment, else the system's. */
  readonly homeDirectory?: string | undefined;
  /** Where relative paths count from. Default: that of the process. */
  readonly workingDirectory?: string | undefined;
  /** How long one run of a credentials helper may take, in milliseconds. Default 60,000. */
  readonly helperTimeoutMs?: number | undefined;
  /** Ends the reading at once, with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Something that is passed over, and should be known. */
export interface CliConfigWarning {
  /** The file. */
  readonly path: string;
  /** From 1; `undefined` for the file as a whole. */
  readonly line: number | undefined;
  /** In characters, from 1. */
  readonly column: number | undefined;
  /** What it is, in words. */
  readonly message: string;
}

/** The `registry_protocols` block of OpenTofu; `TF_REGISTRY_DISCOVERY_RETRY` and `TF_REGISTRY_CLIENT_TIMEOUT` beat it. */
export interface RegistryProtocolSettings {
  /** How often a request to a registry is repeated; `undefined` where neither says it (the clients' own default is 1). */
  readonly retryCount: number | undefined;
  /** How long one such request may take, in milliseconds; `undefined` where neither says it (the clients' own default is 10,000). */
  readonly requestTimeoutMs: number | undefined;
}

/** A `credentials_helper` block. */
export interface CliHelper {
  /** The program is called `terraform-credentials-<name>`. */
  readonly name: string;
  /** What stands before its verb on its command line. */
  readonly args: readonly string[];
}

/** What the configuration says, all files and the environment together. */
export interface CliConfig {
  /** What was read, in order. */
  readonly files: readonly string[];
  /** What was passed over. */
  readonly warnings: readonly CliConfigWarning[];
  /** The `host` blocks: services by host, in display form. */
  readonly hosts: ServicesByHost;
  /**
   * The methods of `provider_installation`, in order; `undefined` where there is no such block, and then the clients take what
   * {@link impliedSources} says.
   */
  readonly sources: readonly ProviderSource[] | undefined;
  /** Directories by provider address: what `dev_overrides` names is used from there as it is, and never installed. */
  readonly devOverrides: ReadonlyMap<string, string>;
  /** How often a download is repeated: `download_retry_count` of the first `direct` or `network_mirror` method that says it (OpenTofu). It beats `TF_PROVIDER_DOWNLOAD_RETRY`. */
  readonly downloadRetryCount: number | undefined;
  /** `TF_PLUGIN_CACHE_DIR` as it is, or else `plugin_cache_dir` with its variables filled in. */
  readonly pluginCacheDir: string | undefined;
  /** Whether a plugin cache may be used without a hash in the lock file. */
  readonly mayBreakLockFile: boolean;
  /** Whether the clients keep from asking for newer versions of themselves. */
  readonly disableCheckpoint: boolean;
  /** Retries and time limit of requests to registries. */
  readonly registryProtocols: RegistryProtocolSettings;
  /** The hosts, in ASCII form, that a `credentials` block of the files has a token for. */
  readonly credentialHosts: readonly string[];
  /** The program that is asked for the tokens of all others. */
  readonly credentialsHelper: CliHelper | undefined;
  /**
   * The credentials of a host: those of `TF_TOKEN_*`, of a `credentials` block, or of the `credentials_helper`, in this order. A block without a token
   * says that there is none. What the helper answers is kept for as long as this object is, its failures are not, and callers who come together wait for
   * one run of it.
   *
   * @param host - in any spelling, with a port where it is not 443
   * @throws CredentialsHelperError - the helper failed, hung, or is not there
   * @throws CliConfigError - a token in a block that no header can carry
   * @throws InvalidOptionError - the same in the environment
   * @throws InvalidHostnameError
   */
  credentialsFor(host: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<HostCredentials | undefined>;
}
