/** Which hosts are this machine itself. Pure. */

/** Whether the URL names this machine itself. `URL` has already brought every spelling of an address to one form. */
export function isLoopback(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/u.test(url.hostname);
}
