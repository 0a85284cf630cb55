/** Documents of a registry on disk: how long they are used, how they are asked about, whose they are, and what cannot hurt. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { appendFile, chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { FileSystemClock } from '../../src/cache/file-system-clock.ts';
import { sweepDocuments } from '../../src/cache/metadata-files.ts';
import { createMetadataStore, type DiskMetadataStore, type MetadataStoreOptions } from '../../src/cache/metadata-store.ts';
import { OfflineError } from '../../src/errors.ts';
import { parseProviderAddress } from '../../src/layout/index.ts';
import { tryBareLock } from '../../src/lock/bare-lock.ts';
import { RegistryClient, type RegistryClientOptions } from '../../src/registry/index.ts';
import { createCertificate } from '../support/certificate.ts';
import { startRegistry, type EmbeddedRegistry, type RegistryOptions } from '../support/registry/index.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { withTmpfs } from '../support/tmpfs.ts';
import { HOST, treeOf } from './support.ts';

const ADDRESS = parseProviderAddress(`${HOST}/acme/thing`);
const MINUTE = 60_000;
const ONE: RegistryOptions = { providers: [{ address: 'acme/thing', version: '1.0.0' }] };

interface Setting {
  readonly registry: EmbeddedRegistry;
  /** `state`. */
  readonly state: string;
  /** Another process, as far as the disk can tell: a client with a store of its own. */
  open(options?: Partial<MetadataStoreOptions> & { readonly client?: RegistryClientOptions }): { readonly client: RegistryClient; readonly store: DiskMetadataStore };
}

async function setting(t: TestContext, registryOptions: RegistryOptions = { ...ONE, validators: 'etag' }, state?: string): Promise<Setting> {
  const registry = await startRegistry(registryOptions);
  t.after(() => registry.close());
  const directory = state ?? join(await withTemporaryDirectory(t), 'state');
  await mkdir(join(directory, 'locks'), { recursive: true });
  return {
    registry,
    state: directory,
    open: ({ client: clientOptions, ...options } = {}) => {
      const store = createMetadataStore({
        ...{ directory: join(directory, 'metadata'), locks: join(directory, 'locks') },
        ...{ lifetimeMs: 5 * MINUTE, staleIfErrorMs: undefined, frozen: false, waitMs: 10_000 },
        ...options,
      });
      const http = { backoffMs: 1, retries: 1, ...clientOptions?.http };
      const client = new RegistryClient({ environment: {}, hosts: registry.hosts(HOST), metadata: store, ...clientOptions, http });
      t.after(async () => {
        await client.close();
        await store.close();
      });
      return { client, store };
    },
  };
}

/** The files of documents, newest last. */
async function documents({ state }: Setting): Promise<string[]> {
  const tree = await treeOf(join(state, 'metadata'));
  return tree.filter((path) => path.endsWith('.json')).map((path) => join(state, 'metadata', path));
}

/** The newest one; the test has but one document. */
async function newest(scene: Setting): Promise<string> {
  const file = (await documents(scene)).at(-1);
  assert.ok(file !== undefined);
  return file;
}

/** Sets the time of a file as if it had been written so long ago. */
async function age(path: string, milliseconds: number): Promise<void> {
  const then = (await stat(path)).mtimeMs - milliseconds;
  await utimes(path, then / 1000, then / 1000);
}

/** The versions that a client says there are, and whether it has asked. */
async function ask(scene: Setting, client: RegistryClient, revalidate = false): Promise<{ readonly versions: string[]; readonly requests: number; readonly kept: boolean }> {
  const before = scene.registry.count('versions');
  const { versions, kept = false } = await client.versions(ADDRESS, { revalidate });
  return { versions: versions.map(({ version }) => String(version)), requests: scene.registry.count('versions') - before, kept };
}

const ASKED = { versions: ['1.0.0'], requests: 1, kept: false };
const KEPT = { versions: ['1.0.0'], requests: 0, kept: true };

