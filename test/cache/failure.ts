/** What every failed `ensure` has to be, whatever went wrong: a typed error without a secret, and nothing left behind. */
import assert from 'node:assert/strict';
import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { RwxCacheError, type ErrorCode, type Outcome, type ProviderCache, type ProviderCacheOptions, type ProviderPackage, type ProviderRequest } from '../../src/index.ts';
import { tryBareLock } from '../../src/lock/bare-lock.ts';
import { hashDirectory } from '../../src/verify/index.ts';
import type { BuiltRelease, EmbeddedRegistry, RegistryOptions } from '../support/registry/index.ts';
import { HOST, THING, treeOf, withCache } from './support.ts';

/** The registry's token, and the secret in the query of its URLs: in no message, field, or cause. */
export const SECRET = 'open-sesame-7f3a';

/** A registry, a cache over it, and the cache's directory. */
export interface Scene {
  readonly registry: EmbeddedRegistry;
  readonly directory: string;
  readonly cache: ProviderCache;
}

/** What a failure has to say. */
export interface ExpectedFailure {
  readonly code: ErrorCode;
  /** The error's data for programs; only those fields that are given are compared. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
  /** What the message has to name, so that people know what happened, and where. */
  readonly says: RegExp;
  /** The code of the error underneath. */
  readonly cause?: ErrorCode | undefined;
}

/** One line of a table of failures. */
export type FailureCase = ExpectedFailure & { readonly name: string };

/** Nobody waits long for a lock here: one that a failure had left would show. */
const CACHE: Partial<ProviderCacheOptions> = { lockTimeoutMs: 5000, settleMs: 100, credentials: { [HOST]: { token: SECRET } } };

/** A cache over a registry that wants a token and gives out signed URLs. */
export async function withScene(t: TestContext, options: { readonly registry?: RegistryOptions; readonly cache?: Partial<ProviderCacheOptions> } = {}): Promise<Scene> {
  return withCache(t, { registry: { token: SECRET, query: `?signature=${SECRET}`, ...options.registry }, cache: { ...CACHE, ...options.cache } });
}

/** Serves another release in the place of the registry's first one, until it is healed. */
export function serveInstead(registry: EmbeddedRegistry, { packages, sums, signature, keys }: BuiltRelease): void {
  const one = packages.get(THING.platform);
  assert.ok(one !== undefined && one.source instanceof Uint8Array);
  const zip = one.source;
  const { faults } = registry;
  const signingKeys = { gpg_public_keys: keys.map(({ keyId, publicKey }) => ({ key_id: keyId, ascii_armor: publicKey })) };
  faults.inject({
    on: 'metadata',
    json: (document) => ({ ...document, filename: one.filename, shasum: one.sha256, signing_keys: signingKeys, ...(signature === undefined ? { shasums_signature_url: '' } : {}) }),
  });
  faults.inject({ on: 'zip', bytes: () => zip });
  faults.inject({ on: 'sums', bytes: () => sums });
  if (signature !== undefined) faults.inject({ on: 'signature', bytes: () => signature });
}

/** Asks for a package, and checks that it fails as it should and leaves nothing. */
export async function failsCleanly({ cache, directory }: Pick<Scene, 'cache' | 'directory'>, expected: ExpectedFailure, request: ProviderRequest = THING): Promise<RwxCacheError> {
  const error = await failureOf(cache.ensure(request));
  assertFailure(error, expected);
  await assertNothingLeft(directory);
  return error;
}

/** The next call succeeds, and what it answers is whole. */
export async function recovers({ cache, registry }: Pick<Scene, 'cache' | 'registry'>, outcome: Outcome = 'installed', request: ProviderRequest = THING): Promise<ProviderPackage> {
  registry.faults.heal();
  const found = await cache.ensure(request);
  assert.equal(found.outcome, outcome);
  assert.equal(await hashDirectory(found.path), found.hashes[0]);
  return found;
}

/** The typed error of a call that has to fail. */
export async function failureOf(call: Promise<unknown>): Promise<RwxCacheError> {
  const error: unknown = await call.then(
    () => assert.fail('it succeeded'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof RwxCacheError, `no error of the library: ${inspect(error)}`);
  return error;
}

/** Class, code, data and message; and no secret anywhere in it. */
export function assertFailure(error: RwxCacheError, { code, fields = {}, says, cause }: ExpectedFailure): void {
  assert.equal(error.code, code, inspect(error));
  assert.equal(error.name, error.constructor.name);
  const data = Object.fromEntries(Object.keys(fields).map((name) => [name, (error as unknown as Record<string, unknown>)[name]]));
  assert.deepEqual(data, fields, error.message);
  assert.match(error.message, says);
  if (cause !== undefined) assert.ok(error.cause instanceof RwxCacheError && error.cause.code === cause, inspect(error));
  assert.ok(!inspect(error, { depth: Infinity, showHidden: true }).includes(SECRET), 'it gives the secret away');
}

/** What stands under `state/` when nothing is under way; what a registry has answered before the failure may be kept. */
const AT_REST = /^state(?:$|\/(?:format|swept|presence\/[0-9a-f]{32}|(?:presence|pins|locks|staging|trash|records)|locks\/(?:[0-9a-f]{32}|metadata-[0-9a-f]{40})\.lock|metadata(?:\/.*)?)$)/u;

/** No entry, no staging, no record, no lock, no descriptor. */
export async function assertNothingLeft(directory: string): Promise<void> {
  const tree = await treeOf(directory);
  // Of the tree that other tools walk, OpenTofu's lock file and the directories above it may stay: locks are never removed.
  const left = tree.filter((path) => !AT_REST.test(path) && !/^providers(?:\/[^/]+){0,4}?(?:\/[^/]+\/[a-z0-9]+_[a-z0-9]+\.lock)?$/u.test(path));
  assert.deepEqual(left, []);
  for (const path of tree.filter((name) => name.endsWith('.lock'))) {
    const lock = await tryBareLock(join(directory, path), { mode: 'exclusive' });
    assert.ok(lock !== undefined, `${path} is still locked`);
    await lock.release();
  }
  await assertNoDescriptors(directory);
}

/** Only the presence mark stays open. Housekeeping may still be at it, so this waits for it. */
async function assertNoDescriptors(directory: string): Promise<void> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const open = (await openFiles()).filter((path) => path.startsWith(directory) && !path.startsWith(join(directory, 'state/presence/')));
    if (open.length === 0) return;
    assert.ok(performance.now() < deadline, `still open: ${open.join(', ')}`);
    await sleep(10);
  }
}

async function openFiles(): Promise<string[]> {
  if (process.platform !== 'linux') return [];
  const descriptors = await readdir('/proc/self/fd');
  const targets = await Promise.all(descriptors.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')));
  return targets;
}
