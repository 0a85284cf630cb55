/** Locks between processes and hosts: kernel locks, leases, and a probe that says which of them a mount supports. */
export type { LockHolder } from '../errors.ts';
export type { Lock, LockMode, LockOptions, LockStrategy, WaitInfo, WaitOptions } from './types.ts';
