/**
 * Lock calls that do not hold up the event loop. The addon's `tryLock` is a plain call on the calling thread: microseconds on a
 * local disk, but on a network file system a round trip, up to 90 s while the server is in its grace period, and for
 * ever on a mount that is cut off. There it is made on a worker thread, one for each device, so that a dead mount holds
 * up nothing else.
 */
import { startThread, type Thread } from '../thread.ts';

/** One lock call, as the thread takes it. */
export interface TryLockRequest {
  readonly fd: number;
  readonly shared: boolean;
}

const threads = new Map<bigint, Thread<TryLockRequest, boolean>>();

/** Tries once, on the thread of this device. The descriptor must stay open until the answer is there. */
export async function tryLockOnThread(device: bigint, fd: number, shared: boolean): Promise<boolean> {
  const before = threads.get(device);
  const thread = before?.running === true ? before : startThread<TryLockRequest, boolean>('./try-lock-worker', import.meta.url);
  threads.set(device, thread);
  return thread.call({ fd, shared });
}
