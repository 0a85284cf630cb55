/** Packages of bytes that do not compress, the same ones in every run: large downloads that cost no time to make. */
import { createCipheriv } from 'node:crypto';
import type { ProviderRelease } from '../support/registry/index.ts';
import { makeZip } from '../support/zip.ts';

const zips = new Map<string, Buffer>();

/** A release of `acme/thing` whose zip has somewhat more than so many bytes; another `seed` makes another one. */
export function noiseRelease(bytes: number, version = '1.2.3', seed = 1): ProviderRelease {
  const name = `terraform-provider-thing_v${version}_x5`;
  const zip = zips.get(`${bytes} ${name} ${seed}`) ?? makeZip({ [name]: { data: noise(bytes, seed), mode: 0o100755, stored: true } });
  zips.set(`${bytes} ${name} ${seed}`, zip);
  return { address: 'acme/thing', version, zip };
}

function noise(bytes: number, seed: number): Buffer {
  return createCipheriv('aes-128-ctr', Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(bytes));
}
