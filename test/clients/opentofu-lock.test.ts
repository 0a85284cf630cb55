/**
 * OpenTofu's lock on an entry, taken as OpenTofu takes it: a POSIX record lock through fcntl, exclusive, over the whole
 * of `<os_arch>.lock` beside the entry (`internal/flock/filesystem_lock_unix.go`).
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ProgressEvent } from '../../src/index.ts';
import { HOST, openCache, THING, THING_PATH, withCache } from '../cache/support.ts';
import { withTemporaryDirectory } from '../support/temp.ts';
import { ensureInProcess } from './ensure-process.ts';
import { cacheOptions, until, withRegistryProcess } from './support.ts';

const PYTHON = spawnSync('python3', ['-c', 'import fcntl']).status === 0;
const WITHOUT_PYTHON = PYTHON ? false : 'there is no python3 with fcntl on the PATH';

const HOLD = `
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
fcntl.lockf(fd, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
`;

const TRY = `
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
try:
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("free")
except BlockingIOError:
    print("busy")
`;

/** A process that holds the lock until `release`, or until the test ends. */
async function holdAsOpenTofu(t: TestContext, path: string): Promise<{ release(): Promise<void> }> {
  await mkdir(dirname(path), { recursive: true });
  const child = spawn('python3', ['-c', HOLD, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const release = async (): Promise<void> => {
    child.stdin.end();
    await exited;
  };
  t.after(release);
  await once(createInterface({ input: child.stdout }), 'line');
  return { release };
}

/** What an OpenTofu that comes now meets: `busy` or `free`. */
function tryAsOpenTofu(path: string): string {
  return spawnSync('python3', ['-c', TRY, path], { encoding: 'utf8' }).stdout.trim();
}

describe("OpenTofu's lock", { skip: WITHOUT_PYTHON }, () => {
  it('keeps ensure waiting until it is released', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    const holder = await holdAsOpenTofu(t, join(directory, `${THING_PATH}.lock`));
    const events: ProgressEvent[] = [];
    let settled = false;
    const call = cache.ensure(THING, { onProgress: (event) => events.push(event) }).finally(() => {
      settled = true;
    });
    await until('ensure waits', () => events.some(({ phase }) => phase === 'waiting'));
    assert.equal(registry.requestLog.length, 0);
    assert.equal(settled, false);
    await holder.release();
    assert.equal((await call).outcome, 'installed');
    assert.equal(registry.count('zip'), 1);
  });

  it('is let go of by an ensure that is aborted while it waits', async (t) => {
    const { cache, directory } = await withCache(t);
    const holder = await holdAsOpenTofu(t, join(directory, `${THING_PATH}.lock`));
    const leaving = new AbortController();
    const events: ProgressEvent[] = [];
    const call = cache.ensure(THING, { signal: leaving.signal, onProgress: (event) => events.push(event) });
    await until('ensure waits', () => events.some(({ phase }) => phase === 'waiting'));
    leaving.abort(new Error('had enough'));
    await assert.rejects(call, /had enough/u);
    await holder.release();
    assert.equal((await cache.ensure(THING)).outcome, 'installed');
    assert.equal(tryAsOpenTofu(join(directory, `${THING_PATH}.lock`)), 'free');
  });

  it('cannot be taken while ensure installs, and can afterwards', async (t) => {
    const { cache, directory, registry } = await withCache(t, { registry: { faults: [{ on: 'zip', stallAt: 100, times: 1 }] } });
    const lock = join(directory, `${THING_PATH}.lock`);
    const leaving = new AbortController();
    const stalled = cache.ensure(THING, { signal: leaving.signal });
    await until('the download has begun', () => registry.count('zip') === 1);
    assert.equal(tryAsOpenTofu(lock), 'busy');
    leaving.abort(new Error('seen'));
    await assert.rejects(stalled, /seen/u);
    await until('it is released', () => tryAsOpenTofu(lock) === 'free');
    assert.equal((await cache.ensure(THING)).outcome, 'installed');
    assert.equal(tryAsOpenTofu(lock), 'free');
    assert.equal((await stat(lock)).size, 0, 'the lock file stays as OpenTofu made it: empty');
  });

  it('does not keep a hit waiting', async (t) => {
    const { cache, directory, registry } = await withCache(t);
    await cache.ensure(THING);
    await holdAsOpenTofu(t, join(directory, `${THING_PATH}.lock`));
    const other = await openCache(t, registry, { directory });
    assert.equal((await other.ensure(THING)).outcome, 'hit');
  });
});

const NOBODY = 65_534;

function whyNoOtherUser(): string | false {
  if (!PYTHON) return WITHOUT_PYTHON;
  if (process.getuid?.() !== 0) return 'only root can become another user';
  const program = fileURLToPath(new URL('./fixtures/ensure.js', import.meta.url));
  const script = `process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY}); require('node:fs').readFileSync(${JSON.stringify(program)})`;
  return spawnSync(process.execPath, ['-e', script]).status === 0 ? false : 'another user cannot read the compiled tests here';
}

describe("OpenTofu's lock of another user, mode 0644", { skip: whyNoOtherUser() }, () => {
  it('is held shared while ensure installs, keeps it waiting, and never makes it fail', async (t) => {
    const root = await withTemporaryDirectory(t);
    const registry = await withRegistryProcess(t, { providers: [{ address: 'acme/thing', version: '1.2.3' }], faults: [{ on: 'zip', stallAt: 100, times: 1 }] });
    const directory = join(root, 'cache');
    const lock = join(directory, `${THING_PATH}.lock`);
    await mkdir(dirname(lock), { recursive: true });
    await writeFile(lock, '', { mode: 0o644 });
    await chmod(root, 0o755);
    for (const path of ['', 'providers', `providers/${HOST}`, `providers/${HOST}/acme`, `providers/${HOST}/acme/thing`, `providers/${HOST}/acme/thing/1.2.3`]) await chown(join(directory, path), NOBODY, NOBODY);

    // The stalled attempt ends after a second of silence, and the next one succeeds.
    const cache = cacheOptions(registry, directory, { http: { idleTimeoutMs: 1000, backoffMs: 10 } });
    const holder = await holdAsOpenTofu(t, lock);
    let waits = false;
    const call = ensureInProcess(t, { cache, request: THING, userId: NOBODY }, { onWait: () => (waits = true) });
    await until('ensure waits', () => waits);
    assert.equal(await registry.count('zip'), 0);
    await holder.release();
    await until('the download has begun', async () => (await registry.count('zip')) === 1, { everyMs: 5 });
    assert.equal(tryAsOpenTofu(lock), 'busy');
    const answer = await call;
    assert.ok('outcome' in answer, JSON.stringify(answer));
    assert.equal(answer.outcome, 'installed');
    assert.equal(tryAsOpenTofu(lock), 'free');
    assert.deepEqual([(await stat(lock)).uid, (await stat(lock)).mode & 0o777], [0, 0o644]);
    assert.equal((await stat(answer.path)).uid, NOBODY);
  });
});
