/**
 * The thread behind try-lock.ts: makes one lock call after another and answers each. A program of its own, imported by nothing.
 */
import { tryLock } from 'fs-native-extensions';
import { parentPort } from 'node:worker_threads';
import type { TryLockAnswer, TryLockRequest } from './try-lock.ts';

parentPort?.on('message', ({ id, fd, shared }: TryLockRequest) => {
  parentPort?.postMessage(answer(id, fd, shared));
});

function answer(id: number, fd: number, shared: boolean): TryLockAnswer {
  try {
    return { id, granted: tryLock(fd, { shared }) };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return { id, message, code };
  }
}
