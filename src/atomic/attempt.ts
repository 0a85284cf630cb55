/** The two wrappers that every operation here ends in: typed errors, and an abort that does not wait for a hanging mount. */
import { abortReason, onAbort } from '../abort.ts';
import { fileSystemError } from '../system-errors.ts';

/** Settles with `work`; a system error of it becomes a `FileSystemError` that says what was being done, and where. */
export async function attempt<T>(operation: string, path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw fileSystemError(error, operation, path);
  }
}

/** For clean-up whose failure must not hide the result: what is left is swept later. */
export async function quietly(work: Promise<unknown>): Promise<void> {
  await work.catch(() => undefined);
}

/**
 * How long an aborted call may still take to clean up after itself. A healthy file system needs a few milliseconds;
 * a mount that hangs would hold the caller for ever.
 */
const GRACE_MS = 60;

/**
 * Settles with `work`. After an abort the work, which watches the signal itself, has {@link GRACE_MS} to clean up and
 * end; then the call rejects with the signal's reason and the work ends in the background.
 */
export async function finishOrAbandon<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const beginGrace = (): void => {
      timer = setTimeout(() => {
        reject(abortReason(signal));
      }, GRACE_MS);
    };
    const end = (): void => {
      clearTimeout(timer);
      unfollow();
    };
    const unfollow = onAbort(signal, beginGrace);
    if (signal.aborted) beginGrace();
    work.then(
      (value) => {
        end();
        resolve(value);
      },
      (error: unknown) => {
        end();
        if (signal.aborted) reject(abortReason(signal));
        else reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
