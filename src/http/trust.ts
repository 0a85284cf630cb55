/** Whom this client trusts over TLS, and who it says it is. Reads certificate files; loaded and done with the first https request. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { InvalidOptionError } from '../errors.ts';
import type { HttpSettings } from './settings.ts';

/** Where Go finds the system's certificates on Linux (`crypto/x509/root_linux.go`): the first of these files, and all in these directories. */
const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/cacert.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];
const DIRECTORIES = ['/etc/ssl/certs', '/etc/pki/tls/certs'];

/**
 * The secure context, where Node's own will not do. Node's `ca` option replaces its roots, and NODE_EXTRA_CA_CERTS with them; here
 * certificates are added to both.
 * @throws InvalidOptionError - certificates or keys that cannot be used; the message holds none of them
 */
export async function secureContext({ certificates, clientCertificate, certFile, certDirectories }: HttpSettings): Promise<{ secureContext?: SecureContext }> {
  // Node passes over what is no certificate without a word: the path of a file, for example.
  if (certificates.some((given) => certificatesIn(String(given)).length === 0)) throw new InvalidOptionError('ca', 'there is no certificate in it; it is the text of a PEM file, not its path');
  const system = certFile !== '' || certDirectories !== '' ? await systemCertificates(certFile, certDirectories) : undefined;
  if (system === undefined && certificates.length === 0 && clientCertificate === undefined) return {};
  // Reading Node's own roots takes as long as two handshakes; without certificates beside them Node shares one copy of them.
  const ca = system === undefined && certificates.length === 0 ? undefined : [...(system ?? rootCertificates), ...extraCertificates(), ...certificates];
  if (clientCertificate === undefined) return { secureContext: contextOf('ca', { ca }) };
  const { cert, key, passphrase } = clientCertificate;
  contextOf('clientCertificate', { cert, key, passphrase });
  return { secureContext: contextOf('ca', { ca, cert, key, passphrase }) };
}

function contextOf(option: string, { ca, cert, key, passphrase }: { ca?: (string | Buffer)[] | undefined; cert?: string | Buffer; key?: string | Buffer; passphrase?: string | undefined }): SecureContext {
  try {
    return createSecureContext({ ...(ca === undefined ? {} : { ca }), ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }), ...(passphrase === undefined ? {} : { passphrase }) });
  } catch (error) {
    // OpenSSL's `reason` ('key values mismatch', 'bad decrypt', 'no start line') says what is wrong and quotes nothing.
    const { reason } = error as { reason?: unknown };
    throw new InvalidOptionError(option, `it cannot be used for TLS${typeof reason === 'string' ? `: ${reason}` : ''}`);
  }
}

/**
 * What Go's `loadSystemRoots` reads when SSL_CERT_FILE or SSL_CERT_DIR is set: each replaces its half of the defaults, and what
 * cannot be read is passed over, unless nothing is left.
 */
async function systemCertificates(file: string, directories: string): Promise<string[]> {
  const found: string[] = [];
  for (const bundle of file === '' ? BUNDLES : [file]) {
    const text = await textOf(bundle);
    found.push(...certificatesIn(text ?? ''));
    if (text !== undefined) break;
  }
  for (const directory of directories === '' ? DIRECTORIES : directories.split(':')) {
    for (const path of await filesIn(directory)) found.push(...certificatesIn((await textOf(path)) ?? ''));
  }
  if (found.length === 0) throw new InvalidOptionError(file === '' ? 'SSL_CERT_DIR' : 'SSL_CERT_FILE', 'there is no certificate that can be read; unset it, or name a PEM file');
  return [...new Set(found)];
}

/** The files of a directory, without links to others of its own (the hash names that `openssl rehash` makes). */
async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const paths = await Promise.all(
    entries.map(async (entry) => {
      const path = join(directory, entry.name);
      const target = entry.isSymbolicLink() ? await readlink(path).catch(() => '') : undefined;
      return target !== undefined && !target.includes('/') ? undefined : path;
    }),
  );
  return paths.filter((path) => path !== undefined);
}

async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'latin1').catch(() => undefined);
}

/** The certificates of a PEM text, one by one: in a list OpenSSL stops at the first that it cannot read, where Go passes over it. */
function certificatesIn(text: string): string[] {
  const blocks = text.match(/-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[A-Za-z0-9+/=\s]+-----END \1-----/gu) ?? [];
  return blocks.filter((block) => isCertificate(block));
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).serialNumber !== '';
  } catch {
    return false;
  }
}

function extraCertificates(): readonly Buffer[] {
  const path = process.env['NODE_EXTRA_CA_CERTS'];
  if (path === undefined || path === '') return [];
  try {
    return [readFileSync(path)];
  } catch {
    return []; // Node warned about it when the process started, and goes on without it, too.
  }
}
