/** Clients for tests: hardly any wait between attempts, and closed with their test. */
import assert from 'node:assert/strict';
import { readdir, readlink } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { createHttpClient, type HttpClient, type HttpClientOptions } from '../../src/http/index.ts';

/** A client with the real defaults, except for a back-off of a millisecond. */
export function quickClient(t: TestContext, options: HttpClientOptions = {}): HttpClient {
  const client = createHttpClient({ backoffMs: 1, ...options });
  t.after(() => client.close());
  return client;
}

/** The error that `work` rejects with, of the given class; fails when it resolves or rejects with another one. */
export async function rejectionOf<E extends Error>(work: Promise<unknown>, expected: new (...given: never[]) => E): Promise<E> {
  const error: unknown = await work.then(
    () => assert.fail('it resolved'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof expected, `a ${expected.name} was expected, not ${String(error)}`);
  return error;
}

/** Resolves when `holds` does; fails after ten seconds. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  for (const began = performance.now(); !holds();) {
    if (performance.now() - began > 10_000) assert.fail(`not within 10 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Whether `work` has settled within `milliseconds`. */
export async function settlesWithin(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const settled = work.then(() => true, () => true);
  return Promise.race([settled, new Promise<false>((resolve) => setTimeout(resolve, milliseconds, false))]);
}

/** What the descriptors of this process lead to. */
export async function openFiles(): Promise<readonly string[]> {
  const descriptors = await readdir('/proc/self/fd');
  return Promise.all(descriptors.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')));
}
