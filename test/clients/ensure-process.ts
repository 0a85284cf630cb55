/** Runs `ensure` in a process of its own, beside real clients. */
import type { TestContext } from 'node:test';
import type { Outcome, ProviderCacheOptions, ProviderRequest } from '../../src/index.ts';
import { startChild } from '../support/child.ts';

/** What the process has to do; goes there as JSON. */
export interface EnsureTask {
  readonly cache: ProviderCacheOptions;
  readonly request: ProviderRequest;
  /** Becomes this user (and group) first; takes a process that may. */
  readonly userId?: number | undefined;
}

/** What became of it. */
export type EnsureAnswer =
  | {
      readonly outcome: Outcome;
      readonly path: string;
      readonly hashes: readonly string[];
      /** Whether it met an entry that was not the package, or not yet. */
      readonly metBadEntry: boolean;
    }
  | { readonly error: string; readonly message: string };

/** What the process sends: that it has opened the cache and waits to be let go, that it waits for somebody's lock (once), and its answer. */
export type EnsureMessage = 'ready' | 'waiting' | EnsureAnswer;

/** What its caller has to do with it meanwhile. */
export interface EnsureHooks {
  /** It is ready; it asks when this resolves. Default at once. */
  readonly go?: (() => Promise<void>) | undefined;
  /** It waits for somebody's lock. */
  readonly onWait?: (() => void) | undefined;
}

/** Runs one `ensure`; rejects when the process ended in any other way than after its answer. */
export async function ensureInProcess(t: TestContext, task: EnsureTask, { go, onWait }: EnsureHooks = {}): Promise<EnsureAnswer> {
  const child = startChild(t, new URL('./fixtures/ensure.js', import.meta.url), [JSON.stringify(task)]);
  for (;;) {
    const message = (await child.message()) as EnsureMessage;
    if (message === 'ready') {
      await go?.();
      child.process.send('go');
    } else if (message === 'waiting') {
      onWait?.();
    } else {
      const { code, signal } = await child.ended;
      if (code !== 0) throw new Error(`The process of an ensure ended with ${signal ?? code ?? ''} after ${JSON.stringify(message)}`);
      return message;
    }
  }
}
