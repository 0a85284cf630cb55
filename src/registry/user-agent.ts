/** What the client says of itself to a registry. */
import type { Environment } from './credentials.ts';

/** The version in package.json; a test keeps the two the same. */
const PACKAGE_VERSION = '0.1.0';

/**
 * The release of OpenTofu whose behaviour this client follows, sent as `X-Terraform-Version`: registries may choose
 * what they offer by it, and without one some take the client for an ancient Terraform.
 */
export const DEFAULT_CLIENT_VERSION = '1.12.1';

/** `rwx-cache/<version>`, followed by `TF_APPEND_USER_AGENT` where that is set, as the reference clients do. */
export function registryUserAgent(environment: Environment): string {
  const base = `rwx-cache/${PACKAGE_VERSION}`;
  // A line break or a character beyond Latin-1 would make every request fail in the HTTP layer.
  const appended = (environment['TF_APPEND_USER_AGENT'] ?? '').replace(/[^\u0020-\u007e]+/gu, ' ').trim();
  return appended === '' ? base : `${base} ${appended}`;
}
