/** What can go wrong with an answer of the embedded registry, and on which of its requests. Data, but for two callbacks. */

/** What a request is for. */
export type Route = 'discovery' | 'versions' | 'metadata' | 'zip' | 'sums' | 'signature';

/** One fault. Several of its fields may be combined where that makes sense. */
export interface Fault {
  /** The requests that it strikes. */
  readonly on: Route;
  /** Only those whose path contains this. */
  readonly path?: string | undefined;
  /** Lets the first ones through. Default 0. */
  readonly after?: number | undefined;
  /** Strikes so many times, then never again. Default always. */
  readonly times?: number | undefined;
  /** Closes the connection without an answer. */
  readonly destroy?: boolean | undefined;
  /** Waits before the answer, in milliseconds. */
  readonly delayMs?: number | undefined;
  /** Waits for this before the answer. */
  readonly until?: Promise<unknown> | undefined;
  /** Never answers. */
  readonly silent?: boolean | undefined;
  /** Answers with this status; the body is then empty unless `body` is given. */
  readonly status?: number | undefined;
  /** Headers, beside or instead of the usual ones; `''` leaves one out. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Redirects there (302, or `status`), relative to the request. */
  readonly redirectTo?: string | undefined;
  /** The body instead of the right one. */
  readonly body?: string | undefined;
  /** Changes the JSON document. */
  readonly json?: ((document: Record<string, unknown>) => unknown) | undefined;
  /** Changes the body's bytes. */
  readonly bytes?: ((body: Buffer) => Uint8Array) | undefined;
  /** Flips all bits of the byte at this offset. */
  readonly flipByteAt?: number | undefined;
  /** Compresses the body and says so, although nobody asked for it. */
  readonly gzip?: boolean | undefined;
  /** Announces this length. */
  readonly contentLength?: number | undefined;
  /** Ends the body after so many bytes. The announced length stays as it was. */
  readonly truncateAt?: number | undefined;
  /** Announces no length: the end of the connection is the end of the body. */
  readonly closeDelimited?: boolean | undefined;
  /** Sends the body in chunks without a length. */
  readonly chunked?: boolean | undefined;
  /** Drops the connection after a random number of the body's bytes in this span, and otherwise answers as it should, ranges too. Shorter rests come whole. */
  readonly cutWithin?: { readonly least: number; readonly most: number } | undefined;
  /** Falls silent after so many bytes, with the connection open. */
  readonly stallAt?: number | undefined;
  /** Sends the body at about this rate. */
  readonly bytesPerSecond?: number | undefined;
}

/** The faults in force. */
export interface Faults {
  /** Adds one. */
  inject(fault: Fault): void;
  /** Removes all. */
  heal(): void;
  /** The first fault that strikes this request; counts it. */
  take(route: Route, path: string): Fault | undefined;
}

/** Faults, in the order in which they were injected. */
export function createFaults(initial: readonly Fault[] = []): Faults {
  let armed = initial.map((fault) => ({ fault, seen: 0 }));
  return {
    inject(fault) {
      armed.push({ fault, seen: 0 });
    },
    heal() {
      armed = [];
    },
    take(route, path) {
      for (const entry of armed) {
        const { fault } = entry;
        if (fault.on !== route || !path.includes(fault.path ?? '')) continue;
        const after = fault.after ?? 0;
        const turn = entry.seen;
        if (fault.times !== undefined && turn >= after + fault.times) continue;
        entry.seen += 1;
        if (turn >= after) return fault;
      }
      return undefined;
    },
  };
}
