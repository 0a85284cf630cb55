/**
 * A directory of packages as a source, in the layout that the clients search (`filesystem_search.go` `SearchLocalDirectory`). Only
 * lists names: what lies there is copied and hashed by whoever takes an offer.
 *
 * Unlike the reference, which walks the whole tree and gives up on the first name that disappears meanwhile, only what may belong to
 * the provider in question is looked at, and what is gone is not there.
 */
import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { raceAbort } from '../../abort.ts';
import {
  FileSystemError,
  InvalidHostnameError,
  InvalidPlatformError,
  InvalidProviderAddressError,
  InvalidVersionError,
  PlatformNotSupportedError,
  ProviderNotFoundError,
  SourceUnavailableError,
  type SourceDescription,
} from '../../errors.ts';
import { sourceName } from '../../errors/sources.ts';
import { parsePart } from '../../layout/addresses.ts';
import { compareVersions, normalizeHostname, parsePlatform, parseVersion, type Platform, type ProviderAddress, type Version } from '../../layout/index.ts';
import { fileSystemError, hasSystemError } from '../../system-errors.ts';
import type { PackageRequest } from '../package-metadata.ts';
import type { VersionList } from '../version-list.ts';
import type { PackageOffer, PackageSource } from './source.ts';

/** A package that lies in a mirror. */
export interface MirroredPackage {
  readonly kind: 'archive-file' | 'directory';
  readonly path: string;
  readonly version: Version;
  readonly platform: Platform;
}

/** The mirror in the directory `source.location`, which may be a symbolic link; the levels below it, down to the packages, may not, as in the reference. */
export function filesystemMirror(source: SourceDescription): PackageSource {
  const where = sourceName(source);

  async function packages(address: ProviderAddress, signal: AbortSignal | undefined): Promise<MirroredPackage[]> {
    signal?.throwIfAborted();
    // Nothing is changed, so an abort need not wait for a mount that hangs.
    return raceAbort(searchMirror(source, address), signal);
  }

  async function versions(address: ProviderAddress, { signal }: { readonly signal?: AbortSignal | undefined }): Promise<VersionList> {
    const found = new Map((await packages(address, signal)).map(({ version }) => [String(version), version]));
    if (found.size === 0) throw new ProviderNotFoundError(String(address), undefined, where);
    const unspecified = `${where} has a version 0.0.0 of ${String(address)}, which means an unspecified one; constraints never select it`;
    return {
      versions: [...found.values()].sort(compareVersions).map((version) => ({ version, protocols: [] })),
      warnings: found.has('0.0.0') ? [unspecified] : [],
    };
  }

  async function offer({ address, version, platform }: PackageRequest, { signal }: { readonly signal?: AbortSignal | undefined }): Promise<PackageOffer> {
    const found = (await packages(address, signal)).find((one) => String(one.version) === String(version) && String(one.platform) === String(platform));
    if (found === undefined) throw new PlatformNotSupportedError(String(address), String(version), String(platform), undefined, where);
    return { kind: found.kind, source, path: found.path };
  }

  return { versions, offer };
}

/**
 * All packages of a provider, in the order in which the reference would find them: of two for the same version and platform the
 * first one counts.
 * @throws SourceUnavailableError - the mirror, or what belongs to the provider in it, cannot be read
 */
export async function searchMirror(source: SourceDescription, address: ProviderAddress): Promise<MirroredPackage[]> {
  const root = source.location ?? '';
  try {
    const found: MirroredPackage[] = [];
    const hosts = directories(await readdir(root, { withFileTypes: true })).filter((name) => isHost(name, address));
    for (const host of hosts) {
      for (const namespace of await directoriesIn(join(root, host), (name) => isPart(name, 'namespace', address.namespace))) {
        for (const type of await directoriesIn(join(root, host, namespace), (name) => isPart(name, 'type', address.type))) {
          found.push(...(await packagesIn(join(root, host, namespace, type), address.type)));
        }
      }
    }
    return found;
  } catch (error) {
    throw unavailable(source, error);
  }
}

