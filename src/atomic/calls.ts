/**
 * The calls whose answers a retransmission can falsify: a server that executed the first copy of a request answers
 * the second copy with ENOENT (rename) or EEXIST (link, mkdir). The decisions about such answers take these calls as
 * an argument, so that a test can give the answer that only a failing network gives. Nothing else replaces them.
 */
import { link, mkdir, rename } from 'node:fs/promises';

/** @internal */
export interface AmbiguousCalls {
  readonly rename: (from: string, to: string) => Promise<void>;
  readonly link: (from: string, to: string) => Promise<void>;
  readonly mkdir: (path: string, mode: number) => Promise<void>;
}

/** The calls of the operating system. */
export const systemCalls: AmbiguousCalls = {
  rename,
  link,
  mkdir: async (path, mode) => {
    await mkdir(path, { mode });
  },
};
