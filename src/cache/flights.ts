/**
 * The shared work of one cache: calls that want the same on the same terms take part in one installation, hear its
 * progress, and may leave it. It is aborted when its last caller has left, and all of it when the cache is closed.
 */
import { singleFlight, type SingleFlight } from '../single-flight.ts';
import { tell, type ProgressEvent, type ProgressListener } from './progress.ts';

/** Does the work; must end soon after `signal` aborts. */
export type FlightWork<T> = (signal: AbortSignal, report: ProgressListener) => Promise<T>;

/** What one call gets from the work that it started or joined. */
export interface Landing<T> {
  readonly value: T;
  /** Whether this call started the work. */
  readonly started: boolean;
}

/** Who listens to one piece of work, and what was said last: a late caller hears that at once. */
interface Audience {
  readonly listeners: Set<ProgressListener>;
  latest: ProgressEvent | undefined;
}

/** The work of one cache instance, by key. */
export class Flights<T> {
  readonly #single: SingleFlight<T> = singleFlight<T>();
  readonly #audiences = new Map<string, Audience>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  /** Joins the work on `key`, or starts it. Rejects with the signal's reason at once when it aborts. */
  async join(key: string, work: FlightWork<T>, options: { readonly signal?: AbortSignal | undefined; readonly onProgress?: ProgressListener | undefined }): Promise<Landing<T>> {
    const { signal, onProgress } = options;
    const leave = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    let started = false;
    const flight = this.#single.run(
      key,
      async (stop) => {
        started = true;
        const audience: Audience = { listeners: new Set(), latest: undefined };
        this.#audiences.set(key, audience);
        try {
          return await this.#track(
            work(stop, (event) => {
              audience.latest = event;
              for (const listener of audience.listeners) tell(listener, event);
            }),
          );
        } finally {
          // Whoever came after everybody had left has an audience of its own by now.
          if (this.#audiences.get(key) === audience) this.#audiences.delete(key);
        }
      },
      leave,
    );
    const audience = this.#audiences.get(key);
    if (onProgress !== undefined && audience !== undefined) {
      audience.listeners.add(onProgress);
      if (audience.latest !== undefined) tell(onProgress, audience.latest);
    }
    try {
      return { value: await flight, started };
    } finally {
      if (onProgress !== undefined) audience?.listeners.delete(onProgress);
    }
  }

  /** Lets every caller go with `reason`, and waits until the work that is then aborted has cleaned up. */
  async close(reason: Error): Promise<void> {
    this.#closing.abort(reason);
    await Promise.allSettled([...this.#running]);
  }

  async #track(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }
}
