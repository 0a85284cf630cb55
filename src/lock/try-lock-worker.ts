/** The thread behind try-lock.ts: makes one lock call after another. A program of its own, imported by nothing. */
import { tryLock } from 'fs-native-extensions';
import { answerCalls } from '../thread.ts';
import type { TryLockRequest } from './try-lock.ts';

answerCalls((request) => {
  const { fd, shared } = request as TryLockRequest;
  return tryLock(fd, { shared });
});
