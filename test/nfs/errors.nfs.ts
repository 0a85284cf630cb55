/** The errors that only a network file system gives, each provoked for real, and what they come to mean. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { tryLock } from 'fs-native-extensions';
import { makeDirectories, publishDirectory, refreshDirectory, statFresh, writeFileAtomic } from '../../src/atomic/index.ts';
import { FileSystemError, LockUnsupportedError } from '../../src/errors.ts';
import { acquireLock, probeLocking } from '../../src/lock/index.ts';
import { acquireBareLock } from '../../src/lock/bare-lock.ts';
import { fileSystemError, systemErrorName } from '../../src/system-errors.ts';
import { HOST, openCache, THING, THING_PATH, treeOf, withRegistry } from '../cache/support.ts';
import { startChild } from '../support/child.ts';
import { mountAs } from './client.ts';
import { cutOff, rejoin, restartServer } from './faults.ts';
import type { OnMountReport } from './fixtures/on-mount.ts';
import { theLab, withoutFaults, withSharedDirectory } from './lab.ts';
import { mountWithoutStatd, startOldServer } from './old-server.ts';
import { EXPORT, exportSmall } from './server.ts';
import { command } from './shell.ts';

/** What the system said: its error's name, or `'done'`. */
async function answer(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: unknown) => systemErrorName(error) ?? String(error),
  );
}

describe('ESTALE', { skip: withoutFaults() }, () => {
  it('is what B hears of a directory that A has replaced and of a file that is gone with its server’s memory; the library looks again', async (t) => {
    const shared = await withSharedDirectory(t);
    const registry = await withRegistry(t);
    const [onA, onB] = [await openCache(t, registry, { directory: join(shared.a, 'cache') }), await openCache(t, registry, { directory: join(shared.b, 'cache') })];
    await onA.ensure(THING);
    const { executable } = (await onB.lookup(THING)) ?? assert.fail('installed');
    await mkdir(join(shared.a, 'directory'));
    for (const name of ['file', 'lock']) await writeFile(join(shared.a, 'directory', name), 'old');
    // What B knows, and has open.
    const known = join(shared.b, 'directory');
    const [directory, file, program] = await Promise.all([open(known), open(join(known, 'file')), open(executable)]);
    t.after(async () => { for (const handle of [directory, file, program]) await handle.close().catch(() => undefined); });
    await readFile(join(known, 'file'));
    await readdir(known);

    // A replaces all of it.
    await rename(join(shared.a, 'directory'), join(shared.a, 'trash'));
    await rm(join(shared.a, 'trash'), { recursive: true });
    await mkdir(join(shared.a, 'directory'));
    for (const name of ['file', 'lock']) await writeFile(join(shared.a, 'directory', name), 'new');
    await rm(join(shared.a, 'cache', THING_PATH), { recursive: true });
    assert.equal((await onA.ensure(THING)).outcome, 'installed');

    const bare = await readdir(`/proc/self/fd/${directory.fd}`).catch((error: unknown) => error as NodeJS.ErrnoException);
    assert.ok(bare instanceof Error);
    t.diagnostic(`Node says ${bare.code ?? ''} (${bare.message})`);
    assert.equal(systemErrorName(bare), 'ESTALE');
    const error = fileSystemError(bare, 'list', known);
    assert.ok(error instanceof FileSystemError);
    assert.match(error.message, /: ESTALE; another host removed it meanwhile; call again$/u);

    // The same names, by the library.
    await refreshDirectory(known);
    const fresh = await stat(join(shared.a, 'directory', 'file'));
    assert.equal((await statFresh(join(known, 'file')))?.ino, BigInt(fresh.ino));
    assert.deepEqual(await writeFileAtomic(join(known, 'file'), 'newer'), { published: true });
    assert.equal(await readFile(join(shared.a, 'directory', 'file'), 'utf8'), 'newer');
    await makeDirectories(join(known, 'more'));
    await mkdir(join(shared.b, 'staged'));
    assert.deepEqual(await publishDirectory(join(shared.b, 'staged'), join(known, 'published')), { published: true });
    const lock = await acquireLock(join(known, 'lock'), { timeoutMs: 5000 });
    await lock.assertHeld();
    assert.equal((await onB.lookup(THING))?.outcome, 'hit');
    assert.equal((await onB.ensure(THING)).outcome, 'hit');

    // What a file that B has open still gives, it gives no more when the server has forgotten who had it open: ESTALE from the server itself, or EBADF
    // from a client that has asked for its open file again by then, and has been told (both measured).
    await restartServer();
    const gone = await answer(program.read(Buffer.alloc(1), 0, 1, 0).then(() => program.datasync()));
    t.diagnostic(`an open file that is gone with the server's memory: ${gone}`);
    assert.ok(['ESTALE', 'EBADF'].includes(gone), gone);
    assert.equal((await onB.lookup(THING))?.outcome, 'hit');
    await lock.assertHeld();
    await lock.release();
  });
});