describe('a kept document', () => {
  for (const validators of ['etag', 'date'] as const) {
    it(`is used without asking for its lifetime, and then asked about (${validators})`, async (t) => {
      const scene = await setting(t, { ...ONE, validators });
      assert.deepEqual(await ask(scene, scene.open().client), ASKED);
      assert.deepEqual(await ask(scene, scene.open().client), KEPT);

      await age(await newest(scene), 4 * MINUTE);
      assert.deepEqual(await ask(scene, scene.open().client), KEPT);
      await age(await newest(scene), 2 * MINUTE);
      assert.deepEqual(await ask(scene, scene.open().client), ASKED);
      const { headers, status } = scene.registry.requestLog.at(-1) ?? {};
      assert.equal(status, 304);
      assert.equal(headers?.[validators === 'etag' ? 'if-modified-since' : 'if-none-match'], undefined);
      // It is as good as new.
      assert.deepEqual(await ask(scene, scene.open().client), KEPT);

      await scene.registry.publish({ address: 'acme/thing', version: '1.1.0' });
      await age(await newest(scene), 6 * MINUTE);
      assert.deepEqual(await ask(scene, scene.open().client), { versions: ['1.0.0', '1.1.0'], requests: 1, kept: false });
      assert.equal(scene.registry.requestLog.at(-1)?.status, 200);
    });
  }

  it('is asked about each time with a lifetime of 0, and where a call wants it so', async (t) => {
    const scene = await setting(t);
    const { client } = scene.open({ lifetimeMs: 0 });
    assert.deepEqual([await ask(scene, client), await ask(scene, client)], [ASKED, ASKED]);
    assert.equal(scene.registry.requestLog.at(-1)?.status, 304);
    assert.deepEqual(await ask(scene, scene.open().client), KEPT);
    assert.deepEqual(await ask(scene, scene.open().client, true), ASKED);
  });

  it('without validators is asked for whole', async (t) => {
    const scene = await setting(t, ONE);
    const { client } = scene.open({ lifetimeMs: 0 });
    assert.deepEqual([await ask(scene, client), await ask(scene, client)], [ASKED, ASKED]);
    assert.equal(scene.registry.requestLog.at(-1)?.status, 200);
  });

  it('ages by the clock of the file system, whatever this host takes the time for', async (t) => {
    const scene = await setting(t);
    await ask(scene, scene.open().client);
    for (const time of [Date.now() + 365 * 24 * 60 * MINUTE, 1000]) {
      t.mock.method(Date, 'now', () => time);
      assert.deepEqual(await ask(scene, scene.open().client), KEPT);
    }
  });

  it('of a time that is still to come is old', async (t) => {
    const scene = await setting(t);
    await ask(scene, scene.open().client);
    await age(await newest(scene), -MINUTE);
    assert.deepEqual(await ask(scene, scene.open().client), ASKED);
    assert.deepEqual(await ask(scene, scene.open().client), KEPT);
  });

  it('is not called old before the clock has been measured anew, nor young where it cannot be', async (t) => {
    const scene = await setting(t);
    await ask(scene, scene.open().client);
    const { mtimeMs } = await stat(await newest(scene));
    const within: number[] = [];
    const clock = (times: readonly (number | undefined)[]): FileSystemClock => ({
      now: (withinMs) => {
        within.push(withinMs);
        return Promise.resolve(times[within.length - 1]);
      },
    });
    // The server's clock was set back by an hour since the first measurement.
    assert.deepEqual(await ask(scene, scene.open({ clock: clock([mtimeMs + 60 * MINUTE, mtimeMs + 10]) }).client), KEPT);
    assert.ok(within.length === 2 && Number(within[1]) <= 1000);
    within.length = 0;
    assert.deepEqual(await ask(scene, scene.open({ clock: clock([undefined]) }).client), ASKED);
  });

  it('is never replaced: a new file comes, the one before stays as it was, and older ones go', async (t) => {
    const scene = await setting(t);
    const { client, store } = scene.open({ lifetimeMs: 0 });
    await ask(scene, client);
    const first = await newest(scene);
    const before = await stat(first, { bigint: true });
    await ask(scene, client);
    const after = await stat(first, { bigint: true });
    assert.deepEqual([after.ino, after.mtimeNs, after.ctimeNs, after.nlink], [before.ino, before.mtimeNs, before.ctimeNs, 1n]);
    for (let round = 0; round < 5; round += 1) await ask(scene, client);
    await store.close();
    assert.equal((await documents(scene)).length, 2);
  });
});

