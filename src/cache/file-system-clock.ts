/**
 * What time it is by a file system's own clock, without asking it each time: asked once, and counted on from there by this process's monotonic
 * clock. The wall clock of this host plays no part.
 */
import { fileSystemTime } from '../atomic/sweep.ts';
import { logger } from '../diagnostics.ts';

const log = logger('cache');

/** The clock of one file system. */
export interface FileSystemClock {
  /**
   * The time in milliseconds, by a measurement that is at most `withinMs` old: where there is none, a directory is made and removed (three
   * round trips). `undefined` where nothing can be made. Never rejects.
   */
  now(withinMs: number): Promise<number | undefined>;
}

interface Measurement {
  readonly at: number;
  readonly timeMs: Promise<number | undefined>;
}

/** The clock of the file system on which `directory` lies. */
export function fileSystemClock(directory: string, measure: (directory: string) => Promise<bigint> = fileSystemTime): FileSystemClock {
  let latest: Measurement | undefined;

  function measured(): Measurement {
    const timeMs = measure(directory).then(
      (timeNs) => Number(timeNs) / 1e6,
      (error: unknown) => {
        log('the clock of %s cannot be read: %o', directory, error);
        return undefined;
      },
    );
    return { at: performance.now(), timeMs };
  }

  return {
    async now(withinMs) {
      // Callers who come together share one.
      if (latest === undefined || performance.now() - latest.at > withinMs) latest = measured();
      const { at, timeMs } = latest;
      const then = await timeMs;
      return then === undefined ? undefined : then + performance.now() - at;
    },
  };
}
