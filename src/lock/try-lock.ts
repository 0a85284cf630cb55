/**
 * Lock calls that do not hold up the event loop. The addon's `tryLock` is a plain call on the calling thread: microseconds on a
 * local disk, but on a network file system a round trip, up to 90 s while the server is in its grace period, and for
 * ever on a mount that is cut off. There it is made on a worker thread, one for each device, so that a dead mount holds
 * up nothing else.
 */
import { Worker } from 'node:worker_threads';

/** One lock call, as the worker takes it. */
export interface TryLockRequest {
  readonly id: number;
  readonly fd: number;
  readonly shared: boolean;
}

/** The worker's answer: whether the lock was granted, or the error's text and code (an Error loses its code between threads). */
export type TryLockAnswer =
  | { readonly id: number; readonly granted: boolean }
  | { readonly id: number; readonly message: string; readonly code: string | undefined };

interface Pending {
  resolve(granted: boolean): void;
  reject(error: Error): void;
}

interface LockThread {
  readonly worker: Worker;
  readonly pending: Map<number, Pending>;
}

const threads = new Map<bigint, LockThread>();
let requests = 0;

/** Tries once, on the thread of this device. The descriptor must stay open until the answer is there. */
export async function tryLockOnThread(device: bigint, fd: number, shared: boolean): Promise<boolean> {
  const thread = threads.get(device) ?? startThread(device);
  requests += 1;
  const request: TryLockRequest = { id: requests, fd, shared };
  return new Promise<boolean>((resolve, reject) => {
    thread.pending.set(request.id, { resolve, reject });
    // Only a thread that is being waited for keeps the process alive.
    thread.worker.ref();
    thread.worker.postMessage(request);
  });
}

function startThread(device: bigint): LockThread {
  // Its name ends as this file's does: '.js' when compiled, '.ts' where Node strips types itself.
  const program = new URL(`try-lock-worker${import.meta.url.slice(-3)}`, import.meta.url);
  const thread: LockThread = { worker: new Worker(program, { execArgv: [] }), pending: new Map() };
  threads.set(device, thread);
  thread.worker.unref();
  thread.worker.on('message', (answer: TryLockAnswer) => {
    const caller = thread.pending.get(answer.id);
    thread.pending.delete(answer.id);
    if (thread.pending.size === 0) thread.worker.unref();
    if ('granted' in answer) caller?.resolve(answer.granted);
    else caller?.reject(Object.assign(new Error(answer.message), { code: answer.code }));
  });
  const onEnd = (error: Error): void => {
    if (threads.get(device) === thread) threads.delete(device);
    for (const caller of thread.pending.values()) caller.reject(error);
    thread.pending.clear();
  };
  thread.worker.on('error', onEnd);
  thread.worker.on('exit', () => {
    onEnd(new Error('the thread that makes lock calls ended'));
  });
  return thread;
}