describe('what is no good answer', () => {
  it('is not kept: an error, a list without versions, a malformed one', async (t) => {
    const scene = await setting(t);
    const { client } = scene.open({ lifetimeMs: 60 * MINUTE });
    const faults: [object, string | undefined][] = [
      [{ status: 404 }, 'ERR_PROVIDER_NOT_FOUND'],
      [{ status: 401 }, 'ERR_UNAUTHORIZED'],
      [{ status: 500 }, 'ERR_HTTP_STATUS'],
      [{ body: '{' }, 'ERR_REGISTRY_RESPONSE'],
      [{ body: '{"versions":[{}]}' }, 'ERR_REGISTRY_RESPONSE'],
      [{ body: '{"versions":[]}' }, undefined],
    ];
    for (const [fault, code] of faults) {
      scene.registry.faults.inject({ on: 'versions', ...fault });
      if (code === undefined) assert.deepEqual((await ask(scene, client)).versions, []);
      else await assert.rejects(ask(scene, client), { code });
      scene.registry.faults.heal();
      assert.deepEqual(await documents(scene), [], JSON.stringify(fault));
    }
    assert.deepEqual(await ask(scene, client), ASKED);
  });

  it('leaves a kept document in its place, and takes that nobody’s turn', async (t) => {
    const scene = await setting(t);
    await ask(scene, scene.open().client);
    await age(await newest(scene), 6 * MINUTE);
    const { client } = scene.open({ staleIfErrorMs: Infinity });
    for (const [fault, code] of [[{ status: 404 }, 'ERR_PROVIDER_NOT_FOUND'], [{ status: 403 }, 'ERR_UNAUTHORIZED'], [{ body: '<html>' }, 'ERR_REGISTRY_RESPONSE']] as const) {
      scene.registry.faults.inject({ on: 'versions', ...fault });
      await assert.rejects(ask(scene, client), { code });
      scene.registry.faults.heal();
    }
    assert.equal((await documents(scene)).length, 1);
  });
});

describe('staleIfError', () => {
  const FAULTS = [{ status: 503 }, { status: 500 }, { status: 429, headers: { 'retry-after': '0' } }, { destroy: true }, { truncateAt: 3 }];

  it('answers with an old document when the registry fails, and tells of it', async (t) => {
    const scene = await setting(t);
    await ask(scene, scene.open().client);
    await age(await newest(scene), 60 * MINUTE);
    const events: unknown[] = [];
    const listen = (event: unknown): void => void events.push(event);
    subscribe('rwx-cache:cache:metadata-stale', listen);
    t.after(() => unsubscribe('rwx-cache:cache:metadata-stale', listen));
    for (const fault of FAULTS) {
      scene.registry.faults.inject({ on: 'versions', ...fault });
      await assert.rejects(ask(scene, scene.open().client), 'without it the error is told');
      const { versions, kept } = await ask(scene, scene.open({ staleIfErrorMs: Infinity }).client);
      assert.deepEqual([versions, kept], [['1.0.0'], true]);
      await assert.rejects(ask(scene, scene.open({ staleIfErrorMs: 10 * MINUTE }).client), 'it is older than that');
      assert.equal((await ask(scene, scene.open({ staleIfErrorMs: 56 * MINUTE }).client)).kept, true);
      scene.registry.faults.heal();
    }
    assert.equal(events.length, 2 * FAULTS.length);
    assert.ok(JSON.stringify(events[0]).includes(`the list of versions of ${HOST}/acme/thing`));
    await scene.registry.close();
    assert.equal((await ask(scene, scene.open({ staleIfErrorMs: Infinity }).client)).kept, true);
  });

  it('does not pass over a certificate that is not to be trusted', async (t) => {
    const tls = await createCertificate(t);
    if (tls === undefined) return;
    const scene = await setting(t, { ...ONE, tls });
    const address = parseProviderAddress(`localhost:${new URL(scene.registry.origin).port}/acme/thing`);
    const trusting = scene.open({ client: { hosts: {}, http: { ca: tls.certificate } } });
    assert.equal((await trusting.client.versions(address)).versions.length, 1);
    assert.equal((await documents(scene)).length, 2);
    const { client } = scene.open({ lifetimeMs: 0, staleIfErrorMs: Infinity, client: { hosts: {} } });
    await assert.rejects(client.versions(address), { code: 'ERR_DISCOVERY' });
  });
});

