/** `rwx-cache/lock`: locks between processes and hosts, and a probe that says what a mount gives. */
export { acquireLock, withLock } from './acquire.ts';
export { probeLocking } from './probe.ts';
export type { LockingSupport, ProbeOptions } from './probe.ts';
export type { LockHolder } from '../errors.ts';
export type { Lock, LockMode, LockOptions, LockStrategy, WaitInfo, WaitOptions } from './types.ts';
