/** What the embedded registry offers: providers, their zips, and the signed checksums of each version. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { makeZip } from '../zip.ts';
import { createSigner, type Signer } from './signer.ts';

/** One version of a provider. */
export interface ProviderRelease {
  /** `namespace/type`; the host is whatever the client calls the registry. */
  readonly address: string;
  readonly version: string;
  /** Default `['linux_amd64']`. */
  readonly platforms?: readonly string[] | undefined;
  /** The package's files; default a small plugin binary and a LICENSE, different for each version and platform. */
  readonly files?: Parameters<typeof makeZip>[0] | undefined;
  /** The zip itself instead, in memory. */
  readonly zip?: Uint8Array | undefined;
  /** The zip itself instead, streamed from this file. */
  readonly zipPath?: string | undefined;
  /** Default `['5.0', '6.0']`. */
  readonly protocols?: readonly string[] | undefined;
  /** What stands in the metadata as `filename`; default `terraform-provider-TYPE_VERSION_OS_ARCH.zip`. */
  readonly filename?: string | undefined;
  /** The whole SHA256SUMS document instead of the right one; it is signed as it is. */
  readonly sums?: string | undefined;
  /** Default the registry's own signer; `false` for a release with neither key nor signature. */
  readonly signer?: Signer | false | undefined;
  /** The keys that the metadata names; default the signer's. */
  readonly signingKeys?: readonly { readonly keyId: string; readonly publicKey: string }[] | undefined;
  /** Adds OpenTofu's `packages` map (hashes and sizes of all platforms). */
  readonly packages?: boolean | undefined;
}

/** The zip of one platform, ready to be served. */
export interface BuiltPackage {
  readonly platform: string;
  readonly filename: string;
  /** The bytes, or the file that has them. */
  readonly source: Uint8Array | { readonly path: string };
  readonly size: number;
  readonly sha256: string;
}

/** A release, ready to be served. */
export interface BuiltRelease {
  readonly release: ProviderRelease;
  readonly packages: ReadonlyMap<string, BuiltPackage>;
  readonly sums: Buffer;
  readonly signature: Uint8Array | undefined;
  readonly keys: readonly { readonly keyId: string; readonly publicKey: string }[];
}

/** The name of a release's zip, as release tools write it. */
export function zipName(release: ProviderRelease, platform: string): string {
  return `terraform-provider-${typeOf(release)}_${release.version}_${platform}.zip`;
}

/** Zips, hashes and signs a release. */
export async function buildRelease(release: ProviderRelease, defaultSigner: () => Promise<Signer>): Promise<BuiltRelease> {
  const packages = new Map<string, BuiltPackage>();
  for (const platform of release.platforms ?? ['linux_amd64']) packages.set(platform, await buildPackage(release, platform));
  const lines = [...packages.values()].map(({ sha256, filename }) => `${sha256}  ${filename}\n`);
  const sums = Buffer.from(release.sums ?? lines.join(''));
  const signer = release.signer === false ? undefined : (release.signer ?? (await defaultSigner()));
  return {
    release,
    packages,
    sums,
    signature: await signer?.sign(sums),
    keys: release.signingKeys ?? (signer === undefined ? [] : [signer]),
  };
}

/** A signer that is made when it is first asked for. */
export function lazySigner(): () => Promise<Signer> {
  let signer: Promise<Signer> | undefined;
  return () => (signer ??= createSigner());
}

async function buildPackage(release: ProviderRelease, platform: string): Promise<BuiltPackage> {
  const filename = release.filename ?? zipName(release, platform);
  if (release.zipPath !== undefined) {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(release.zipPath, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
    return { platform, filename, source: { path: release.zipPath }, size: (await stat(release.zipPath)).size, sha256: hash.digest('hex') };
  }
  const zip = release.zip ?? makeZip(release.files ?? defaultFiles(release, platform));
  return { platform, filename, source: zip, size: zip.byteLength, sha256: createHash('sha256').update(zip).digest('hex') };
}

function defaultFiles(release: ProviderRelease, platform: string): Parameters<typeof makeZip>[0] {
  const suffix = platform.startsWith('windows') ? '.exe' : '';
  const executable = `terraform-provider-${typeOf(release)}_v${release.version}_x5${suffix}`;
  return {
    LICENSE: 'For tests only.\n',
    [executable]: { data: `#!/bin/sh\necho ${release.address} ${release.version} ${platform}\n`, mode: 0o100755 },
  };
}

function typeOf(release: ProviderRelease): string {
  return release.address.slice(release.address.lastIndexOf('/') + 1);
}