/** A failure to read what lies in a mirror, told of the mirror: it is no fault of the cache. */
export function unavailable(source: SourceDescription, error: unknown): Error {
  const typed = fileSystemError(error, 'read', source.location ?? '');
  return typed instanceof FileSystemError ? new SourceUnavailableError(source, typed.message, { cause: typed }) : typed;
}

/** Packed and unpacked ones, by name. */
async function packagesIn(directory: string, type: string): Promise<MirroredPackage[]> {
  const found: MirroredPackage[] = [];
  for (const entry of await list(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) found.push(...(await unpackedIn(path, entry.name)));
    else {
      const packed = packedName(entry.name, type);
      if (packed !== undefined && (await leadsTo(path, 'file'))) found.push({ kind: 'archive-file', path, ...packed });
    }
  }
  return found;
}

async function unpackedIn(directory: string, name: string): Promise<MirroredPackage[]> {
  const version = parsed(() => parseVersion(name));
  if (version === undefined) return [];
  const found: MirroredPackage[] = [];
  for (const entry of await list(directory)) {
    const platform = parsed(() => parsePlatform(entry.name));
    if (platform === undefined || !(entry.isDirectory() || entry.isSymbolicLink())) continue;
    const path = join(directory, entry.name);
    if (entry.isDirectory() || (await leadsTo(path, 'directory'))) found.push({ kind: 'directory', path, version, platform });
  }
  return found;
}

/** `terraform-provider-TYPE_VERSION_OS_ARCH.zip` in whatever case; further parts after the architecture are ignored. */
function packedName(filename: string, type: string): { readonly version: Version; readonly platform: Platform } | undefined {
  const name = filename.toLowerCase();
  const prefix = `terraform-provider-${type}_`;
  if (!name.startsWith(prefix) || !name.endsWith('.zip')) return undefined;
  const [versionText = '', os = '', arch = ''] = name.slice(prefix.length, -'.zip'.length).split('_');
  const version = parsed(() => parseVersion(versionText));
  const platform = parsed(() => parsePlatform(`${os}_${arch}`));
  return version === undefined || platform === undefined ? undefined : { version, platform };
}

function isHost(name: string, address: ProviderAddress): boolean {
  return name === address.hostname || parsed(() => normalizeHostname(name).ascii) === address.hostnameAscii;
}

/** The path keeps the case that it has on disk, so names are compared as addresses are. */
function isPart(name: string, what: 'namespace' | 'type', wanted: string): boolean {
  return name === wanted || parsed(() => parsePart(name, what, name)) === wanted;
}

/** The result, or `undefined` where the text is none. */
function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    const invalid = [InvalidHostnameError, InvalidPlatformError, InvalidProviderAddressError, InvalidVersionError].some((kind) => error instanceof kind);
    if (!invalid) throw error;
    return undefined;
  }
}

async function directoriesIn(path: string, wanted: (name: string) => boolean): Promise<string[]> {
  return directories(await list(path)).filter(wanted);
}

/** Links are not followed: they could lead in a circle. */
function directories(entries: readonly Dirent[]): string[] {
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name).sort();
}

/** What is in a directory; nothing where it has gone. */
async function list(path: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  } catch (error) {
    if (isGone(error)) return [];
    throw fileSystemError(error, 'list', path);
  }
}

async function leadsTo(path: string, kind: 'file' | 'directory'): Promise<boolean> {
  try {
    const stats = await stat(path);
    return kind === 'file' ? !stats.isDirectory() : stats.isDirectory();
  } catch (error) {
    if (isGone(error)) return false;
    throw fileSystemError(error, 'look at', path);
  }
}

/** Whether somebody has just taken it away, or a link leads nowhere. */
export function isGone(error: unknown): boolean {
  return hasSystemError(error, 'ENOENT', 'ENOTDIR', 'ESTALE', 'ELOOP');
}
