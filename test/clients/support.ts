/** What the tests beside real clients share: their program, their registry, and providers that take a moment to unzip. */
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProviderCache, type ProviderCacheOptions } from '../../src/index.ts';
import { currentPlatform } from '../../src/layout/index.ts';
import type { ProviderRelease, RegistryProcess, RegistryOptions } from '../support/registry/index.ts';
import { startRegistryProcess } from '../support/registry/index.ts';
import { findClient, makeWorkingDirectory, type InitResult, type RequiredProvider } from '../support/terraform.ts';
import { makeZip } from '../support/zip.ts';
import { HOST } from '../cache/support.ts';

/** The platform that the clients ask for: this machine's. */
export const PLATFORM: string = String(currentPlatform());

/** The real thing, where there is one. */
export const TERRAFORM: ReturnType<typeof findClient> = findClient('terraform');

/** Why a test cannot run; `false` where it can. */
export const WITHOUT_TERRAFORM: string | false = TERRAFORM === undefined ? 'there is no terraform on the PATH' : false;

/** Its program. Only in tests that are skipped without one. */
export function terraform(): NonNullable<typeof TERRAFORM> {
  if (TERRAFORM === undefined) throw new Error('There is no terraform on the PATH');
  return TERRAFORM;
}

/** A provider as the registry offers it for this machine. */
export function release(name: string, version = '1.2.3'): ProviderRelease {
  return { address: `acme/${name}`, version, platforms: [PLATFORM] };
}

/** The same as a client requires it. */
export function required(name: string, version = '1.2.3'): RequiredProvider {
  return { source: `${HOST}/acme/${name}`, version };
}

/** The name of a provider's executable. */
export function executableOf(name: string, version = '1.2.3'): string {
  return `terraform-provider-${name}_v${version}_x5`;
}

/** A zip with a binary of so many bytes that compresses a little, like machine code, and a short file behind it. */
export function largeZip(name: string, bytes: number): Buffer {
  const binary = Buffer.allocUnsafe(bytes);
  let state = 0x2545f491;
  for (let at = 0; at + 4 <= bytes; at += 4) {
    // Two random bytes of four: xorshift, so that every run serves the same zip.
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    binary.writeInt32LE(state & 0x00ff_00ff, at);
  }
  return makeZip({ [executableOf(name)]: { data: binary, mode: 0o100755 }, 'z-notice.txt': 'Unpacked after the binary.\n' });
}

/** A registry in a process of its own, closed after the test. */
export async function withRegistryProcess(t: TestContext, options: Omit<RegistryOptions, 'signer'>): Promise<RegistryProcess> {
  const registry = await startRegistryProcess(options);
  t.after(() => registry.close());
  return registry;
}

/** Options of a cache over that registry. They can be sent to another process. */
export function cacheOptions(registry: RegistryProcess, directory: string, more: Partial<ProviderCacheOptions> = {}): ProviderCacheOptions {
  return { directory, hosts: registry.hosts(HOST), environment: {}, http: { backoffMs: 10 }, ...more };
}

/** A cache over that registry, closed after the test. */
export async function openCache(t: TestContext, options: ProviderCacheOptions): Promise<ProviderCache> {
  const cache = await ProviderCache.open(options);
  t.after(() => cache.close());
  return cache;
}

/** A fresh working directory that requires these providers. */
export async function workingDirectory(parent: string, name: string, providers: readonly RequiredProvider[]): Promise<string> {
  await mkdir(parent, { recursive: true });
  return makeWorkingDirectory(join(parent, name), providers);
}

/** The last words of a client, for the message of an assertion. */
export function lastWords({ code, signal, output }: InitResult): string {
  return `terraform ended with ${String(signal ?? code)}:\n${output.slice(-2000)}`;
}

/** The size of a file; -1 while it is missing. */
export async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => -1,
  );
}

/** Looks until it is so. The bound is for a machine that hangs, not for one that is slow. */
export async function until(what: string, isSo: () => Promise<boolean> | boolean, { everyMs = 10, boundMs = 60_000 } = {}): Promise<void> {
  const start = performance.now();
  while (!(await isSo())) {
    if (performance.now() - start > boundMs) throw new Error(`It did not come about in ${boundMs} ms: ${what}`);
    await sleep(everyMs);
  }
}
