/** What the clients do without a `provider_installation` block (`cmd/tofu/provider_source.go` `implicitProviderSource`). */
import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { raceAbort } from '../../abort.ts';
import { InvalidPlatformError, InvalidProviderAddressError, InvalidVersionError } from '../../errors.ts';
import { parsePlatform, parseProviderAddress, parseVersion } from '../../layout/index.ts';
import { fileSystemError, hasSystemError } from '../../system-errors.ts';
import type { ProviderSource } from '../sources/types.ts';
import { impliedDirectories, surroundings } from './files.ts';
import type { LoadCliConfigOptions } from './types.ts';

/** Options of {@link impliedSources}. */
export type ImpliedSourcesOptions = Pick<LoadCliConfigOptions, 'tool' | 'environment' | 'homeDirectory' | 'workingDirectory' | 'signal'>;

/**
 * The sources of a configuration that names none: each of the directories in which the clients look by themselves, if it is there, as a filesystem
 * mirror, and then `direct` without the providers that are found in one of them. What cannot be read offers nothing here, and fails when it is
 * asked, as in the clients.
 *
 * The directories are `terraform.d/plugins` in the working directory, `~/.terraform.d/plugins`, with OpenTofu also
 * `$XDG_DATA_HOME/opentofu/plugins`, and `terraform/plugins` in the user's and the system's data directories.
 */
export async function impliedSources(options: ImpliedSourcesOptions = {}): Promise<ProviderSource[]> {
  const { signal } = options;
  signal?.throwIfAborted();
  return raceAbort(search([...new Set(impliedDirectories(surroundings(options)))]), signal);
}

async function search(candidates: readonly string[]): Promise<ProviderSource[]> {
  const sources: ProviderSource[] = [];
  const found = new Set<string>();
  for (const path of candidates) {
    if (!(await isDirectory(path))) continue;
    sources.push({ type: 'filesystem_mirror', path });
    for (const address of await providersIn(path)) found.add(address);
  }
  const exclude = [...found].sort();
  return [...sources, { type: 'direct', ...(exclude.length === 0 ? {} : { exclude }) }];
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** The addresses of all providers of which a package, packed or unpacked, lies in a mirror. */
async function providersIn(mirror: string): Promise<string[]> {
  const addresses: string[] = [];
  try {
    for (const host of await entriesOf(mirror)) {
      for (const namespace of await entriesOf(join(mirror, host.name), host)) {
        for (const type of await entriesOf(join(mirror, host.name, namespace.name), namespace)) {
          const address = addressOf(`${host.name}/${namespace.name}/${type.name}`);
          if (address !== undefined && (await hasPackage(join(mirror, host.name, namespace.name, type.name), type))) addresses.push(address);
        }
      }
    }
  } catch (error) {
    // As the clients: a mirror that cannot be searched to its end is taken to hold nothing.
    if (hasSystemError(error, 'EACCES', 'EPERM', 'EIO', 'ESTALE', 'ELOOP')) return [];
    throw error;
  }
  return addresses;
}

async function hasPackage(directory: string, entry: Dirent): Promise<boolean> {
  for (const version of await entriesOf(directory, entry)) {
    if (/^terraform-provider-.+_.+_.+_.+\.zip$/iu.test(version.name) && !version.isDirectory()) return true;
    if (!isVersion(version.name)) continue;
    for (const platform of await entriesOf(join(directory, version.name), version)) {
      if (isPlatform(platform.name) && (await isDirectory(join(directory, version.name, platform.name)))) return true;
    }
  }
  return false;
}

/** What is in a directory; nothing where `entry` says that it is none (a link is none, as in the clients), or it is gone. */
async function entriesOf(path: string, entry?: Dirent): Promise<Dirent[]> {
  if (entry?.isDirectory() === false) return [];
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (hasSystemError(error, 'ENOENT', 'ENOTDIR')) return [];
    throw fileSystemError(error, 'read the directory', path);
  }
}

function addressOf(text: string): string | undefined {
  return ifValid(() => String(parseProviderAddress(text)));
}

function isVersion(text: string): boolean {
  return ifValid(() => parseVersion(text)) !== undefined;
}

function isPlatform(text: string): boolean {
  return ifValid(() => parsePlatform(text)) !== undefined;
}

function ifValid<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof InvalidProviderAddressError || error instanceof InvalidVersionError || error instanceof InvalidPlatformError) return undefined;
    throw error;
  }
}
