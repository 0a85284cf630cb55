/** One piece of work for all callers who want it at the same time, that stops when the last of them has left. */
import { raceAbort } from './abort.ts';

/** Runs `work` for a key unless it is running already; all callers get its result, and nothing is kept of it afterwards. */
export interface SingleFlight<T> {
  /**
   * An abort ends this caller's wait at once, with the signal's reason; `work` sees its own signal abort when its last
   * caller has left.
   */
  run(key: string, work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** A single flight with no work yet. */
export function singleFlight<T>(): SingleFlight<T> {
  interface Flight {
    readonly result: Promise<T>;
    readonly stop: AbortController;
    callers: number;
  }
  const flights = new Map<string, Flight>();

  function start(key: string, work: (signal: AbortSignal) => Promise<T>): Flight {
    const stop = new AbortController();
    const flight: Flight = { result: work(stop.signal), stop, callers: 0 };
    flights.set(key, flight);
    const land = (): void => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    flight.result.then(land, land);
    return flight;
  }

  return {
    async run(key, work, signal) {
      signal?.throwIfAborted();
      const flight = flights.get(key) ?? start(key, work);
      flight.callers += 1;
      try {
        return await raceAbort(flight.result, signal);
      } finally {
        flight.callers -= 1;
        if (flight.callers === 0) {
          // Whoever comes now must not join work that was told to stop.
          if (flights.get(key) === flight) flights.delete(key);
          flight.stop.abort();
        }
      }
    },
  };
}
