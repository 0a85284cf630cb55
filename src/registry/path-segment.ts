/** Names of strangers as segments of a URL's path. Pure. */

/** Go leaves `+` as it is (build metadata of a version), and some file servers take `%2B` for another name. */
export function pathSegment(text: string): string {
  return encodeURIComponent(text).replaceAll('%2B', '+');
}
