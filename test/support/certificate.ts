/** Self-signed certificates for 127.0.0.1 and localhost, by the `openssl` program. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { hasSystemError } from '../../src/system-errors.ts';
import { withTemporaryDirectory } from './temp.ts';

/** Both in PEM. The certificate is its own authority: pass it as `ca` to trust it. */
export interface Certificate {
  readonly key: string;
  readonly certificate: string;
}

/** Makes a certificate, for the given names instead where there are some; skips the test and gives `undefined` where there is no `openssl`. */
export async function createCertificate(t: TestContext, names = 'IP:127.0.0.1,DNS:localhost'): Promise<Certificate | undefined> {
  const directory = await withTemporaryDirectory(t);
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
  try {
    await promisify(execFile)('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', '/CN=rwx-cache test', '-addext', `subjectAltName=${names}`, '-keyout', key, '-out', certificate],
    ]);
  } catch (error) {
    if (!hasSystemError(error, 'ENOENT')) throw error;
    t.skip('there is no openssl program to make a certificate with');
    return undefined;
  }
  return { key: await readFile(key, 'utf8'), certificate: await readFile(certificate, 'utf8') };
}
