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
    }
  | { readonly error: string; readonly message: string };

/** What the process sends: that it waits for somebody's lock (once), and its answer. */
export type EnsureMessage = 'waiting' | EnsureAnswer;

/** Runs one `ensure`; rejects when the process ended in any other way than after its answer. */
export async function ensureInProcess(t: TestContext, task: EnsureTask, onWait?: () => void): Promise<EnsureAnswer> {
  const child = startChild(t, new URL('./fixtures/ensure.js', import.meta.url), [JSON.stringify(task)]);
  let answer = (await child.message()) as EnsureMessage;
  while (answer === 'waiting') {
    onWait?.();
    answer = (await child.message()) as EnsureMessage;
  }
  const { code, signal } = await child.ended;
  if (code !== 0) throw new Error(`The process of an ensure ended with ${signal ?? code ?? ''} after ${JSON.stringify(answer)}`);
  return answer;
}