describe('discovery', () => {
  it('is kept as well, unless the host does not offer the service', async (t) => {
    const tls = await createCertificate(t);
    if (tls === undefined) return;
    const scene = await setting(t, { ...ONE, tls, validators: 'etag', faults: [{ on: 'discovery', status: 404, times: 1 }, { on: 'discovery', json: () => ({ 'modules.v1': '/' }), times: 1 }] });
    const options = { client: { hosts: {}, http: { ca: tls.certificate } } };
    for (const ids of [[], ['modules.v1'], ['providers.v1'], ['providers.v1']]) assert.deepEqual((await scene.open(options).client.discover(scene.registry.host)).ids, ids);
    assert.equal(scene.registry.count('discovery'), 3);
    await age(await newest(scene), 6 * MINUTE);
    await scene.open(options).client.discover(scene.registry.host);
    assert.equal(scene.registry.requestLog.at(-1)?.status, 304);
  });

  it('that is missing is named offline, and so is a list', async (t) => {
    const scene = await setting(t);
    const { client } = scene.open({ frozen: true, client: { hosts: {} } });
    await assert.rejects(client.versions(ADDRESS), (error) => error instanceof OfflineError && error.missing === `the service discovery of ${HOST}`);
    await assert.rejects(scene.open({ frozen: true }).client.versions(ADDRESS), (error) => error instanceof OfflineError && error.missing === `the list of versions of ${HOST}/acme/thing`);
    assert.deepEqual(await treeOf(scene.state), ['locks']);
  });
});

it('a frozen store takes documents of whatever age, asks nobody, and writes nothing', async (t) => {
  const scene = await setting(t);
  await ask(scene, scene.open().client);
  await age(await newest(scene), 1000 * 24 * 60 * MINUTE);
  const before = [await treeOf(scene.state), scene.registry.connections];
  assert.deepEqual(await ask(scene, scene.open({ frozen: true }).client), KEPT);
  assert.deepEqual([await treeOf(scene.state), scene.registry.connections], before);
});

describe('what a token has brought', () => {
  const withToken = (token: string): { readonly client: RegistryClientOptions } => ({ client: { credentials: { [HOST]: { token } } } });

  it('is for that token alone, and cannot be read, named or written without it', async (t) => {
    const scene = await setting(t, { ...ONE, token: 'sesame-sesame' });
    assert.deepEqual(await ask(scene, scene.open(withToken('sesame-sesame')).client), ASKED);
    assert.deepEqual(await ask(scene, scene.open(withToken('sesame-sesame')).client), KEPT);
    await assert.rejects(ask(scene, scene.open().client), { code: 'ERR_UNAUTHORIZED' });
    await assert.rejects(ask(scene, scene.open(withToken('another')).client), { code: 'ERR_UNAUTHORIZED' });
    await assert.rejects(ask(scene, scene.open({ frozen: true }).client), { code: 'ERR_OFFLINE' });
    await assert.rejects(ask(scene, scene.open({ frozen: true, ...withToken('another') }).client), { code: 'ERR_OFFLINE' });
    assert.deepEqual(await ask(scene, scene.open({ frozen: true, ...withToken('sesame-sesame') }).client), KEPT);

    const file = await newest(scene);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const owner = dirname(dirname(file));
    assert.deepEqual([basename(owner), (await stat(owner)).mode & 0o777], [String(process.geteuid?.()), 0o700]);
    for (const path of await treeOf(scene.state)) assert.ok(!path.includes('sesame'));
    assert.ok(!(await readFile(file, 'utf8')).includes('sesame'));
  });

  it('is not believed when somebody without it wrote it', async (t) => {
    const scene = await setting(t);
    // What another can make: the document of no token.
    await ask(scene, scene.open().client);
    const forged = await readFile(await newest(scene));
    await rm(join(scene.state, 'metadata'), { recursive: true });
    await ask(scene, scene.open(withToken('sesame')).client);
    const file = await newest(scene);
    await writeFile(join(dirname(file), `000009.${'a'.repeat(32)}.json`), forged);
    await rm(file);
    await assert.rejects(ask(scene, scene.open({ frozen: true, ...withToken('sesame') }).client), { code: 'ERR_OFFLINE' });
    assert.deepEqual(await ask(scene, scene.open(withToken('sesame')).client), ASKED);
  });
});

