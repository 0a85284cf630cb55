/** The part of the addon that the locks use; it ships no types. Length 0 means the whole file. */
declare module 'fs-native-extensions' {
  interface LockRange {
    readonly shared?: boolean;
  }
  /** Never waits: `false` where somebody else holds a lock that conflicts. Blocks the thread while the file system answers. */
  export function tryLock(fd: number, options?: LockRange): boolean;
  /** Waits in the kernel's queue, on a thread of its own. Nothing cancels it. */
  export function waitForLock(fd: number, options?: LockRange): Promise<void>;
  export function unlock(fd: number): void;
}