describe('EIO', { skip: withoutFaults() }, () => {
  it('of a soft mount that is cut off is an error, never a miss, a hit or a lock', async (t) => {
    const shared = await withSharedDirectory(t);
    const registry = await withRegistry(t);
    await (await openCache(t, registry, { directory: join(shared.b, 'cache') })).ensure(THING);
    const soft = shared.a.replace(theLab().a, mountAs({ name: 'a' }, '/run/lab/soft', 'nosharecache', 'soft', 'timeo=5', 'retrans=1'));
    t.after(() => {
      rejoin('a');
      command('umount', '-l', '/run/lab/soft');
    });
    assert.match((await probeLocking(soft)).reason ?? '', /soft: calls fail while the server is away/u);
    const child = startChild(t, new URL('./fixtures/on-mount.js', import.meta.url), [soft, JSON.stringify({ cache: { hosts: registry.hosts(HOST) }, request: THING })]);
    assert.equal(await child.message(), 'ready');
    cutOff('a');
    child.process.send('go');
    const report = (await child.message()) as OnMountReport;
    rejoin('a');
    for (const [call, came] of Object.entries(report)) t.diagnostic(`${call}: ${came}`);
    assert.match(report['bare stat'] ?? '', /^(?:EIO|ETIMEDOUT|ESTALE)/u);
    for (const call of ['statFresh', 'writeFileAtomic', 'lookup', 'ensure', 'acquireLock']) assert.match(report[call] ?? '', /^ERR_FILE_SYSTEM (?:EIO|ETIMEDOUT|ESTALE): /u, call);
    assert.equal(report['a lock that was held'], 'ERR_LOCK_LOST');
  });
});

describe('ENOLCK', { skip: withoutFaults() }, () => {
  it('means that there are no kernel locks: acquireLock says so, and a cache falls back to leases and tells', async (t) => {
    const shared = await withSharedDirectory(t);
    startOldServer();
    mountWithoutStatd('/run/lab/without-statd');
    t.after(() => {
      command('umount', '-l', '/run/lab/without-statd');
    });
    const directory = shared.a.replace(theLab().a, '/run/lab/without-statd');
    const handle = await open(join(directory, 'bare'), 'w+');
    assert.throws(
      () => tryLock(handle.fd),
      (error) => systemErrorName(error) === 'ENOLCK',
    );
    await handle.close();
    for (const strategy of ['auto', 'kernel'] as const) await assert.rejects(acquireLock(join(directory, 'lock'), { strategy }), LockUnsupportedError);
    assert.equal((await probeLocking(directory)).kernel, 'none');

    const registry = await withRegistry(t);
    const events = listen(t, ['lease-fallback', 'presence-unlocked', 'client-lock-unavailable']);
    const cache = await openCache(t, registry, { directory: join(directory, 'cache') });
    assert.equal((await cache.ensure(THING)).outcome, 'installed');
    assert.equal((await cache.lookup(THING))?.outcome, 'hit');
    assert.deepEqual([...new Set(events)].sort(), ['client-lock-unavailable', 'lease-fallback', 'presence-unlocked']);
  });
});

describe('EBADF and EROFS', { skip: withoutFaults() }, () => {
  it('are what an exclusive lock needs a writable file for: on a read-only mount it is refused, and a shared one excludes other hosts', async (t) => {
    const shared = await withSharedDirectory(t);
    await writeFile(join(shared.a, 'lock'), '');
    const handle = await open(join(shared.b, 'lock'), 'r');
    assert.throws(
      () => tryLock(handle.fd),
      (error) => systemErrorName(error) === 'EBADF',
    );
    await handle.close();

    const readOnly = shared.b.replace(theLab().b, mountAs({ name: 'b' }, '/run/lab/read-only', 'nosharecache', 'ro'));
    t.after(() => {
      command('umount', '-l', '/run/lab/read-only');
    });
    await assert.rejects(acquireLock(join(readOnly, 'lock')), (error) => systemErrorName(error) === 'EROFS');
    for (const take of [() => acquireLock(join(readOnly, 'lock'), { mode: 'shared' }), () => acquireBareLock(join(readOnly, 'lock'), { mode: 'exclusive-or-shared' })]) {
      const lock = await take();
      assert.equal(lock.mode, 'shared');
      await assert.rejects(acquireLock(join(shared.a, 'lock'), { timeoutMs: 0 }), { code: 'ERR_LOCK_TIMEOUT' });
      await lock.release();
    }
    await (await acquireLock(join(shared.a, 'lock'), { timeoutMs: 3000 })).release();
  });
});

describe('ENOSPC', { skip: withoutFaults() }, () => {
  it('of the server comes with the sync or the close, and leaves nothing behind', async (t) => {
    const shared = await withSharedDirectory(t);
    const small = exportSmall(shared.a.replace(theLab().a, EXPORT), 'small', '2M');
    t.after(small.end);
    const directory = join(shared.b, 'small');
    await writeFile(join(directory, 'file'), 'old');
    await assert.rejects(writeFileAtomic(join(directory, 'file'), Buffer.alloc(4 << 20)), (error) => error instanceof FileSystemError && error.systemCode === 'ENOSPC');
    assert.deepEqual(await treeOf(directory), ['file']);
    assert.equal(await readFile(join(directory, 'file'), 'utf8'), 'old');
  });
});

/** The names of what is published on these channels. */
function listen(t: TestContext, names: readonly string[]): string[] {
  const heard: string[] = [];
  for (const name of names) {
    const hear = (): void => { heard.push(name); };
    subscribe(`rwx-cache:cache:${name}`, hear);
    t.after(() => unsubscribe(`rwx-cache:cache:${name}`, hear));
  }
  return heard;
}