describe('a damaged document is as good as none, and goes', () => {
  const damages: Record<string, (path: string) => Promise<unknown>> = {
    'an empty file': (path) => truncate(path),
    'a file that was cut': async (path) => truncate(path, (await stat(path)).size - 1),
    'a file with one byte more': (path) => appendFile(path, ' '),
    'another byte': async (path) => {
      const bytes = await readFile(path);
      bytes[bytes.length - 5] = (bytes[bytes.length - 5] ?? 0) ^ 1;
      await writeFile(path, bytes);
    },
    'a FIFO': async (path) => {
      await rm(path);
      execFileSync('mkfifo', [path]);
    },
    'a symbolic link': async (path) => {
      await rename(path, `${path}.elsewhere`);
      await symlink(`${path}.elsewhere`, path);
    },
    'a sparse gigabyte': (path) => truncate(path, 2 ** 30),
    'a directory': async (path) => {
      await rm(path);
      await mkdir(path);
    },
  };
  for (const [name, damage] of Object.entries(damages)) {
    it(name, async (t) => {
      const scene = await setting(t);
      const { client, store } = scene.open();
      await ask(scene, client);
      const file = await newest(scene);
      await damage(file);
      assert.deepEqual(await ask(scene, client), ASKED);
      assert.equal(scene.registry.requestLog.at(-1)?.headers['if-none-match'], undefined);
      await store.close();
      if (name !== 'a directory') await assert.rejects(stat(file), { code: 'ENOENT' });
      assert.deepEqual(await ask(scene, scene.open().client), KEPT);
    });
  }

  it('where an older one is whole, that serves', async (t) => {
    const scene = await setting(t);
    const { client } = scene.open({ lifetimeMs: 0 });
    await ask(scene, client);
    await ask(scene, client);
    await truncate(await newest(scene), 10);
    assert.deepEqual(await ask(scene, scene.open({ frozen: true }).client), KEPT);
  });
});

describe('a cache that cannot be written', () => {
  it('for a full disk answers all the same', async (t) => {
    const disk = await withTmpfs(t, 4 << 20);
    if (disk === undefined) return;
    const scene = await setting(t, undefined, join(disk, 'state'));
    await ask(scene, scene.open().client);
    await writeFile(join(disk, 'filler'), Buffer.alloc(8 << 20, 1)).catch(() => undefined);
    await age(await newest(scene), 6 * MINUTE);
    assert.deepEqual(await ask(scene, scene.open().client), ASKED);
    assert.equal((await documents(scene)).length, 1);
  });

  it('for something in the way answers all the same', async (t) => {
    const scene = await setting(t);
    await writeFile(join(scene.state, 'metadata'), 'in the way');
    await rm(join(scene.state, 'locks'), { recursive: true });
    await writeFile(join(scene.state, 'locks'), 'in the way');
    assert.deepEqual([await ask(scene, scene.open().client), await ask(scene, scene.open().client)], [ASKED, ASKED]);
  });
});

