/**
 * The kernel lock with what makes it usable between strangers: the holder's name in the file, a heartbeat where the lock can be lost without
 * its holder's doing, and a check that it still is the lock. Freed by the kernel the moment its process dies.
 */
import { raceAbort } from '../abort.ts';
import { LockLostError } from '../errors.ts';
import { logger } from '../diagnostics.ts';
import { fileSystemError, hasSystemError } from '../system-errors.ts';
import { startHeartbeat, type Heartbeat } from './heartbeat.ts';
import { holdFile, isInPlace, letGo, type HeldFile } from './held-file.ts';
import { ownRecord, parseHolder, readHolder, RECORD_BYTES } from './holder.ts';
import { onNetworkFileSystem, type NetworkTest } from './network.ts';
import type { Lock, LockMode, WaitOptions } from './types.ts';
import { withinLimits, type Wait } from './wait.ts';

const log = logger('lock');
/** Group and others may lock as well, as far as the umask lets them: a cache is shared. */
const CREATE_MODE = 0o666;
/** Storage that fails answers the same each time. */
const GRANTS = 3;

/** What {@link acquireKernelLock} takes, checked. */
export interface KernelLockOptions extends WaitOptions {
  readonly mode: LockMode;
  readonly leaseMs: number;
}

/** Waits for the lock and takes it. `path` is absolute. */
export async function acquireKernelLock(path: string, options: KernelLockOptions, isNetwork: NetworkTest = onNetworkFileSystem): Promise<Lock> {
  return withinLimits(
    path,
    options,
    () => readHolder(path),
    (wait) => take(path, options, isNetwork, wait),
    (late) => void late.release(),
  );
}

async function take(path: string, { mode, leaseMs }: KernelLockOptions, isNetwork: NetworkTest, wait: Wait): Promise<Lock> {
  const request = { mode, isNetwork, createMode: CREATE_MODE, readOnlyToo: mode === 'shared', byName: true };
  for (let grants = 1; ; grants += 1) {
    const file = await holdFile(path, request, wait);
    // It makes a missing file and waits for a held one, so it always has one.
    if (file === undefined) throw new LockLostError(path, 'its file could not be made');
    try {
      const record = await recordFor(file);
      return file.network && record !== undefined ? await heldOnNetwork(file, record, leaseMs) : await heldLocally(file, record);
    } catch (error) {
      await letGo(file);
      // Lost before anybody had it: a client that was cut off in between is told so at its first write (EIO), and may ask anew.
      if (!file.network || grants === GRANTS || !hasSystemError(error, 'EIO', 'EBADF', 'ESTALE')) throw error;
    }
  }
}

/**
 * What may be written at the start of the file: this holder's record, or, in a file that is somebody's data, the first byte that it has already.
 * A lock never damages the file that it is put on.
 */
async function recordFor({ path, handle, writable, stats, network }: HeldFile): Promise<Buffer | undefined> {
  if (!writable) return undefined;
  if (stats.size === 0n || stats.size === BigInt(RECORD_BYTES)) return ownRecord();
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(RECORD_BYTES), 0, RECORD_BYTES, 0);
  if (stats.size < RECORD_BYTES && parseHolder(buffer.toString('utf8', 0, bytesRead)) !== undefined) return ownRecord();
  log('%s holds data that is no lock record: the holder leaves no name in it', path);
  return network ? buffer.subarray(0, 1) : undefined;
}

async function heldLocally(file: HeldFile, record: Buffer | undefined): Promise<Lock> {
  try {
    if (record !== undefined) await file.handle.write(record, 0, record.length, 0);
  } catch (error) {
    // On a full disk the lock is as good without the name.
    log('the holder of %s could not be written: %O', file.path, error);
  }
  return kernelLock(file, () => undefined);
}

async function heldOnNetwork(file: HeldFile, record: Buffer, termMs: number): Promise<Lock> {
  const beat = (): Promise<void> =>
    oneAtATime(file.stats.dev, async () => {
      await file.handle.write(record, 0, record.length, 0);
      await file.handle.sync();
    });
  const begunAt = performance.now();
  try {
    await beat();
  } catch (error) {
    throw fileSystemError(error, 'write to the lock file', file.path);
  }
  return kernelLock(file, (onLost) => startHeartbeat({ beat, termMs, begunAt, onLost }));
}

type OnLost = (reason: string, cause?: unknown) => void;

function kernelLock(file: HeldFile, start: (onLost: OnLost) => Heartbeat | undefined): Lock {
  const { path, mode } = file;
  const loss = new AbortController();
  let releasing: Promise<void> | undefined;
  const onLost: OnLost = (reason, cause) => {
    if (releasing === undefined) loss.abort(new LockLostError(path, reason, cause));
  };
  const heartbeat = start(onLost);

  const release = (): Promise<void> => {
    if (releasing !== undefined) return releasing;
    heartbeat?.stop();
    const letting = letGo(file);
    // Whoever lost the lock to a mount that hangs need not wait for it; the descriptor closes when the mount answers.
    releasing = loss.signal.aborted ? Promise.resolve() : letting;
    return releasing;
  };
  const assertHeld = async (): Promise<void> => {
    // The look first: the write would make an NFS client ask once more. On a mount that hangs neither is waited for longer than the term.
    if (releasing === undefined && !loss.signal.aborted) await raceAbort(assertInPlace(file, onLost), loss.signal);
    if (releasing === undefined) await heartbeat?.beatNow();
    loss.signal.throwIfAborted();
    if (releasing !== undefined) throw new LockLostError(path, 'it was released by this process');
  };
  const usedBefore = file.stats.size > 0n;
  return { path, strategy: 'kernel', mode, signal: loss.signal, usedBefore, assertHeld, release, [Symbol.asyncDispose]: release };
}

async function assertInPlace(file: HeldFile, onLost: OnLost): Promise<void> {
  try {
    if (!(await isInPlace(file))) onLost('its file was removed or replaced, so a newcomer would lock another one');
  } catch (error) {
    onLost('its file could not be looked at', error);
  }
}

const queues = new Map<bigint, Promise<void>>();

/** Heartbeats of one device go one after the other: when its mount hangs, they hold one of libuv's threads and not all four. */
async function oneAtATime(device: bigint, work: () => Promise<void>): Promise<void> {
  const mine = (queues.get(device) ?? Promise.resolve()).then(work, work);
  queues.set(device, mine);
  try {
    await mine;
  } finally {
    if (queues.get(device) === mine) queues.delete(device);
  }
}