describe('who comes while a document is asked for', () => {
  it('in the same process shares the request', async (t) => {
    const scene = await setting(t);
    const { client } = scene.open({ lifetimeMs: 0 });
    const all = await Promise.all(Array.from({ length: 20 }, () => client.versions(ADDRESS)));
    assert.equal(all.length, 20);
    assert.equal(scene.registry.count('versions'), 1);
  });

  it('in another process waits for it, and uses what it stores, with a lifetime of 0 as well', async (t) => {
    const scene = await setting(t);
    let answer = (): void => undefined;
    scene.registry.faults.inject({ on: 'versions', until: new Promise<void>((resolve) => (answer = resolve)) });
    const slow = scene.open({ lifetimeMs: 0 }).client.versions(ADDRESS);
    while (scene.registry.count('versions') === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const others = Array.from({ length: 5 }, () => scene.open({ lifetimeMs: 0 }).client.versions(ADDRESS));
    await new Promise((resolve) => setTimeout(resolve, 50));
    answer();
    for (const list of await Promise.all([slow, ...others])) assert.equal(list.versions.length, 1);
    assert.equal(scene.registry.count('versions'), 1);
  });

  it('asks by itself when the other takes too long, or has died', async (t) => {
    const scene = await setting(t);
    await ask(scene, scene.open().client);
    const [lock] = (await readdir(join(scene.state, 'locks'))).map((name) => join(scene.state, 'locks', name));
    const held = await tryBareLock(lock ?? '', { mode: 'exclusive' });
    assert.ok(held !== undefined);
    assert.deepEqual(await ask(scene, scene.open({ lifetimeMs: 0, waitMs: 200 }).client), ASKED);
    const patient = ask(scene, scene.open({ lifetimeMs: 0 }).client);
    await held.release();
    assert.deepEqual(await patient, ASKED);
  });

  it('leaves at once when told to, and does not hold up the end of the store', async (t) => {
    const scene = await setting(t);
    await ask(scene, scene.open().client);
    const [lock] = (await readdir(join(scene.state, 'locks'))).map((name) => join(scene.state, 'locks', name));
    const held = await tryBareLock(lock ?? '', { mode: 'exclusive' });
    const { client, store } = scene.open({ lifetimeMs: 0, waitMs: 60_000 });
    const stop = new AbortController();
    const waiting = client.versions(ADDRESS, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await assert.rejects(waiting, /enough/u);
    const another = assert.rejects(client.versions(ADDRESS), { name: 'AbortError' });
    await new Promise((resolve) => setTimeout(resolve, 20));
    await store.close();
    await another;
    await held?.release();
  });
});

describe('the sweep of documents', () => {
  const SWEEP = { metadataMs: 100 * MINUTE, deadMs: 10 * MINUTE };
  const NEVER = new AbortController().signal;

  it('keeps the newest until it is old, and takes what is obsolete, and what the dead left', async (t) => {
    const scene = await setting(t);
    const { client } = scene.open({ lifetimeMs: 0 });
    await ask(scene, client);
    await ask(scene, client);
    const [first = '', second = ''] = await documents(scene);
    const metadata = join(scene.state, 'metadata');
    const now = (await stat(second)).mtimeMs + 50;
    await writeFile(join(dirname(first), `.x.${'a'.repeat(32)}.tmp`), '');
    const sweep = (later: number): Promise<void> => sweepDocuments(metadata, now + later, SWEEP, NEVER);
    await sweep(0);
    assert.equal((await readdir(dirname(first))).length, 3);
    await sweep(20 * MINUTE);
    assert.deepEqual(await documents(scene), [second]);
    assert.equal((await readdir(dirname(first))).length, 1);
    await sweep(90 * MINUTE);
    assert.deepEqual(await documents(scene), [second]);
    await sweep(110 * MINUTE);
    await sweep(110 * MINUTE);
    assert.deepEqual(await treeOf(metadata), ['shared']);
    assert.deepEqual(await ask(scene, client), ASKED);
  });

  it('passes over what it cannot read', async (t) => {
    const scene = await setting(t);
    await ask(scene, scene.open().client);
    const metadata = join(scene.state, 'metadata');
    await writeFile(join(metadata, 'odd'), '');
    await mkdir(join(metadata, '4711'));
    await chmod(join(metadata, '4711'), 0);
    await sweepDocuments(metadata, 0, SWEEP, NEVER);
    await sweepDocuments(join(scene.state, 'none'), 0, SWEEP, NEVER);
    assert.equal((await documents(scene)).length, 1);
  });
});
